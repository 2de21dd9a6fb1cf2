"""A router without its network: configurations, flash, revert timer, clock, faults, and every line that was given to it."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from slotcar.base.texts import lines_of
from slotcar_lab.ios import difference
from slotcar_lab.ios.configuration import Answer, Configuration, Cursor, Kind
from slotcar_lab.ios.counters import Counted
from slotcar_lab.ios.events import Events
from slotcar_lab.ios.faults import Faults, FullFlash
from slotcar_lab.ios.flash import Flash
from slotcar_lab.ios.grammar import load

#: `configure replace` tries that often before it gives up.
PASSES = 5


@dataclass(frozen=True, slots=True)
class Received:
    """One configuration line; `origin` is `terminal`, the file that was copied in, or `replace` or `revert`."""

    at_ns: int
    user: str
    origin: str
    line: str
    taken: bool


@dataclass(frozen=True, slots=True)
class Pending:
    """A change that reverts unless it is confirmed."""

    user: str
    minutes: int
    since: datetime.datetime
    saved: Configuration
    timer: asyncio.TimerHandle


@dataclass(frozen=True, slots=True)
class Replacement:
    """What `configure replace` did; `failed` are the lines of the last pass that were refused."""

    passes: int
    lines: int
    failed: tuple[str, ...]


@dataclass(slots=True)
class Account:
    """Who may log in, and with which privilege; without a password only by a key, without a secret not to `enable`."""

    user: str
    password: str
    enable_secret: str
    privilege: int
    authorized_keys: tuple[str, ...] = ()


async def _no_command_line(commands: list[str], timeout_s: float) -> bool:
    """A machine without one runs no commands."""
    return False


@dataclass(slots=True)
class Machine:
    """
    Args:
        minute_s: how long a minute of the revert timer lasts, so that a test need not wait for a whole one.
        changed: called, in the event loop, after everything that a test may wait for.
        execute: runs an applet's commands for so many seconds at most; gives whether all of them ran.
    """

    name: str
    platform: str
    startup: str
    account: Account
    minute_s: float = 60.0
    clock_offset_s: float = 0.0
    sequences: bool = False
    changed: Callable[[], None] = lambda: None
    reload: Callable[[], None] = lambda: None
    execute: Callable[[list[str], float], Awaitable[bool]] = _no_command_line
    history: list[Received] = field(default_factory=list)
    commands: list[tuple[int, str, str]] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    counters: Counted = field(default_factory=Counted)
    pending: Pending | None = None
    reverted: int = 0
    booted_ns: int = field(default_factory=time.time_ns)
    events: Events = field(init=False)
    running: Configuration = field(init=False)
    flash: Flash = field(init=False)

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: the start-up configuration holds lines that the platform's table does not.
        """
        facts = load(self.platform).facts
        self.flash = Flash(facts["flash"], int(facts["flash_bytes"]))
        self.events = Events(self)
        if "\nhostname " not in f"\n{self.startup}":
            self.startup = f"hostname {self.name}\n{self.startup}"
        if "\nversion " not in f"\n{self.startup}":
            self.startup = f"version {'.'.join(facts['release'].split('(')[0].split('.')[:2])}\n{self.startup}"
        self.boot()

    def boot(self) -> None:
        """Run the start-up configuration; what only ran is gone."""
        self.forget_pending()
        self.running = self.parsed(self.startup)
        interfaces = (node for node in self.running.top.children if node.rule.special == "interface")
        names = (node.captures["name"].partition(".")[0] for node in interfaces)
        logical = self.running.grammar.logical
        self.running.hardware = frozenset(name for name in names if name.rstrip("0123456789/:") not in logical)
        self.booted_ns = time.time_ns()
        self.counters.clear(self.running.top)
        self.events.forget()
        self.events.register()
        self.changed()

    def parsed(self, text: str) -> Configuration:
        """
        Raises:
            ValueError: lines that the platform's table does not hold.
        """
        configuration = Configuration(load(self.platform), sequences=self.sequences)
        if hasattr(self, "running"):
            configuration.hardware = self.running.hardware
        refused = configuration.load(lines_of(text))
        if refused:
            raise ValueError(
                f"{self.name}: not in the table of {self.platform}: {', '.join(line for line, _ in refused)}"
            )
        return configuration

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=self.clock_offset_s)

    async def take(self, cursor: Cursor, line: str, user: str, origin: str) -> Answer:
        """One configuration line, with what may go wrong.

        Raises:
            SessionDropped: a fault ends the session before the line is taken.
        """
        if line.strip() and not line.lstrip().startswith("!"):
            await self.faults.before_line()
        return self.take_now(cursor, line, user, origin)

    def take_now(self, cursor: Cursor, line: str, user: str, origin: str) -> Answer:
        refusal = next(self.faults.refusals(line), None)
        if refusal is None:
            answer = self.running.apply(cursor, line)
        else:
            answer = Answer(Kind.REFUSED, refusal.message) if refusal.message else Answer(Kind.INVALID)
        if line.strip() and not line.lstrip().startswith("!"):
            self.history.append(Received(time.time_ns(), user, origin, line.strip(), answer.taken))
            self.events.register()
            self.changed()
            others = self.running.cursor()
            for one in self.faults.meanwhile(line):
                self.take_now(others, one, "operator", "console")
        return answer

    async def merge(self, lines: Iterable[str], user: str, origin: str) -> list[tuple[str, Answer]]:
        """`copy FILE running-config`: every line for itself; those that are refused change nothing.

        Raises:
            SessionDropped: a fault ends the session; the lines before stay.
        """
        self.faults.around_copy(after=False)
        cursor, refused = self.running.cursor(), []
        for line in lines:
            if line.strip() == "end" and not cursor.delimiter:
                break
            answer = await self.take(cursor, line, user, origin)
            if not answer.taken:
                refused.append((line, answer))
        self.faults.around_copy(after=True)
        return refused

    async def replace(self, wanted: Configuration, user: str) -> Replacement:
        """`configure replace`: in passes, until the running configuration is the wanted one.

        Raises:
            SessionDropped: a fault ends the session; the lines before stay.
        """
        self.faults.around_copy(after=False)
        done = 0
        failed: tuple[str, ...] = ()
        passes = 0
        while passes < PASSES and (todo := difference.commands(self.running, wanted)):
            passes, cursor, refused = passes + 1, self.running.cursor(), []
            for line in difference.flat(todo):
                answer = await self.take(cursor, line, user, "replace")
                done += 1
                if not answer.taken:
                    refused.append(line)
            failed = tuple(refused)
        if not difference.commands(self.running, wanted):
            failed = ()
        self.faults.around_copy(after=True)
        return Replacement(passes, done, failed)

    def arm(self, minutes: int, user: str, saved: Configuration) -> None:
        """Go back to a configuration in that many minutes, unless `confirm` comes first."""
        self.forget_pending()
        timer = asyncio.get_running_loop().call_later(minutes * self.minute_s, self.revert)
        self.pending = Pending(user, minutes, self.now(), saved, timer)
        self.changed()

    def forget_pending(self) -> None:
        """Stop the timer; the change stays."""
        if self.pending:
            self.pending.timer.cancel()
        self.pending = None

    def revert(self) -> None:
        """Go back now, as when the timer ends."""
        if self.pending is None:
            return
        saved = self.pending.saved
        self.forget_pending()
        for _ in range(PASSES):
            cursor = self.running.cursor()
            for line in difference.flat(difference.commands(self.running, saved)):
                self.take_now(cursor, line, "", "revert")
        self.reverted += 1
        self.changed()

    def write_flash(self, path: str, data: bytes) -> None:
        """
        Raises:
            FlashFull: no room.
        """
        self.refresh_flash()
        self.flash.write(path, data, self.now())
        self.changed()

    def refresh_flash(self) -> None:
        self.flash.full = self.faults.has(FullFlash)
