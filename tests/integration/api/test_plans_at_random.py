"""A plan that is applied at the very instant at which it was made never is stale, and does what it said: of random files,
on random ledgers with groups, gates and holds. A plan rehearses what an apply does, on a copy of the ledger in memory.

Of a refused plan nothing can be applied; the ledger refuses it too, and the same reservation first, with the same numbers.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given
from hypothesis import strategies as st

from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.errors import PlanNotAdmitted
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, OnGroup, RejectGroup
from slotcar.book.model import Entry, State
from slotcar.book.operation import Move
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk, answer_of
from slotcar.desk.files import ReservationFiles
from slotcar.desk.grouping import Groups
from slotcar.desk.requests import Options, Requests
from slotcar.desk.reservations import approve
from slotcar.network.model import Network
from slotcar.planning.errors import CannotExpress
from slotcar.planning.modification import Modification
from slotcar.planning.plan import Plan
from slotcar.planning.plan_file import plan_document, plan_of_document
from slotcar.planning.routing import hops_of
from slotcar.planning.source import ReservationSource, members_of_groups, source_of_body
from slotcar.planning.step import Action, PlanStep
from slotcar.platforms.model import Configuration
from slotcar.store import Ledger
from slotcar.views.configurations import configurations_at
from slotcar_client.wire import verbs
from tests.integration.api.conftest import GARNET, START
from tests.support.examples import examples
from tests.support.networks import line_network

OPERATOR = Caller("ops", Role.OPERATOR)
WINDOWS = 1000
#: So many extended lists it has for flows.
FLOWS_OF_A_7500 = 100
#: Each example has a week of its own in the one ledger.
_weeks = itertools.count()
MINUTE = timedelta(minutes=1)
#: So that some share a place and some do not: the narrowest link has 36 Mbit/s for the service on GARNET, and 40 on a line.
RATES = st.sampled_from(["1 Mbit/s", "4 Mbit/s", "6 Mbit/s", "15 Mbit/s", "21 Mbit/s", "50 Mbit/s"])
OWNERS, NAMES, GROUPS, SETS = ("hep", "astro"), ("a", "b", "c"), ("g", "h"), ("one", "two")
Body = dict[str, Any]


@dataclass(frozen=True)
class At:
    """An instant, in minutes from an example's beginning."""

    minute: int


@dataclass(frozen=True)
class File:
    """A set of files, applied."""

    of_set: str
    reservations: Sequence[Body]
    groups: Sequence[Body]


@dataclass(frozen=True)
class Create:
    """A reservation that comes by itself, held for so many minutes where it says so."""

    reservation: Body
    hold: int | None


@dataclass(frozen=True)
class CreateGroup:
    group: Body
    hold: int | None


@dataclass(frozen=True)
class Act:
    """Something that becomes of one of the live entries, or of its group."""

    verb: str
    which: int
    rate_bps: int


HOUR: Body = {"start": At(60), "end": At(120), "rate": "4 Mbit/s"}
times = {"start": st.integers(-1, 8).map(lambda n: At(15 * n)), "end": st.integers(9, 14).map(lambda n: At(15 * n))}
fixed = st.fixed_dictionaries({**times, "rate": RATES})
varying = st.builds(
    lambda rates, cut: {
        "schedule": [
            {"start": At(30), "end": At(cut), "rate": rates[0]},
            {"start": At(cut), "end": At(150), "rate": rates[1]},
        ]
    },
    st.tuples(RATES, RATES),
    st.sampled_from([60, 90]),
)
volumes = st.fixed_dictionaries(
    {"volume": st.sampled_from(["1 GB", "3 GB", "9 GB"]), "by": st.sampled_from([At(120), At(180), At(240)])},
    optional={"start": times["start"], "shape": st.sampled_from(["steady", "earliest", "latest"])},
)
background = st.builds(
    lambda window, share: window | {"share": share}, st.fixed_dictionaries(times),
    st.fixed_dictionaries({"weight": st.integers(1, 3)}, optional={"at_least": RATES, "at_most": RATES})
)  # fmt: skip
labels = st.sampled_from([{}, {}, {"labels": {"run": "7"}}, {"direction": "both"}])
parts = st.builds(lambda one, more: one | more, st.one_of(fixed, fixed, varying, volumes, background), labels)
named = st.tuples(st.sampled_from(OWNERS), st.sampled_from(NAMES))
reservations = st.builds(lambda key, one: one | {"owner": key[0], "name": key[1]}, named, parts)
groups = st.builds(
    lambda owner, name, window, rates: {
        "owner": owner, "name": name, **window, "members": [{"name": f"m{n}", "rate": rate} for n, rate in enumerate(rates)]
    },
    st.sampled_from(OWNERS), st.sampled_from(GROUPS), st.fixed_dictionaries(times), st.lists(RATES, min_size=1, max_size=3),
)  # fmt: skip
files = st.builds(
    File,
    st.sampled_from(SETS),
    st.lists(reservations, max_size=4, unique_by=lambda one: (one["owner"], one["name"])),
    st.lists(groups, max_size=2, unique_by=lambda one: (one["owner"], one["name"])),
)
holds = st.sampled_from([None, 5, 20, 60])
acts = st.builds(
    Act,
    st.sampled_from(["cancel", "commit", "approve", "reject", "modify", "report", "bind", "expire"]),
    st.integers(0, 9),
    st.sampled_from([2_000_000, 7_000_000]),
)
histories = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.one_of(files, files, st.builds(Create, reservations, holds), st.builds(CreateGroup, groups, holds), acts),
    ),
    max_size=7,
)


