"""Nonsense is answered, never a crash; and what is refused changes nothing."""

from __future__ import annotations

import asyncio
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotcar_lab.ios.grammar import PLATFORMS, load
from slotcar_lab.ios.machine import Account, Machine
from slotcar_lab.ios.shell import Shell
from tests.support.patience import PATIENCE_S
from tests.unit.lab.ios.brownfield import BROWNFIELD, router

WORDS = sorted(
    {
        word
        for platform in PLATFORMS
        for entries in load(platform).entries.values()
        for entry in entries
        for word in re.findall(r"[a-z][a-z-]+", entry.rule.line)
    }
)
EXEC = [
    "show",
    "copy",
    "configure",
    "replace",
    "terminal",
    "running-config",
    "flash:a",
    "dir",
    "more",
    "|",
    "inc",
    "do",
]
NUMBERS = st.integers(-1, 3000).map(str)
LINES = st.lists(st.sampled_from([*WORDS, *EXEC, "no", "10.0.0.1", "A", "^C", "ATM1/0/0", "?"]) | NUMBERS, max_size=9)


@settings(deadline=None)
@given(st.sampled_from(PLATFORMS), st.lists(LINES.map(" ".join) | st.text(max_size=30), max_size=20))
def test_any_line_is_answered(platform: str, lines: list[str]) -> None:
    configuration = router(platform)
    cursor = configuration.cursor()
    for line in lines:
        before = configuration.text()
        if not configuration.apply(cursor, line).taken:
            assert configuration.text() == before


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(LINES.map(" ".join) | st.text(max_size=30), max_size=12))
def test_any_typing_leaves_a_prompt_or_ends_the_session(lines: list[str]) -> None:
    async def run() -> str:
        written: list[str] = []
        machine = Machine("r", "cisco-mqc", BROWNFIELD, Account("u", "p", "", 15))
        shell = Shell(machine, "u", written.append, 15)
        shell.feed("".join(f"{line}\n" for line in ["terminal length 0", *lines]))
        shell.feed("^C\n\x1a\n" * 2)
        shell.close()
        await asyncio.wait_for(shell.run(), PATIENCE_S)
        machine.forget_pending()
        return "".join(written)

    assert "terminal length 0" in asyncio.run(run())
