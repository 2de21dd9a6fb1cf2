"""A leader's pushes to the line network: real rules and a real archive; devices and ledger are played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Entry
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import active_at
from slotcar.rollout.adoption import Adoption
from slotcar.rollout.archive import Archive
from slotcar.rollout.attempts import Attempt
from slotcar.rollout.model import Failure, Reading, Wanted
from slotcar.rollout.playbook import PlaybookResult, Playbooks
from slotcar.rollout.pusher import Pusher, Readings
from slotcar.rollout.pushing import Pushing
from slotcar.rollout.status import LoopStatus
from slotcar.rollout.wanted import wanted_for
from slotcar.store import Ledger
from slotcar_client.wire.events import Kind
from tests.support.requests import T0
from tests.unit.rollout.support import NETWORK

#: What a device answers: what it has, or a word of why it does not answer.
Answers = Mapping[str, Wanted | str]


@dataclass
class Events:
    """What of a ledger a push asks for. `down`: it does not answer."""

    kinds: list[tuple[str, str | None]] = field(default_factory=list)
    details: list[Mapping[str, Any]] = field(default_factory=list)
    down: bool = False
    summaries: Any = field(default_factory=lambda: SimpleNamespace(latest_of_devices=lambda *_: ()))

    def _ask(self) -> None:
        if self.down:
            raise LedgerUnavailable("the database does not answer")

    def record(self, says: Kind, now: datetime, handle: str | None = None, device: str | None = None) -> None:
        self._ask()
        self.kinds.append((says.kind, device))
        self.details.append(says.details)

    def last_event(self) -> int:
        self._ask()
        return len(self.kinds)

    def events_of(self, *_: Any) -> tuple[()]:
        return ()

    def live_between(self, *_: Any) -> tuple[()]:
        self._ask()
        return ()


@dataclass(frozen=True, slots=True)
class Plays(Playbooks):
    """Runs nothing: notes its name, and answers what it is to answer."""

    answers: dict[str, PlaybookResult] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    on_run: Callable[[], None] = lambda: None

    def run(self, name: str, *_: Any, **__: Any) -> PlaybookResult:
        self.names.append(name)
        self.on_run()
        return self.answers.get(name, PlaybookResult())


@dataclass(frozen=True, slots=True)
class ReadOnly(Pusher):
    """Its readings are played, one after another; before each of them something may happen."""

    readings: list[tuple[Callable[[], None], Answers]] = field(default_factory=list)
    reading_names: list[list[str]] = field(default_factory=list)

    def read(self, names: Sequence[str]) -> Readings:
        self.reading_names.append(list(names))
        happens, answers = self.readings.pop(0)
        happens()
        some = {name: answers[name] for name in names}
        return Readings(
            {
                name: Reading(one.configuration, one.program.id)
                for name, one in some.items()
                if isinstance(one, Wanted)
            },
            {name: Failure(name, why, unreachable=True) for name, why in some.items() if isinstance(why, str)},
        )


@dataclass
class World:
    """A leader at T0. `archive` is its own."""

    folder: Path
    now: datetime = T0
    events: Events = field(default_factory=Events)

    def __post_init__(self) -> None:
        self.archive = Archive(self.folder / "state")
        self.plays = Plays(self.folder, self.folder)
        ledger = cast(Ledger, self.events)

        def record(says: Kind, device: str) -> None:
            self.events.record(says, self.now, device=device)

        self.pusher = ReadOnly(self.plays, self.archive, NETWORK.devices, record)
        self.pushing = Pushing(
            ledger, self.pusher, Adoption(ledger, self.archive, all_managed=True), wanted_for(NETWORK),
            BackgroundShares(NETWORK), LoopStatus(), clock=lambda: self.now, monotonic=lambda: 0.0,
            clock_was_set=lambda: False, push_took=lambda _: None, lead=timedelta(seconds=15),
        )  # fmt: skip

    def passes(self, **time: float) -> Callable[[], None]:
        def pass_time() -> None:
            self.now += timedelta(**time)

        return pass_time

    def wanted(self, entries: Sequence[Entry], at: datetime, *to_arm: datetime) -> dict[str, Wanted]:
        coming = [(instant, active_at(entries, instant)) for instant in to_arm]
        return dict(wanted_for(NETWORK)(active_at(entries, at), at, coming).wanted)

    def reads(self, *readings: tuple[Callable[[], None], Answers]) -> None:
        self.pusher.readings.extend(readings)

    def reconcile(self, entries: Sequence[Entry], *to_arm: datetime) -> Attempt:
        return self.pushing.reconcile(entries, self.now, to_arm, ())
