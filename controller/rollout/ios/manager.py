"""A router's event manager, over an open login: stages, arms and takes away what `eem` describes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from controller.rollout.fanout.login import DeviceError
from controller.rollout.ios import eem
from controller.rollout.ios.files import Files, text_of
from controller.rollout.ios.shell import Shell
from controller.rollout.model import NO_PROGRAM

#: What is due already is done at once, step after step.
SOON_S = 1.0
#: Beside a folder's other files: what was armed when the revision was staged.
STAGED_OVER = "armed-before.txt"
SHOW = "show running-config | include ^event manager applet|^file prompt quiet"
_QUIET = re.compile(r"^file prompt quiet\s*$", re.MULTILINE)


class Manager:
    """One router's event manager, over an open login. `now` gives seconds since the epoch."""

    def __init__(self, name: str, shell: Shell, files: Files, now: Callable[[], float] = time.time) -> None:
        self._name = name
        self._shell = shell
        self._files = files
        self._now = now

    async def stage(self, folder: Path) -> None:
        """Puts the steps' files on the router, and notes what is armed on it. Nothing is armed yet.

        Raises:
            DeviceError: it takes no files, and so cannot act by itself.
        """
        have = eem.armed_id(await self._shell.ask(SHOW))
        (folder / STAGED_OVER).write_text(have, encoding="utf-8")
        for applet in eem.applets_of(folder):
            text = text_of(applet.lines)
            if await self._files.read(applet.file) != text and not await self._files.put(applet.file, text):
                raise DeviceError(
                    f"{self._name}: it cannot be armed: {self._files.path(applet.file)} cannot be written"
                )

    async def arm(self, folder: Path) -> bool:
        """Registers the program of a staged revision in place of the one that is armed; whether it had another one.

        Raises:
            DeviceError: what is armed is not what was when the revision was staged; or an applet is refused, and then the
                former ones are left.
        """
        wanted, running = eem.applets_of(folder), await self._shell.ask(SHOW)
        have, want = eem.armed_id(running), wanted[0].program if wanted else NO_PROGRAM
        if have == want:
            return False
        expected = _read(folder / STAGED_OVER)
        if have != expected:
            raise DeviceError(
                f"{self._name}: what it will do by itself was changed since it was staged; nothing was changed"
            )
        old = eem.armed_names(running)
        mine = {applet.name for applet in wanted}
        await self._remove([name for name in old if name in mine])
        try:
            await self._register(wanted, asks=not _QUIET.search(running))
        except DeviceError:
            with suppress(DeviceError):  # the session may have ended; what it was first is told
                there = eem.armed_names(await self._shell.ask(SHOW))
                await self._remove([name for name in there if name in mine])
            raise
        await self._remove([name for name in old if name not in mine])
        if eem.armed_id(await self._shell.ask(SHOW)) != want:
            raise DeviceError(f"{self._name}: it did not register what it was to do by itself")
        await self._tidy({applet.file for applet in wanted})
        return True

    async def disarm(self) -> bool:
        """Takes away all that the router would do by itself; whether there was something."""
        names = eem.armed_names(await self._shell.ask(SHOW))
        await self._remove(names)
        await self._tidy(set())
        return bool(names)

    async def _register(self, wanted: Sequence[eem.Applet], *, asks: bool) -> None:
        for number, applet in enumerate(wanted):
            path, soon_s = self._files.path(applet.file), SOON_S * (number + 1)
            # Section by section: each delay is counted from when it is told.
            delay_s = max(soon_s, applet.at - self._now())
            await self._shell.configure(eem.registration(applet, delay_s, path, asks=asks))

    async def _remove(self, names: Sequence[str]) -> None:
        if names:
            await self._shell.configure([eem.removal(name) for name in names])

    async def _tidy(self, keep: set[str]) -> None:
        for name in await self._files.names(eem.PREFIX):
            if name not in keep:
                await self._files.forget(name)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else NO_PROGRAM