def _group(name: str, start: At, end: At, *rates: str) -> Body:
    members = [{"name": f"m{number}", "rate": rate} for number, rate in enumerate(rates)]
    return {"owner": "hep", "name": name, "start": start, "end": end, "members": members}


gates = st.sampled_from([{}, {"approval_rate_bps": "5 Mbit/s"}, {"approval_duration": "2 h"}])


@dataclass(frozen=True)
class World:
    """A ledger, and how requests are written for its network; `beginning` is an example's."""

    desk: Desk
    ends: tuple[str, str]
    beginning: datetime

    def written(self, part: Any) -> Any:
        """With times as texts."""
        if isinstance(part, At):
            return iso(self.beginning + part.minute * MINUTE)
        if isinstance(part, Mapping):
            return {key: self.written(value) for key, value in part.items()}
        return [self.written(one) for one in part] if isinstance(part, list) else part

    def reservation(self, one: Body) -> Body:
        return {"service": "ip-premium", **self.written(one), **self._line(one["owner"], one["name"])}

    def group(self, one: Body) -> Body:
        members = [
            {"name": member["name"], "network": {"service": "ip-premium", "rate": member["rate"]}
             | self._line(one["owner"], f"{one['name']}{member['name']}")} for member in one["members"]
        ]  # fmt: skip
        return dict(self.written(one)) | {"members": members}

    def _line(self, owner: str, name: str) -> Body:
        """The packets of nobody else."""
        port = 5000 + sum(letter * 31**place for place, letter in enumerate(f"{owner}/{name}".encode())) % 50_000
        return {"source": self.ends[0], "destination": f"{self.ends[1]}:{port}", "protocol": "udp"}

    def source(self, file: File, now: datetime) -> ReservationSource:
        body = {
            "version": 1,
            "reservations": [self.reservation(one) for one in file.reservations],
            "together": [self.group(one) for one in file.groups],
        }
        return source_of_body(body, now, file.of_set, WINDOWS, OWNERS)

    def live(self, now: datetime) -> dict[str, Entry]:
        return {one.handle: one for one in self.desk.ledger.live_between(now) if one.is_live_at(now)}

    def do(self, step: Create | CreateGroup | Act, now: datetime) -> None:
        """
        Raises:
            SlotcarError: it cannot be done, which is no matter.
        """
        if isinstance(step, Act):
            self._act(step, now)
            return
        hold = step.hold * MINUTE if step.hold else None
        if isinstance(step, CreateGroup):
            members = members_of_groups([self.group(step.group)], now, 100, self.desk.network)
            Groups(self.desk).create(members, OPERATOR, now, hold)
            return
        (reservation,) = self.source(File("", [step.reservation], []), now).reservations
        Requests(self.desk).create(reservation, OPERATOR, now, Options(hold=hold))

    def _act(self, act: Act, now: datetime) -> None:
        if act.verb == "expire":
            self.desk.ledger.expire(now)
            return
        live = list(self.live(now).values())
        if not live:
            return
        entry, desk = live[act.which % len(live)], self.desk
        which, who = entry.handle, OPERATOR
        if entry.group:
            change: type[OnGroup] | None = {
                "cancel": CancelGroup, "commit": CommitGroup, "approve": ApproveGroup, "reject": RejectGroup
            }.get(act.verb)  # fmt: skip
            if change is not None:
                Groups(desk).on(change, entry.group, who, now)
        elif act.verb == "approve":
            approve(verbs.Approve(which, entry.version), desk, who, now)
        elif act.verb == "modify":
            Requests(desk).modify(which, Modification(rate_bps=act.rate_bps), who, now)
        elif act.verb == "report":
            Requests(desk).report(which, act.rate_bps, who, now)
        elif act.verb == "bind":
            Requests(desk).bind(which, who, now, source_port=4000 + act.which)
        else:
            done = {"cancel": verbs.Cancel, "commit": verbs.Commit, "reject": verbs.Reject}[act.verb](which)
            answer_of(type(done))(done, desk, who, now)


