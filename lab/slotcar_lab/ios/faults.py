"""What can be made to go wrong on a router. Give one to `Router.fault`; `Router.heal` takes all away."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RefuseLine:
    """Answer a configuration line that holds the regular expression with a message, or as an invalid one."""

    pattern: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class HangAfter:
    """Take that many configuration lines more, then answer nothing until healed."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class DropOnLine:
    """Take that many configuration lines more, then drop the session that sends the next."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class DropOnCopy:
    """Drop the session that copies to the running configuration or replaces it: before a line is taken, or after all."""

    after: bool = False


@dataclass(frozen=True, slots=True)
class Slow:
    """Take that long for each configuration line."""

    line_ms: int


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Take lines from somebody else, once, right after the first line that holds the regular expression."""

    pattern: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FullFlash:
    """No byte can be written to flash."""


@dataclass(frozen=True, slots=True)
class WrongPassword:
    """Refuse every login."""


Fault = RefuseLine | HangAfter | DropOnLine | DropOnCopy | Slow | Meanwhile | FullFlash | WrongPassword


class SessionDropped(Exception):
    """The router drops the session."""


@dataclass(slots=True)
class Faults:
    """Those that a router has now. Lines are counted from when the first was given."""

    active: list[Fault] = field(default_factory=list)
    lines: int = 0
    healed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, fault: Fault) -> None:
        self.active.append(fault)
        self.lines = 0

    def clear(self) -> None:
        self.active.clear()
        self.healed.set()
        self.healed = asyncio.Event()

    def has(self, kind: type[Fault]) -> bool:
        return any(isinstance(fault, kind) for fault in self.active)

    def refusals(self, line: str) -> Iterator[RefuseLine]:
        for fault in self.active:
            if isinstance(fault, RefuseLine) and re.search(fault.pattern, line):
                yield fault

    def meanwhile(self, line: str) -> Iterator[str]:
        """What somebody else says right after that line; it is not said again."""
        for fault in tuple(self.active):
            if isinstance(fault, Meanwhile) and re.search(fault.pattern, line):
                self.active.remove(fault)
                yield from fault.lines

    async def before_line(self) -> None:
        """
        Raises:
            SessionDropped: the session ends here.
        """
        self.lines += 1
        for fault in tuple(self.active):
            if isinstance(fault, Slow):
                await asyncio.sleep(fault.line_ms / 1000)
            elif isinstance(fault, HangAfter) and self.lines > fault.lines:
                await self.healed.wait()
            elif isinstance(fault, DropOnLine) and self.lines > fault.lines:
                raise SessionDropped

    def around_copy(self, *, after: bool) -> None:
        """
        Raises:
            SessionDropped: the session ends here.
        """
        if any(isinstance(fault, DropOnCopy) and fault.after == after for fault in self.active):
            raise SessionDropped
