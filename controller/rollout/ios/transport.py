"""What the steps need of a router, whatever carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Transport(Protocol):
    """One router, from `open` to `close`. Every method raises IosError where the router does not do it."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        """The answer to each command that shows something."""
        ...

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        """Puts a change and its undo on the router; nothing that a packet meets changes."""
        ...

    async def arm(self, apply: Sequence[str], revert_minutes: int) -> bool:
        """All but the change itself: has the router take it back by itself unless it is confirmed; whether it can."""
        ...

    async def activate(self, apply: Sequence[str]) -> None:
        """Makes the staged change take effect."""
        ...

    async def confirm(self) -> None:
        """The change stays. Nothing happens where nothing waits to be confirmed."""
        ...

    async def change(self, lines: Sequence[str]) -> None:
        """Changes the router now, without staging."""
        ...
