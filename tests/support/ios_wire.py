"""A session at a router's command line without a network: each piece of output arrives when it is read, not before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Self, cast

import yaml

from slotcar.rollout.fanout.login import Login
from slotcar.rollout.ios.command_line import CommandLine
from slotcar_lab.ios.machine import Account, Machine
from slotcar_lab.ios.shell import Shell

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "ios"
#: Where the next piece ends, by how many characters were read: after that many more.
Cut = Callable[[int], int]
WHOLE = 1 << 30


def at(place: int) -> Cut:
    """One cut, after so many characters of all that is sent."""
    return lambda read: place - read if read < place else WHOLE


class Wire:
    """Stands in for asyncssh's process. `type` is given each text that is written."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._sent = ""
        self._arrived = asyncio.Event()
        self.read_so_far = 0
        self.typed: list[str] = []
        self.type: Callable[[str], None] = self.typed.append
        self.stdin = self.stdout = self

    def send(self, text: str) -> None:
        self._sent += text
        self._arrived.set()

    def write(self, text: str) -> None:
        self.typed.append(text)
        self.type(text)

    async def read(self, size: int) -> str:
        while not self._sent:
            self._arrived.clear()
            await self._arrived.wait()
        end = min(size, max(1, self._cut(self.read_so_far)))
        piece, self._sent = self._sent[:end], self._sent[end:]
        self.read_so_far += len(piece)
        return piece


class WiredCommandLine(CommandLine):
    def __init__(self, wire: Wire, *, enable_password: str | None = None) -> None:
        super().__init__("edge", Login("nowhere", 22, "slotcar", "not-a-secret", enable_password))
        self.wire = wire

    async def _connect(self) -> None:
        self._process = cast(Any, self.wire)


@cache
def _sample(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((SAMPLES / f"{name}.yml").read_text(encoding="utf-8")))


class Recorded:
    """Plays a session of `tests/samples/ios`. It knows what Slotcar types at each login, and comments."""

    def __init__(self, name: str) -> None:
        session = _sample(name)
        self.enable_password: str | None = session.get("enable")
        self.exchanges: list[dict[str, Any]] = session["typed"]
        self.login: str = session["login"]

    def play(self, wire: Wire) -> None:
        waiting: Iterator[dict[str, Any]] = iter(self.exchanges)
        prompt = self.login.rpartition("\n")[2]

        def send(text: str) -> None:
            wire.send(text.replace("\n", "\r\n"))

        def type_line(text: str) -> None:
            nonlocal prompt
            line = text.removesuffix("\n")
            if line.startswith(("terminal ", "! ")):
                send(f"{line}\n{prompt}")
                return
            exchange = next(waiting)
            assert exchange["line"] == line
            send(f"{line if exchange.get('echo', True) else ''}\n{exchange['printed']}")
            prompt = exchange["printed"].rpartition("\n")[2]

        wire.type = type_line
        send(f"{self.login}")


async def recorded(name: str, cut: Cut, talk: Callable[[CommandLine], Awaitable[Any]]) -> Any:
    session, wire = Recorded(name), Wire(cut)
    session.play(wire)
    line = WiredCommandLine(wire, enable_password=session.enable_password)
    await line.open()
    return await talk(line)


class EmulatedSession:
    """A session with the emulator, in which nothing of it but the network is missing.

    Args:
        banner: printed at login, before the prompt.
    """

    def __init__(
        self, startup: str, cut: Cut, *, platform: str = "cisco-mqc", level: int = 15, banner: str = ""
    ) -> None:
        self.machine = Machine("edge", platform, startup, Account("slotcar", "not-a-secret", "secret-word", level))
        self.wire = Wire(cut)
        self._shell = Shell(self.machine, "slotcar", self.wire.send, level)
        self.wire.type = self._shell.feed
        self._banner = banner
        self.line = WiredCommandLine(self.wire, enable_password="secret-word")

    async def __aenter__(self) -> Self:
        self.wire.send(self._banner.replace("\n", "\r\n"))
        self._serving = asyncio.create_task(self._shell.run())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._shell.close()
        await self._serving
