"""Slotcar's files on a router's flash: each is there whole, or not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from slotcar.base.texts import BLANKS, lines_of
from slotcar.rollout.ios.command_line import REFUSED, CommandLine
from slotcar.rollout.transport import DeviceError

_LISTED = re.compile(r"([^ \t]+)[ \t]*$")


def text_of(lines: Sequence[str]) -> str:
    """A file that ends with `end`, as IOS's own do, and has no blank margin that `more` could lose."""
    return "".join(f"{line.rstrip(BLANKS)}\n" for line in ("!", *lines, "end"))


class Files:
    """`place` is where they are, such as `flash:`."""

    def __init__(self, command_line: CommandLine, place: str) -> None:
        self._command_line = command_line
        self._place = place

    def path(self, name: str) -> str:
        return f"{self._place}{name}"

    async def put(self, name: str, text: str) -> bool:
        """Whether it is there now: a file that is cut off would be half a change."""
        with suppress(DeviceError):
            await self._command_line.put(text, self.path(name))
            if await self.read(name) == text:
                return True
        await self.forget(name)
        return False

    async def forget(self, name: str) -> None:
        """Removes the file, so that what an earlier push left is not taken for this push's."""
        if not REFUSED.search(await self._command_line.ask(f"dir {self.path(name)}")):
            await self._command_line.ask(f"delete /force {self.path(name)}")

    async def read(self, name: str) -> str:
        """Empty where there is none."""
        printed = await self._command_line.ask(f"more {self.path(name)}")
        return "" if REFUSED.search(printed) else printed.strip(f"{BLANKS}\r\n") + "\n"

    async def names(self, beginning: str) -> list[str]:
        """The names of all files with that beginning."""
        printed = await self._command_line.ask(f"dir {self._place}")
        last = (match[1] for line in lines_of(printed) if (match := _LISTED.search(line)))
        return [name for name in last if name.startswith(beginning)]
