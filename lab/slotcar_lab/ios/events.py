"""The Embedded Event Manager, as far as it runs applets on a countdown timer: they act with nobody logged in.

"Embedded Event Manager Command Reference": a countdown begins when the applet is registered and ends once; an applet that
runs longer than its `maxrun` (20 s where it says nothing) is ended where it stands. Here an applet is registered with its
`event` line, on a router when its section is left.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Protocol

from slotcar_lab.ios.configuration import Configuration
from slotcar_lab.ios.tree import Node

USER = "eem"
MAXRUN_S = 20
#: `ssssss[.mmm]`.
_SECONDS = re.compile(r"\d{1,10}(?:\.\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Fired:
    """An applet's run: when it began, and whether it came to its end."""

    name: str
    at_ns: int
    ended: bool


class Host(Protocol):
    """What the applets need of the router that they run on; `running` is the configuration that holds them."""

    running: Configuration

    def changed(self) -> None:
        """Called after a run."""

    def execute(self, commands: list[str], timeout_s: float, /) -> Awaitable[bool]:
        """Runs commands one after the other; gives whether all of them ran in time."""


@dataclass(slots=True)
class Events:
    """The timers of a router's applets, each beside the line that set it: the same line set again is another timer."""

    host: Host
    fired: list[Fired] = field(default_factory=list)
    _timers: dict[int, tuple[Node, asyncio.TimerHandle]] = field(default_factory=dict)
    _runs: dict[asyncio.Task[None], str] = field(default_factory=dict)

    @property
    def running(self) -> tuple[str, ...]:
        """The applets that run at this moment."""
        return tuple(self._runs.values())

    def register(self) -> None:
        """Starts the timers of applets that are new and stops those of applets that are gone. A router that does not run
        yet has none."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        countdowns = {id(event): (applet, event) for applet, event in self._countdowns()}
        for timer_name in set(self._timers) - set(countdowns):
            self._timers.pop(timer_name)[1].cancel()
        for key, (applet, event) in countdowns.items():
            if key not in self._timers:
                timer = loop.call_later(float(event.captures["seconds"]), self._start, applet)
                self._timers[key] = (event, timer)

    def forget(self) -> None:
        """Stops all: the router does not run any more."""
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for run in tuple(self._runs):
            run.cancel()

    def _countdowns(self) -> list[tuple[Node, Node]]:
        applets = (node for node in self.host.running.top.children if node.rule.special == "applet")
        pairs = ((applet, applet.child("event")) for applet in applets)
        return [
            (applet, event)
            for applet, event in pairs
            if event is not None and _SECONDS.fullmatch(event.captures.get("seconds", ""))
        ]

    def _start(self, applet: Node) -> None:
        run = asyncio.get_running_loop().create_task(self._run(applet))
        self._runs[run] = applet.captures["name"]
        run.add_done_callback(self._runs.pop)

    async def _run(self, applet: Node) -> None:
        event, began_ns = applet.child("event"), time.time_ns()
        actions = sorted(applet.children, key=lambda node: node.captures.get("label", ""))
        commands = [action.captures.get("command", "").removeprefix('"').removesuffix('"') for action in actions]
        maxrun_s = int((event and event.captures.get("maxrun")) or MAXRUN_S)
        ended = await self.host.execute([command for command in commands if command], maxrun_s)
        self.fired.append(Fired(applet.captures["name"], began_ns, ended))
        self.host.changed()
