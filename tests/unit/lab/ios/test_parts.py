"""Patterns, filters and flash, each by itself."""

from __future__ import annotations

import datetime

import pytest

from slotcar_lab.ios.flash import NULL, RUNNING, STARTUP, Flash, FlashFull, NoSuchFile, kind_of
from slotcar_lab.ios.grammar.pattern import Attempt, compile_pattern
from slotcar_lab.ios.output import filtered

NOW = datetime.datetime(2002, 6, 6, tzinfo=datetime.UTC)
OUTPUT = "hostname r\ninterface ATM1/0\n shutdown\ninterface ATM2/0\n mtu 9000\nend\n"


@pytest.mark.parametrize(
    ("pattern", "line", "words"),
    [
        ("queue <number:0-6> <weight:1-2048>", "queue 6 2048", "queue 6 2048"),
        ("queue <number:0-6> <weight:1-2048>", "queue 7 1", None),
        ("rate <bps:8000-64000/8000>", "rate 16001", None),
        ("{a|b <n:1-2>} [c]", "b 2 c", "b 2 c"),
        ("{a|b <n:1-2>} [c]", "b", None),
        ("map <cos:0-7>+ to <queue:1-2>", "map 0 1 2 to 1", "map 0 1 2 to 1"),
        ("map <cos:0-7>+ to <queue:1-2>", "map to 1", None),
        (
            "show running-config [interface <name:interface>]",
            "sh run int atm 1/0",
            "show running-config interface ATM1/0",
        ),
        ("apply <way:input|output>", "apply in", "apply input"),
        ("host <address:address>", "host 10.0.0.300", None),
        ("remark <text:line/5>", "remark a b c", "remark a b c"),
        ("remark <text:line/5>", "remark a b cd", None),
    ],
)
def test_a_pattern_takes_what_it_says_and_spells_it_out(pattern: str, line: str, words: str | None) -> None:
    matched = compile_pattern(pattern, {}, ("ATM",)).match(Attempt(line.split()))
    assert (" ".join(matched.words) if matched else None) == words


@pytest.mark.parametrize("text", ["a [b", "a {b|c", "a ]", "$none", "<n:unknown>"])
def test_a_malformed_pattern_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|parameter"):
        compile_pattern(text, {})


def test_a_part_may_not_hold_itself() -> None:
    with pytest.raises(ValueError, match="holds itself"):
        compile_pattern("$a", {"a": "x $b", "b": "y $a"})


@pytest.mark.parametrize(
    ("pipe", "left"),
    [
        (" inc interface", "interface ATM1/0\ninterface ATM2/0\n"),
        (" ex ^(interface| |hostname)", "end\n"),
        (" beg ATM2", "interface ATM2/0\n mtu 9000\nend\n"),
        (" sec ATM1", "interface ATM1/0\n shutdown\n"),
        (" include (", ""),
        (" include", None),
        (" x y", None),
    ],
)
def test_output_is_filtered(pipe: str, left: str | None) -> None:
    assert filtered(OUTPUT, pipe) == left


def test_flash_has_an_end() -> None:
    flash = Flash("slot0:", 10)
    flash.write("slot0:/a", b"12345678", NOW)
    with pytest.raises(FlashFull):
        flash.write("flash:b", b"123", NOW)
    flash.write("slot0:a", b"1234567890", NOW)
    assert (flash.read("flash:a"), flash.free_bytes) == (b"1234567890", 0)
    with pytest.raises(NoSuchFile):
        flash.read("slot1:a")
    assert "    1  -rw-          10  Jun 06 2002 00:00:00 +00:00  a\n" in flash.listing("slot0:")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("running-config", RUNNING),
        ("system:/running-config", RUNNING),
        ("nvram:startup-config", STARTUP),
        ("null:", NULL),
        ("flash:running-config", "flash"),
    ],
)
def test_paths_name_configurations_and_files(path: str, kind: str) -> None:
    assert kind_of(path) == kind