def as_read(plan: Plan) -> Plan:
    """As `apply` reads it from the file that `plan` wrote."""
    return plan_of_document(json.loads(json.dumps(plan_document(plan))), "plan", "")


def check(world: World, file: File, now: datetime) -> None:
    """Plans the file and applies the plan at once."""
    try:
        source = world.source(file, now)
        plan = ReservationFiles(world.desk).plan(source, OPERATOR, now)
    except SlotcarError as error:
        event(f"no plan: {type(error).__name__}")
        return
    if plan.refused:
        event("refused")
        check_refused(world, plan, now)
        return
    before = world.live(now)
    applied = ReservationFiles(world.desk).apply(as_read(plan), OPERATOR, now)
    event("applied")
    done = (applied.created, applied.changed, applied.cancelled)
    assert done == tuple(plan.count(one) for one in (Action.CREATE, Action.CHANGE, Action.CANCEL))
    after = world.live(now)
    by_key = {one.reservation.key: one for one in after.values()}
    for step in plan.steps:
        check_step(step, by_key.get(step.key), before, plan.moves)
    own = {step.handle for step in plan.steps}
    others = {handle for handle, one in before.items() if handle not in own and after[handle] != one}
    assert others == set(plan.moves)
    for boundary in plan.boundaries:
        devices = configurations_at(after.values(), world.desk.network, boundary.at, boundary.after.keys())
        assert texts(devices) == texts(boundary.after), boundary.at
    again = ReservationFiles(world.desk).plan(source, OPERATOR, now)
    assert again.changes_nothing, [(step.key, step.differences) for step in again.steps if step.differences]


def texts(devices: Mapping[str, Configuration]) -> list[str]:
    return [line for name in sorted(devices) for line in (name, *devices[name].text.splitlines())]


def check_refused(world: World, plan: Plan, now: datetime) -> None:
    """The ledger refuses it too, by the same reservation; of a group, by the member for which there is no room."""
    without = replace(plan, steps=tuple(replace(step, refusal=None) for step in plan.steps))
    if any(step.reservation and step.reservation.together for step in plan.refused):
        event("refused group")
    before = world.live(now)
    with pytest.raises(PlanNotAdmitted) as caught:
        ReservationFiles(world.desk).apply(without, OPERATOR, now)
    assert world.live(now) == before
    refusals = [(step.key, step.refusal) for step in plan.refused if step.refusal]
    assert caught.value.refusals[0] == next(one for one in refusals if "goes with its group" not in one[1].reason)


def check_step(step: PlanStep, entry: Entry | None, before: Mapping[str, Entry], moves: Sequence[str]) -> None:
    """The entry that is there now is as the step said."""
    if step.action is Action.CANCEL:
        assert entry is None, step.key
        return
    if step.action is Action.NO_OP:
        if step.handle is not None and step.handle not in moves:
            assert entry == before[step.handle], step.key
        return
    assert entry is not None
    assert step.reservation is not None
    assert step.routed is not None
    was = before.get(step.handle or "")
    assert (entry.handle == step.handle) == (step.action is Action.CHANGE)
    waits_in = State.AWAITING_APPROVAL if was is None or was.state is not State.COMMITTED else State.COMMITTED
    assert step.waits == (entry.state is State.AWAITING_APPROVAL or entry.proposed is not None), step.key
    if step.waits:
        assert entry.state is waits_in
    assert entry.latest.slots == step.reservation.slots
    assert entry.latest.labels == step.reservation.labels
    form = entry.proposed or entry
    assert hops_of(form.paths) == hops_of(step.routed.paths)
    assert form.demands == step.routed.demands


