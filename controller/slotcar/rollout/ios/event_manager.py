"""A router's event manager, over an open login: stages, arms and takes away what `eem` describes (ADR 6)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from slotcar.base.texts import lines_of
from slotcar.rollout.device_folder import (
    AFTER,
    APPLY,
    BEFORE,
    DeviceFolder,
    StagedProgram,
    after_steps,
    before_steps,
)
from slotcar.rollout.ios import clock, eem
from slotcar.rollout.ios.applets import PREFIX, Applet
from slotcar.rollout.ios.command_line import CommandLine
from slotcar.rollout.ios.files import Files, text_of
from slotcar.rollout.model import NO_PROGRAM, STALE
from slotcar.rollout.play_clock import now_s
from slotcar.rollout.transport import DeviceError

#: What is due already is done at once, step after step.
SOON_S = 1.0
#: A step that is due so soon, or was so shortly before, is waited for: nothing is changed beside it.
NEAR_S, JUST_S = 1.0, 3.0
#: How often, and how long, a router is asked whether it has done what it does by itself.
AGAIN_S, REST_S = 0.25, 30.0
#: How long steps that follow each other closely are let pass before a restore.
PASS_S = 8.0


class EventManager:
    """One router's event manager, over an open login. `now` gives seconds since the epoch."""

    def __init__(self, name: str, command_line: CommandLine, files: Files, now: Callable[[], float] = now_s) -> None:
        self._name = name
        self._command_line = command_line
        self._files = files
        self._now = now
        self._fence: int | None = None
        self._back: tuple[Applet, ...] = ()
        self._managed = True
        self._passed = 0
        #: The applets that were registered when a change was made ready: one that is missing later has acted.
        self._ready: frozenset[str] = frozenset()

    async def at_rest(self, ask: Callable[[], Awaitable[dict[str, str]]]) -> dict[str, str]:
        """Answers that belong to one instant: no step was taken, and none was overdue, while they were given.

        Raises:
            DeviceError: it acts whenever it is asked.
        """
        until = time.monotonic() + REST_S
        while True:
            outputs = await ask()
            if await self._rested(outputs.get(eem.RUNNING)):
                return outputs
            if time.monotonic() > until:
                raise DeviceError(f"{self._name}: it ran a scheduled step each time it was read; {STALE}")
            await asyncio.sleep(AGAIN_S)

    async def _rested(self, running: str | None) -> bool:
        # In this order: a step that ends between the two questions is missing in the second's answer.
        runs = PREFIX in await self._command_line.ask(eem.ACTIVE)
        after = await self._registered()
        same = running is None or eem.Registered.of(running).names == after.names
        return same and not runs and not any(-JUST_S < left <= 0 for left in self._seconds_until(after.applets))

    async def stage(self, folder: DeviceFolder) -> None:
        """Puts the steps' files on the router, and how far its clock is off beside the folder's other files. Nothing is
        armed yet.

        Raises:
            DeviceError: it takes no files, and so cannot act by itself; a later leader was here.
        """
        self._check_fence(await self._registered(), folder.program().fence)
        await self._look_at_clock(folder)
        await self._put(eem.staged_applets(folder))

    async def arm(self, folder: DeviceFolder, *, changes: bool) -> bool:
        """Registers the program of a staged revision; whether the router had another one.

        Args:
            changes: a change of the configuration follows. Until `leave` what was armed stays armed, too: whatever the
                router carries in between, something ends it (ADR 6).

        Raises:
            DeviceError: what is armed is not what was when the router was read; or a step is about to be taken; a later
                leader was here; or an applet is refused, and then the former ones are left.
        """
        staged, applets = folder.program(), eem.staged_applets(folder)
        registered = await self._claim(staged.fence)
        have, want = registered.id, staged.ids[0]
        self._ready = frozenset(registered.names)
        if have == want and folder.applets_before() is not None:
            return False  # it took this revision already
        self._must_be(have, staged)
        self._must_have_time(registered, applets, changes=bool(folder.lines(APPLY)))
        folder.write_applets_before(await self._kept(registered))
        if have == want:
            return False
        if changes:
            await self._add(registered, applets)
            self._ready |= {applet.name for applet in applets}
        else:
            await self._replace(registered, applets)
        return True

    async def leave(self, folder: DeviceFolder) -> None:
        """After the change: takes away the program of the earlier configuration.

        Raises:
            DeviceError: a later leader was here, or a step was taken meanwhile: whatever it opened has its end among them.
        """
        registered = await self.check_nobody_came_between()
        if registered.id != folder.program().ids[0]:
            await self._replace(registered, eem.staged_applets(folder))

    async def check_nobody_came_between(self) -> eem.Registered:
        """Right before the change itself, and after it: what is registered.

        Raises:
            DeviceError: another controller took the lead since this one armed the router, or it took a step since.
        """
        registered = await self._registered()
        self._check_fence(registered, self._fence)
        if not self._ready <= set(registered.names):
            raise DeviceError(f"{self._name}: it ran a scheduled step while it was changed; {STALE}")
        return registered

    async def file_to_restore(self, folder: DeviceFolder, target: str) -> str | None:
        """The file of a folder that the router is to be given where `target` is asked for; None where it is left as it is.

        What is past of a revision's configuration, and of the one before it, is left out: a slot that has ended does not
        come back. And a router that never took a revision has nothing of it to give back.
        """
        if target == AFTER:
            return after_steps(self._past(eem.staged_applets(folder)))
        if target == BEFORE:
            if (before := folder.applets_before()) is None:
                return None
            past = self._past(before)
            known = eem.id_of(before) == folder.program().replaces and folder.has(before_steps(past))
            self._passed = past if known else 0
            return before_steps(self._passed)
        return target

    async def begin_restore(self, folder: DeviceFolder, target: str, fence: int | None) -> bool:
        """Before a configuration is restored: arms what belongs to it beside what is armed, and lets a step pass that is
        about to be taken; whether the router is to do something else from then on.

        Raises:
            DeviceError: a later leader was here.
        """
        registered = await self._registered()
        self._check_fence(registered, fence)
        self._fence, self._managed = fence, bool(target)
        self._back = self._to_be_armed(folder, target, registered.id)
        self._ready = frozenset(registered.names)
        if registered.id == eem.id_of(self._back):
            return bool(registered.fences) and not target
        registered = await self._let_pass(registered)
        to_come = [one for one in self._back if one.at - self._now() > NEAR_S]
        await self._put(to_come)
        await self._add(registered, to_come)
        self._ready = frozenset({*registered.names, *(one.name for one in to_come)})
        return True

    async def _let_pass(self, registered: eem.Registered) -> eem.Registered:
        """Steps that are too dense to be waited for are taken away: they would meet the change."""
        until = time.monotonic() + PASS_S
        while near := [
            one for one in registered.applets if one.at is not None and -JUST_S < one.at - self._now() < NEAR_S
        ]:
            if time.monotonic() > until:
                await self._remove([one.name for one in near])
                return await self._registered()
            await asyncio.sleep(AGAIN_S)
            registered = await self._registered()
        return registered

    async def end_restore(self) -> bool:
        """Arms what belongs to the configuration that was restored, and nothing else; what has fallen due meanwhile is done
        at once. Whether it was to do something else.

        Raises:
            DeviceError: a later leader was here, or a step was taken meanwhile: whatever it opened keeps its end.
        """
        registered = await self.check_nobody_came_between()
        if not self._managed:
            await self._configure([eem.fence_removal(one) for one in registered.fences])
        if registered.id == eem.id_of(self._back):
            await self._tidy({one.file for one in self._back})
            return False
        await self._put(self._back)
        await self._replace(registered, self._back)
        return True

    def _to_be_armed(self, folder: DeviceFolder, target: str, have: str) -> tuple[Applet, ...]:
        if not target:
            return ()
        if target == AFTER:
            applets = eem.staged_applets(folder)
            return applets[self._past(applets) :]
        before = folder.applets_before() or ()
        # Where another program came since, nobody knows what belongs to the configuration.
        return before[self._passed :] if have in (*folder.program().ids, eem.id_of(before), eem.INCOMPLETE) else ()

    def _past(self, some: Sequence[Applet]) -> int:
        return sum(one.at <= self._now() for one in some)

    def _seconds_until(self, some: Sequence[eem.Armed]) -> list[float]:
        return [one.at - self._now() for one in some if one.at is not None]

    def _must_be(self, have: str, staged: StagedProgram) -> None:
        if have not in (staged.replaces, staged.ids[0]):
            raise DeviceError(
                f"{self._name}: it ran a scheduled step after it was read"
                f" (armed then: {staged.replaces}, armed now: {have}); {STALE}"
            )

    def _must_have_time(self, registered: eem.Registered, applets: Sequence[Applet], *, changes: bool) -> None:
        if any(-JUST_S < left < NEAR_S for left in self._seconds_until(registered.applets)):
            raise DeviceError(f"{self._name}: it is about to run a scheduled step; {STALE}")
        if changes and applets and applets[0].at - self._now() < NEAR_S:
            raise DeviceError(f"{self._name}: this change was for the time before a boundary that has passed; {STALE}")

    def _check_fence(self, registered: eem.Registered, fence: int | None) -> None:
        """Refuses a controller that does not lead any more. A push by an operator's own hand has no number."""
        latest = max(registered.fences, default=0)
        if fence is not None and latest > fence:
            raise DeviceError(
                f"{self._name}: a controller that took the lead later (number {latest}) was here; number {fence} may not"
                " change anything any more"
            )

    async def _claim(self, fence: int | None) -> eem.Registered:
        """Leaves the number of the lead on the router, and looks once more whether it is the greatest there.

        Each lead has a line of its own. So of two that write at once neither takes the other's away, and the one that
        looks last sees both.
        """
        self._fence = fence
        registered = await self._registered()
        self._check_fence(registered, fence)
        if fence is None or fence in registered.fences:
            return registered
        await self._configure([eem.fence_line(fence)])
        registered = await self._registered()
        self._check_fence(registered, fence)
        await self._configure([eem.fence_removal(one) for one in registered.fences if one < fence])
        return registered

    async def _kept(self, registered: eem.Registered) -> tuple[Applet, ...]:
        """The armed program, so that it can be armed again; empty where a part of it is missing."""
        if registered.id in (NO_PROGRAM, eem.INCOMPLETE):
            return ()
        applets = []
        for one in registered.applets:
            text = await self._files.read(f"{one.name}.cfg")
            if one.at is None or not text:
                return ()
            lines = lines_of(text)[1:-1]  # without the frame of `text_of`
            applets.append(Applet(one.name, one.program, one.at, tuple(lines)))
        return tuple(applets)

    async def _add(self, registered: eem.Registered, wanted: Sequence[Applet]) -> None:
        """Registers those that are missing; none of them where one is refused. An applet's name says all that it does."""
        missing = {applet.name for applet in wanted} - set(registered.names)
        try:
            await self._register([one for one in wanted if one.name in missing], asks=not registered.quiet)
        except DeviceError:
            with suppress(DeviceError):  # the session may have ended; what it was first is told
                await self._remove([name for name in (await self._registered()).names if name in missing])
            raise

    async def _replace(self, registered: eem.Registered, wanted: Sequence[Applet]) -> None:
        mine = {applet.name for applet in wanted}
        await self._add(registered, wanted)
        await self._remove([name for name in registered.names if name not in mine])
        if (await self._registered()).id != eem.id_of(wanted):
            raise DeviceError(f"{self._name}: it did not register what it was to do by itself")
        await self._tidy({applet.file for applet in wanted})

    async def _register(self, wanted: Sequence[Applet], *, asks: bool) -> None:
        # The last step first: whoever dies in between leaves ends without their starts, and no start without its end.
        for number, applet in reversed(list(enumerate(wanted, 1))):
            # Section by section: each delay is counted from when it is sent.
            left_s = partial(self._left_s, applet, SOON_S * number)
            path = self._files.path(applet.file)
            await self._command_line.configure(eem.registration(applet, left_s, path, asks=asks))

    def _left_s(self, applet: Applet, least_s: float) -> float:
        return max(least_s, applet.at - self._now())

    async def _put(self, some: Sequence[Applet]) -> None:
        for applet in some:
            text = text_of(applet.lines)
            if await self._files.read(applet.file) != text and not await self._files.put(applet.file, text):
                raise DeviceError(
                    f"{self._name}: it cannot be armed: {self._files.path(applet.file)} cannot be written"
                )

    async def _look_at_clock(self, folder: DeviceFolder) -> None:
        began_s = self._now()
        printed = await self._command_line.ask(clock.COMMAND)
        folder.write_clock(clock.ahead_us(printed, (began_s + self._now()) / 2))

    async def _registered(self) -> eem.Registered:
        return eem.Registered.of(await self._command_line.ask(eem.SHOW))

    async def _remove(self, names: Sequence[str]) -> None:
        await self._configure([eem.removal(name) for name in names])

    async def _configure(self, lines: Sequence[str]) -> None:
        if lines:
            await self._command_line.configure(lines)

    async def _tidy(self, keep: set[str]) -> None:
        for name in await self._files.names(PREFIX):
            if name not in keep:
                await self._files.forget(name)
