"""A list that leaves something out says so: a field of its document, the last line of its table."""

from __future__ import annotations

import json

import pytest

from slotcar.cli.answering import ask_controller, nobody_asked
from slotcar.cli.lists import MOST, by_limit, emit_list, first_of
from slotcar.cli.output import Format


def test_of_one_more_than_is_shown_it_is_known_that_more_follows() -> None:
    assert first_of("abc", 2) == ("ab", True)
    assert first_of("ab", 2) == ("ab", False)
    assert first_of("", 2) == ("", False)


def test_more_is_shown_by_a_greater_limit_as_long_as_there_is_one() -> None:
    assert by_limit(100, "--owner") == "--limit 1000"
    assert by_limit(5_000, "--owner") == f"--limit {MOST}"
    assert by_limit(MOST, "--owner") == "--owner"


@pytest.mark.parametrize("more", ["--from 2027-03-01T22:00:00Z", None])
def test_the_document_and_the_table_say_the_same(more: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    nobody_asked()
    ask_controller("http://127.0.0.1:8470", "site")
    assert capsys.readouterr().err == "asking the controller at http://127.0.0.1:8470 (context site)\n"
    emit_list([{"at": 1}], Format.JSON, lambda: None, more=more)
    assert json.loads(capsys.readouterr().out) == {
        "items": [{"at": 1}], "next": more, "answered_by": "http://127.0.0.1:8470"
    }  # fmt: skip
    emit_list([{"at": 1}], Format.TABLE, lambda: print("a row"), more=more, which="last")
    last = [] if more is None else [f"1 shown, the last; there are more: {more} shows them."]
    assert capsys.readouterr().out.splitlines() == ["a row", *last]
    nobody_asked()
