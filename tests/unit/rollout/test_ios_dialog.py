"""Whose answer an output is, however it is cut: sessions with the emulator and recorded ones, cut at every place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any

import pytest

from slotcar.rollout.fanout.login import Login
from slotcar.rollout.ios.command_line import CommandLine
from slotcar.rollout.transport import DeviceError, Unreachable
from tests.support.ios_wire import WHOLE, Cut, EmulatedSession, Recorded, Wire, WiredCommandLine, at, recorded

#: Lines of an operator's that look like a question, a prompt, a pager, and like this router's own prompt.
STARTUP = """\
hostname edge
interface GigabitEthernet0/1
 description uplink CID-4711 [ticket 4711]
interface GigabitEthernet0/2
 description are you sure? [confirm]
banner motd ^C
[production]
NO-ACCESS>
---------#
edge#
edge(config)#
Destination filename [running-config]?
Password:
 --More--
^C
"""
BANNER = "keep out\nNO-ACCESS>\n### ###\n[confirm]\nPassword: \nterminal length 0\nedge#\n"
CHANGE = "!\nsnmp-server location here\nend\n"
Results = list[str | list[str]]


async def _talk(line: CommandLine, results: Results) -> None:
    """Everything that a session does, and some."""
    for command in ("show running-config", "show archive", "more flash:x.cfg", "show archive config rollback timer"):
        results.append(await line.ask(command))
    results.append(await line.tell("copy flash:x.cfg running-config"))
    await line.configure(["interface GigabitEthernet0/1", " bandwidth 1000", "snmp-server location there"])
    with pytest.raises(DeviceError, match="Invalid input"):
        await line.configure(["snmp-server location nowhere", "no such command here"])
    results.append(await line.ask("delete /force flash:x.cfg"))
    results.append(await line.ask("show archive"))


async def _emulated(cut: Cut, level: int = 1) -> tuple[Results, int]:
    results: Results = []
    async with EmulatedSession(STARTUP, cut, level=level, banner=BANNER) as session:
        session.machine.write_flash("flash:x.cfg", CHANGE.encode())
        async with asyncio.timeout(10):
            await session.line.open()
            await _talk(session.line, results)
        await session.line.close()
        typed = [text for text in session.wire.typed if not text.startswith("! ")]
        return [*results, [h.line for h in session.machine.history], typed], session.wire.read_so_far


def _run(work: Awaitable[Any]) -> Any:
    async def run() -> Any:
        return await work

    return asyncio.run(run())


def test_a_session_reads_and_does_what_it_is_told() -> None:
    results, _ = _run(_emulated(lambda read: WHOLE))
    running, archive, file, timer, copied, forgotten, archive_again, history, typed = results
    assert "description uplink CID-4711 [ticket 4711]\n" in running
    assert running.rstrip().endswith("end")
    assert archive == archive_again == "Archive feature not enabled"
    assert f"{file}\n" == CHANGE
    assert timer == "%No Rollback Confirmed Change pending"
    assert "bytes copied" in copied
    assert "%" not in forgotten
    assert history[-2:] == ["snmp-server location nowhere", "no such command here"]
    # One answer to the question of `copy`, two to those of `delete`, and one password.
    assert typed.count("\n") == 3
    assert typed.count("secret-word\n") == 1


# Each place at length; in short every fifth: pieces of one character, below, are cut at every place at once.
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_no_cut_of_the_output_changes_what_is_read_and_typed(step: int) -> None:
    async def run() -> None:
        expected, length = await _emulated(lambda read: WHOLE)
        assert length > 1_500
        for place in range(1, length, step):
            results, _ = await _emulated(at(place))
            assert results == expected, f"cut after {place} characters"

    asyncio.run(run())


@pytest.mark.parametrize("sizes", [[1], [2], [3, 1], [7, 1, 1], [1, 60], [40, 1, 1, 1]], ids=str)
def test_no_size_of_pieces_changes_what_is_read_and_typed(sizes: list[int]) -> None:
    expected, _ = _run(_emulated(lambda read: WHOLE))
    following = cycle(sizes)
    results, _ = _run(_emulated(lambda read: next(following)))
    assert results == expected


def _asks(*commands: str) -> Callable[[CommandLine], Awaitable[list[str]]]:
    async def talk(line: CommandLine) -> list[str]:
        return [await (line.tell if one.startswith("copy") else line.ask)(one) for one in commands]

    return talk


async def _configures(line: CommandLine) -> list[str]:
    pending = await line.ask("show archive config rollback timer")
    police = "police cir 8000 bc 1000 conform-action transmit exceed-action drop"
    await line.configure(["policy-map SLOTCAR-IN-Ethernet0/2", " class SLOTCAR-F7", f"  {police}"])
    return [pending]


RECORDED = {
    "catalyst-9200": _asks("show running-config", "show clock"),
    "asr-920": _asks("dir flash:slotcar-apply.cfg", "show running-config"),
    "ios-15": _configures,
    "catalyst-12": _asks(
        "copy flash:slotcar-apply.cfg running-config", "delete /force flash:slotcar-apply.cfg", "show clock"
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_session_is_understood_wherever_it_is_cut(name: str) -> None:
    async def run() -> None:
        expected = await recorded(name, lambda read: WHOLE, RECORDED[name])
        printed = [one["printed"] for one in Recorded(name).exchanges]
        for text in expected:
            assert any(text in one for one in printed) or "?" in text
        for place in range(1, sum(map(len, printed)) + 600):
            assert await recorded(name, at(place), RECORDED[name]) == expected, f"cut after {place} characters"
        assert await recorded(name, lambda read: 1, RECORDED[name]) == expected

    asyncio.run(run())


def test_an_answer_that_does_not_begin_with_its_command_ends_the_session() -> None:
    async def run() -> None:
        async with EmulatedSession(STARTUP, lambda read: WHOLE) as session:
            await session.line.open()
            session.wire.send("\r\n%LINK-3-UPDOWN: Interface Serial0, changed state to up\r\n")
            with pytest.raises(DeviceError, match=r"ended at `show clock`.*begin with it, but with `%LINK-3-UPDOWN"):
                await session.line.ask("show clock")
            with pytest.raises(DeviceError, match="not connected"):
                await session.line.ask("show clock")

    asyncio.run(run())


def test_a_session_whose_answer_is_late_is_not_used_again() -> None:
    """The answer would be taken for the next command's."""

    class Silent(WiredCommandLine):
        def __init__(self, wire: Wire) -> None:
            super().__init__(wire)
            self._login = Login("nowhere", 22, "slotcar", "not-a-secret", answer_s=0.01)

    async def run() -> None:
        wire = Wire(lambda read: WHOLE)
        line = Silent(wire)
        wire.type = lambda text: wire.send(f"{text.strip()}\r\nedge#") if "terminal" in text else None
        wire.send("\r\nedge#")
        await line.open()
        with pytest.raises(DeviceError, match="no answer to `show clock`"):
            await line.ask("show clock")
        wire.send("show clock\r\n12:00:00.000 UTC Sat Nov 28 2026\r\nedge#")
        with pytest.raises(DeviceError, match="not connected"):
            await line.ask("show archive")

    asyncio.run(run())