@pytest.fixture(params=["line", "garnet"])
def place(request: pytest.FixtureRequest, network: Network) -> tuple[Network, tuple[str, str]]:
    """A network, and two hosts at its ends."""
    if request.param == "line":
        return line_network(), ("src", "dst")
    return network, ("anl-premium", "lbnl-premium")


#: Of which the ledger's next number is not the next one to those that live.
CANCELLED = [(0, Create(HOUR | {"owner": "hep", "name": "a"}, None)), (0, Act("cancel", 0, 0))]

#: Transfers with one deadline move for one another, whose handles a plan cannot know.
ONE_DEADLINE = File(
    "two",
    [
        {"owner": "hep", "name": "b", "volume": "1 GB", "shape": "latest", "start": At(-15), "by": At(120)},
        {"owner": "hep", "name": "a", "volume": "1 GB", "by": At(240)},
        {"owner": "hep", "name": "c", "volume": "9 GB", "shape": "earliest", "start": At(120), "by": At(240)},
    ],
    [
        _group("h", At(30), At(135), "1 Mbit/s"),
        _group("g", At(0), At(135), "6 Mbit/s", "1 Mbit/s"),
    ],
)
GROUPED = [
    (15, CreateGroup(_group("g", At(0), At(150), "15 Mbit/s", "6 Mbit/s", "6 Mbit/s"), None)),
    (15, Act("expire", 0, 0)),
]


@given(histories, files, gates)
@example(GROUPED, ONE_DEADLINE, {})
@example(CANCELLED, File("one", [HOUR | {"owner": "hep", "name": "b"}], []), {})
@examples(few=25, many=600, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_plan_that_is_applied_at_its_own_instant_holds(
    ledger: Ledger,
    place: tuple[Network, tuple[str, str]],
    tmp_path: Path,
    history: list[tuple[int, File | Create | CreateGroup | Act]],
    file: File,
    gate: dict[str, Any],
) -> None:
    network, ends = place
    beginning = START + next(_weeks) * timedelta(days=7)
    desk = Desk(ledger, network, Settings(inventory=GARNET, state_dir=tmp_path, **gate))
    world, now = World(desk, ends, beginning), beginning
    try:
        for minutes, step in history:
            now += minutes * MINUTE
            if isinstance(step, File):
                check(world, step, now)
                continue
            try:
                world.do(step, now)
            except SlotcarError as error:
                event(f"not done: {type(error).__name__}")
        check(world, file, now)
    finally:
        ledger.expire(now)
        for handle in world.live(now):
            ledger.run(Move(now, handle, "tester", to=State.CANCELLED))


def test_a_plan_asks_the_platforms_of_boundaries_that_it_does_not_show(
    ledger: Ledger, network: Network, tmp_path: Path
) -> None:
    """More flows than a 7500 has lists for, at a boundary before those that are shown: as an admission, a plan asks
    `PlatformLimits` of each of its reservations."""
    world = World(Desk(ledger, network, Settings(inventory=GARNET, state_dir=tmp_path)), ("", ""), START)
    line = {"owner": "hep", "source": "anl-premium", "protocol": "udp", "service": "ip-premium", "rate": "8 kbit/s"}
    many = [
        line | {"name": f"n{port}", "destination": f"lbnl-premium:{port}", "start": iso(START), "duration": "1 h"}
        for port in range(1, 102)
    ]
    now, later = START - 30 * MINUTE, START + timedelta(hours=2)
    source = source_of_body({"version": 1, "reservations": many}, now, "many", WINDOWS)
    with pytest.raises(CannotExpress):
        ReservationFiles(world.desk).plan(source, OPERATOR, now, show_from=later)
    fewer = replace(source, reservations=source.reservations[:FLOWS_OF_A_7500])
    plan = ReservationFiles(world.desk).plan(fewer, OPERATOR, now, show_from=later)
    assert ReservationFiles(world.desk).apply(as_read(plan), OPERATOR, now).created == FLOWS_OF_A_7500
