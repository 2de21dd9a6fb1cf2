"""What is said from a shell becomes the arguments of a verb, or a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from slotcar_client.__main__ import VERBS, given_to, main
from slotcar_client.wire.errors import SlotcarError


@pytest.mark.parametrize(
    ("words", "plain", "named"),
    [
        ("whoami", [], {}),
        ("reservations newest=true limit=3 state=held,committed name=7", [],
         {"newest": True, "limit": 3, "state": ["held", "committed"], "name": "7"}),
        ("cancel hep/run-7 reason=done version=2", ["hep/run-7"], {"reason": "done", "version": 2}),
        ("create name=7 rate=1Mbit/s hold=5min labels={\"run\":\"7\"}", [],
         {"reservation": {"name": "7", "rate": "1Mbit/s", "labels": {"run": "7"}}, "hold": "5min"}),
        ("bind r-1 source_port=4000", ["r-1"], {"source_port": 4000}),
    ],
    ids=lambda one: one.partition(" ")[0] if isinstance(one, str) else "",
)  # fmt: skip
def test_words_become_arguments(words: str, plain: list[str], named: dict[str, Any]) -> None:
    verb, *rest = words.split(" ")
    assert given_to(VERBS[verb], rest) == (plain, named)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cancel", "missing a required argument: 'which'"), ("whoami me", "too many positional arguments"),
        ("limits nmae=hep", "it has no parameter nmae: those are owner"), ("reservations limit=few", "few is not JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(words: str, message: str) -> None:
    verb, *rest = words.split(" ")
    with pytest.raises(SlotcarError, match=message):
        given_to(VERBS[verb], rest)


def test_without_a_verb_they_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    assert main([]) == main(["reserve"]) == 2
    assert "webhook_dead_letters" in capsys.readouterr().err
    monkeypatch.delenv("SLOTCAR_API", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["whoami"]) == 1
    assert "set SLOTCAR_API and SLOTCAR_TOKEN" in capsys.readouterr().err
