"""Whatever a file, a device or another controller said: what is printed does not steer the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from rich.console import Console

from slotcar.cli.output import Format, _UnderWay, coloured_diff, complain, emit, hanging, print_table, stderr, stdout
from slotcar.cli.session import actor
from tests.support.command_line import terminal

EVIL = "a\x1b[2J\x9b1mb\u202ec\x07"


def test_no_way_of_printing_lets_terminal_codes_through(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    complain(f"first line\n{EVIL}")
    coloured_diff([f"+{EVIL}"])
    print_table(("one",), [(EVIL,)], "none")
    for form in (Format.JSON, Format.YAML):
        emit({"label": EVIL}, form, lambda: None)
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert all(letter.isprintable() or letter == "\n" for letter in text), repr(text)
    assert printed.err.startswith("first line\na")
    monkeypatch.setenv("SUDO_USER", EVIL)
    assert actor().isprintable()


#: Rich's own notation: a style, and names of pictures, which parts of fingerprints and of IPv6 addresses are.
NOTATION = "[bold]hep[/bold] A8:E6:16:CD:B8 2001:db8::a:b:cd:1 :100:"


@pytest.mark.parametrize("console", [stdout, lambda: stdout(verbatim=True), stderr], ids=["out", "verbatim", "err"])
def test_what_is_printed_stays_as_it_is(console: Callable[[], Console], capfd: pytest.CaptureFixture[str]) -> None:
    console().print(NOTATION)
    console().print(NOTATION, style="cyan")
    assert "".join(capfd.readouterr()).splitlines() == [NOTATION] * 2


def test_a_long_line_goes_on_indented_at_a_terminal_and_is_whole_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"  path     {' > '.join(['anl-border'] * 12)}"
    assert hanging(text, 11) == text
    monkeypatch.setenv("COLUMNS", "80")
    with terminal(monkeypatch, ""):
        lines = hanging(text, 11).split("\n")
    assert len(lines) == 3
    assert all(len(line) <= 80 and line.startswith(" " * 11) for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())


def test_json_still_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"label": EVIL}, Format.JSON, lambda: None)
    assert json.loads(capsys.readouterr().out) == {"label": EVIL}


def test_what_takes_long_is_said_to_go_on_and_nothing_is_while_a_person_is_waited_for() -> None:
    work = _UnderWay()
    work.begin("reading the devices")
    lines = [line for second in range(40) if (line := work.overdue(work.since_s + second / 2))]
    assert lines == [f"reading the devices: {second} s" for second in (2, 7, 12, 17)]
    work.begin("")
    assert work.overdue(work.since_s + 100) == ""
