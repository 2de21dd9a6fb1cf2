"""A place of resource managers, over their call-outs: enable, disable, verify and read (GARA §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from slotcar.managers import Allocation, CallOuts, ManagerError, Place, ResourceManager, managers
from slotcar.platforms.allocations import ENABLE, line_of, split_change
from slotcar.platforms.resource_manager.renderer import READ
from slotcar.rollout.transport import DeviceError, Transport, Unreachable


def with_call_outs(variables: Mapping[str, Any]) -> bool:
    """Whether a host of these variables is a place of managers that have call-outs of their own."""
    return any(variables.get(name) is not None for one in _with_call_outs() for name in one.variables)


def _with_call_outs() -> list[ResourceManager]:
    return [one for one in managers().values() if one.platform is None]


class CallOutTransport(Transport):
    """The steps' `Transport`. A call-out may block, so that it runs in a thread of its own."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def close(self) -> None:
        """Does nothing: no connection stays open between call-outs."""

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        return {READ: await self._run(self._lines)}

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        """Managers are called at the instant."""

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        return False

    async def activate(self, apply: Sequence[str]) -> bool:
        await self._run(self._change, apply)
        return True

    async def change(self, lines: Sequence[str]) -> None:
        await self._run(self._change, lines)

    async def _run(self, what: Any, *arguments: Any) -> Any:
        try:
            return await asyncio.to_thread(what, *arguments)
        except ManagerError as error:
            raise DeviceError(f"{self._place.name}: {error}") from error
        except OSError as error:
            raise Unreachable(f"{self._place.name}: {error}") from error
        except Exception as error:  # a third party's code: what it does wrong is its place's trouble alone
            raise DeviceError(f"{self._place.name}: unforeseen: {type(error).__name__}: {error}") from error

    def _lines(self) -> str:
        allocations: list[Allocation] = []
        for one in _with_call_outs():
            if isinstance(one, CallOuts) and one.capacities(self._place):
                allocations += one.read(self._place)
        return "".join(f"{line_of(each)}\n" for each in sorted(allocations))

    def _change(self, lines: Sequence[str]) -> None:
        for verb, allocation in split_change(lines):
            manager = managers().get(allocation.kind)
            if not isinstance(manager, CallOuts):
                raise ManagerError(f"no resource manager for {allocation.kind} is installed")
            if verb == ENABLE:
                manager.enable(self._place, allocation)
                manager.verify(self._place, allocation)
            else:
                manager.disable(self._place, allocation)