def test_a_refused_password_is_typed_once() -> None:
    async def run() -> list[str]:
        async with EmulatedSession(STARTUP, lambda read: WHOLE, level=1) as session:
            session.machine.account.enable_secret = "another"
            with pytest.raises(Unreachable, match="may not `enable`"):
                await session.line.open()
            return session.wire.typed

    assert asyncio.run(run()) == ["terminal length 0\n", "enable\n", "secret-word\n"]


def test_a_router_that_goes_on_paging_is_said() -> None:
    async def run() -> None:
        wire = Wire(lambda read: WHOLE)
        wire.type = lambda text: wire.send(f"{text.strip()}\r\n      ^\r\n% Invalid input detected\r\n\r\nedge>")
        wire.send("\r\nedge>")
        with pytest.raises(Unreachable, match="slotcar may not `terminal length 0`"):
            await WiredCommandLine(wire).open()

    asyncio.run(run())


def test_a_prompt_that_ends_with_a_blank_and_a_name_of_its_own_in_configuration_mode() -> None:
    """An operator's `prompt` changes the prompt of EXEC mode only."""

    async def run(cut: Cut) -> list[str]:
        wire = Wire(cut)
        prompt = "[lab] edge-1 # "

        def typed(text: str) -> None:
            nonlocal prompt
            line = text.strip()
            prompt = {"configure terminal": "edge-1(config)#", "end": "[lab] edge-1 # "}.get(line, prompt)
            wire.send(f"{line}\r\n{prompt}")

        wire.type = typed
        wire.send("\r\n[lab] edge-1 # ")
        line = WiredCommandLine(wire)
        await line.open()
        await line.configure(["interface Ethernet0/1"])
        assert await line.ask("show clock") == ""
        return wire.typed

    expected = asyncio.run(run(lambda read: WHOLE))
    for place in range(1, 400):
        assert asyncio.run(run(at(place))) == expected
