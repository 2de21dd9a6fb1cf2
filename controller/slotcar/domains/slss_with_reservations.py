"""SLSs that are opened, changed and ended with the reservations that need them, where the inventory says so of a neighbour.

What is to be agreed on follows from the ledger's rows: the SLSs, what is promised of them, and the connections. So nothing
is lost by a crash; it is looked at again (ADR 100).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from slotcar.admission import demands, sls_resource
from slotcar.base.timebase import Window
from slotcar.base.units import format_rate
from slotcar.base.vocabulary import Service
from slotcar.book.agreed_slss import AgreedSls, SlsForm
from slotcar.domains.keeping import connection_of
from slotcar.domains.model import Connection, ConnectionPhase, Own
from slotcar.domains.of_slss import SlsKeeper
from slotcar.domains.sls_requests import PREFIX, SlsRequest, change_of, is_about_sls, opening
from slotcar.network import Network
from slotcar.network.model import InterfaceId, Sls
from slotcar.network.path import find_paths
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation
from slotcar.store.connections import ConnectionRow, ConnectionStore

#: By this an attempt that goes with reservations is told from an operator's, in both domains.
WITH_RESERVATIONS = f"{PREFIX}with-reservations:"
#: So long an SLS stays as it was agreed on, whatever is promised of it: what it was opened for is on its way.
STAYS = timedelta(seconds=30)
#: An attempt of a reservation asks for room in an SLS so often, and no more.
MOST_ATTEMPTS = 5
#: So long after a refusal because of another attempt of the two domains; the first by name asks first.
ASK_AGAIN_FIRST, ASK_AGAIN_SECOND = timedelta(seconds=3), timedelta(seconds=8)
#: In the words of `slotcar.book.slss`: another attempt, of either domain, was quicker.
_OTHERS_AT_WORK = (
    "is being changed already",
    "already: give this one another name",
    "a service has one SLS at a time",
)

#: A rate over a window.
Part = tuple[Window, int]


# -- what is wanted: pure -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Extent:
    """What an SLS has room for: a rate throughout a window."""

    window: Window
    rate_bps: int

    def covers(self, other: Extent) -> bool:
        is_within = self.window.start <= other.window.start and other.window.end <= self.window.end
        return is_within and other.rate_bps <= self.rate_bps

    def joined(self, other: Extent) -> Extent:
        """The least that covers both."""
        start, end = min(self.window.start, other.window.start), max(self.window.end, other.window.end)
        return Extent(Window(start, end), max(self.rate_bps, other.rate_bps))


def extent_of(parts: Sequence[Part]) -> Extent | None:
    """The least extent for these parts together: from the first to the last, the greatest sum of their rates."""
    if not parts:
        return None
    hull = Window(min(window.start for window, _ in parts), max(window.end for window, _ in parts))
    return Extent(hull, max(_sum_at(window.start, parts) for window, _ in parts))


def beyond(needs: Sequence[Part], in_force: Sequence[Part]) -> tuple[Part, ...]:
    """What each instant of `needs` takes beside `in_force`, which it replaces; 0 where it takes no more."""
    parts: list[Part] = []
    instants = {at for window, _ in in_force for at in window}
    for window, rate_bps in needs:
        cuts = sorted({*window, *(at for at in instants if window.contains(at))})
        for start, end in pairwise(cuts):
            parts.append((Window(start, end), max(0, rate_bps - _sum_at(start, in_force))))
    return tuple(parts)


def changed_down(has: Extent, promised: Sequence[Part], now: datetime) -> Extent | None:
    """What is left of an SLS by what is promised of it; None where nothing is. In use it keeps its start."""
    left = extent_of(promised)
    if left is None or left.window.start > now:
        return left
    return Extent(Window(min(has.window.start, left.window.start), left.window.end), left.rate_bps)


def _sum_at(at: datetime, parts: Sequence[Part]) -> int:
    return sum(rate_bps for window, rate_bps in parts if window.contains(at))


# -- what a reservation needs of a border ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BorderCrossing:
    """Where one direction of a reservation crosses the border. `parts`: what it takes of the SLS there, layer 3."""

    upstream: str
    downstream: str
    ingress: InterfaceId
    service: Service
    parts: tuple[Part, ...]

    def is_of(self, sls: Sls) -> bool:
        return (sls.service, sls.ingress) == (self.service, self.ingress)


def crossings_of(reservation: Reservation, network: Network, own: str, neighbour: str) -> tuple[BorderCrossing, ...]:
    """Of the border between two domains, those that take anything.

    Raises:
        NoPath.
    """
    crossings = []
    paths = find_paths(reservation, network)
    for path in paths:
        for hop, next_hop in pairwise(path.hops):
            upstream, downstream = network.domain_of(hop.egress), network.domain_of(next_hop.ingress)
            is_theirs = {upstream.name, downstream.name} == {own, neighbour}
            if not is_theirs or upstream.over_provisioned or downstream.over_provisioned:
                continue
            alone = [_with_sls(each, "one" if each is path else "") for each in paths]
            sls = Sls(
                name="one", upstream=upstream.name, downstream=downstream.name, service=reservation.service,
                rate_bps=1, burst_bytes=1_500, ingress=next_hop.ingress,
            )  # fmt: skip
            parts = _parts(reservation, alone, network.model_copy(update={"sls": {"one": sls}}))
            if any(rate_bps for _, rate_bps in parts):
                crossings.append(
                    BorderCrossing(upstream.name, downstream.name, next_hop.ingress, reservation.service, parts)
                )
    return tuple(crossings)


def _with_sls(path: Path, name: str) -> Path:
    return replace(path, sls=(name,) if name else ())


def _parts(reservation: Reservation, paths: Sequence[Path], network: Network) -> tuple[Part, ...]:
    """What it takes of the one SLS of a network, slot by slot."""
    wanted = [one for one in demands(reservation, paths, network) if one.resource == sls_resource("one")]
    windows = reservation.windows
    return tuple(
        (window, amount) for one in wanted for window, amount in zip(windows, one.over(len(windows)), strict=True)
    )


def holds_nothing_yet(connection: Connection) -> bool:
    """Whether it may wait for an SLS."""
    return connection.phase is ConnectionPhase.CHECKING and connection.own is Own.MISSING


# -- what is agreed on ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlssWithReservations:
    """`name`: this domain's. begin: begins an attempt of an id, unless there is one."""

    name: str
    network: Network
    keeper: SlsKeeper
    store: ConnectionStore
    begin: Callable[[SlsRequest, str], None]

    def room(
        self, connection: Connection, reservation: Reservation, before: Reservation | None, now: datetime
    ) -> str | None:
        """Empty once the SLSs with the next domain have room for the attempt, or where they are not of those that go with
        reservations; None while that is agreed on; else why they will not have it.

        Args:
            before: the form that is in force.

        Raises:
            SlotcarError: there is no way, or an SLS that nobody can agree on.
        """
        neighbour = self.network.domains.get(connection.next or "")
        if neighbour is None or reservation.service not in neighbour.sls_with_reservations:
            return ""
        now_in_force = crossings_of(before, self.network, self.name, neighbour.name) if before else ()
        answers = []
        for crossing in crossings_of(reservation, self.network, self.name, neighbour.name):
            same = [part for one in now_in_force if one.ingress == crossing.ingress for part in one.parts]
            answers.append(self._room_at(crossing, beyond(crossing.parts, same), connection, now))
        refusals = [answer for answer in answers if answer]
        return refusals[0] if refusals else None if None in answers else ""

    def _room_at(
        self, crossing: BorderCrossing, needs: Sequence[Part], connection: Connection, now: datetime
    ) -> str | None:
        if self._others_hold(crossing):
            return ""
        agreed = self._with_reservations_at(crossing, needs, now)
        if agreed is not None and (agreed.in_force is None or agreed.proposed is not None):
            return None
        promised = self.keeper.promises(agreed.name, now) if agreed else ()
        needed, has = extent_of([*promised, *needs]), _extent(agreed)
        assert needed is not None
        if agreed is not None and has is not None and has.covers(needed):
            return "" if self._is_in_both(agreed) else None
        wanted = has.joined(needed) if has else needed
        return self._attempted(crossing, agreed, wanted, connection, now)

    def _others_hold(self, crossing: BorderCrossing) -> bool:
        """Whether there is an SLS of the inventory's, or of an operator's: such a one is never touched."""
        named = {one.name for one in self.keeper.slss() if goes_with_reservations(one)}
        windows = [window for window, _ in crossing.parts]
        return any(
            crossing.is_of(sls) and (sls.validity is None or any(map(sls.validity.overlaps, windows)))
            for name, sls in self.network.sls.items()
            if not (sls.agreed and name in named)
        )

    def _with_reservations_at(
        self, crossing: BorderCrossing, needs: Sequence[Part], now: datetime
    ) -> AgreedSls | None:
        """The SLS there that goes with reservations; of several, one of the same time, else the last."""
        present = [
            one for one in self.keeper.slss()
            if goes_with_reservations(one) and _is_open(one, now) and crossing.is_of(one.forms[0].sls)
        ]  # fmt: skip
        near = [
            one for one in present
            if (held := one.forms[0].window) is not None and any(held.overlaps(window) for window, _ in needs)
        ]  # fmt: skip
        return (near or present)[-1] if present else None

    def _is_in_both(self, agreed: AgreedSls) -> bool:
        """Whether the neighbour is known to have it in force, too."""
        row = self.store.find(agreed.rests_on)
        return row is None or row.phase in (ConnectionPhase.START.value, ConnectionPhase.ENDED.value)

    def _attempted(
        self, crossing: BorderCrossing, agreed: AgreedSls | None, wanted: Extent, connection: Connection, now: datetime
    ) -> str | None:
        """None while an attempt of the two domains is under way, or one is to be made later; else why there is no room."""
        why = ""
        for number in range(MOST_ATTEMPTS):
            attempt_id = self._attempt_id(crossing, connection, number)
            row = self.store.find(attempt_id)
            if row is None:
                self.begin(self._request(crossing, agreed, wanted, connection.id), attempt_id)
                row = self.store.find(attempt_id)
                assert row is not None
            attempt = connection_of(row)
            if attempt.phase not in (ConnectionPhase.ABORTING, ConnectionPhase.FAILED):
                if not row.settled:
                    return None
                continue  # it was agreed on, and others took the room
            why = attempt.why
            if not any(words in why for words in _OTHERS_AT_WORK):
                break
            if now - row.changed_at < self._ask_again(crossing):
                return None
        other = crossing.upstream if crossing.downstream == self.name else crossing.downstream
        return (
            f"{self.name}: {format_rate(wanted.rate_bps)} of an SLS for {crossing.service} from {crossing.upstream} into"
            f" {crossing.downstream} over {wanted.window} cannot be agreed on with {other}: {why or 'others take it'}"
        )

    def _ask_again(self, crossing: BorderCrossing) -> timedelta:
        return ASK_AGAIN_FIRST if self.name == min(crossing.upstream, crossing.downstream) else ASK_AGAIN_SECOND

    def _attempt_id(self, crossing: BorderCrossing, connection: Connection, number: int) -> str:
        """The same for all controllers of the domain, and after a crash."""
        of = f"{connection.id} {connection.version} {crossing.ingress} {number}"
        return f"{WITH_RESERVATIONS}{self.name}-{hashlib.sha256(of.encode()).hexdigest()[:16]}"

    def _request(
        self, crossing: BorderCrossing, agreed: AgreedSls | None, wanted: Extent, connection_id: str
    ) -> SlsRequest:
        """
        Raises:
            InvalidInput: it is none that two domains can agree on.
        """
        if agreed is not None and agreed.in_force is not None:
            reason = f"more is asked for by connection {connection_id}"[:200]
            return self._change(agreed, _form(agreed.in_force.sls, wanted), reason)
        other = crossing.upstream if crossing.downstream == self.name else crossing.downstream
        burst_bytes = self.network.domains[other].sls_with_reservations[crossing.service]
        body = {
            "name": self._new_name(crossing), "upstream": crossing.upstream, "service": crossing.service.value,
            "rate": format_rate(wanted.rate_bps), "burst": f"{burst_bytes} B", "ingress": str(crossing.ingress),
            "validity": {"start": wanted.window.start, "end": wanted.window.end},
        }  # fmt: skip
        return opening(body, self.network, self.name)

    def _change(self, agreed: AgreedSls, form: SlsForm, reason: str) -> SlsRequest:
        return change_of(agreed, form, self.network, self.name, reason)

    def _new_name(self, crossing: BorderCrossing) -> str:
        """Such as `anl-esnet-ip-premium-1`; the number is one that none has had."""
        stem = f"{crossing.upstream}-{crossing.downstream}-{crossing.service.value}-"
        names = [*self.network.sls, *(one.name for one in self.keeper.slss())]
        numbers = [int(name[len(stem) :]) for name in names if re.fullmatch(rf"{re.escape(stem)}[0-9]{{1,9}}", name)]
        return f"{stem}{max(numbers, default=0) + 1}"

    def too_large(self, now: datetime) -> Iterator[tuple[str, SlsRequest]]:
        """Of the SLSs that this domain has opened with reservations, those that have more than is promised: the id of each,
        and the request that changes it down to that, or ends it where nothing is promised."""
        own = [one for one in self.keeper.slss() if goes_with_reservations(one) and _is_open(one, now)]
        if not own:
            return
        waiting = [each for each in map(connection_of, _reservations(self.store)) if holds_nothing_yet(each)]
        for agreed in own:
            has = _extent(agreed)
            if has is None or agreed.proposed is not None or not self._is_at_rest(agreed, now):
                continue
            assert agreed.in_force is not None
            sls = agreed.in_force.sls
            sides = {sls.upstream, sls.downstream} - {self.name}
            if any(sides & {each.previous, each.next} for each in waiting):
                continue
            left = changed_down(has, self.keeper.promises(agreed.name, now), now)
            if left is None:
                yield agreed.id, self._change(agreed, SlsForm(sls, now), "nothing is promised of it any more")
            elif left != has and has.covers(left):
                yield agreed.id, self._change(agreed, _form(sls, left), "as much as is promised of it")

    def _is_at_rest(self, agreed: AgreedSls, now: datetime) -> bool:
        """Whether this domain opened it, and it was not changed lately."""
        opened, latest = self.store.find(agreed.id), self.store.find(agreed.rests_on)
        is_own = opened is not None and connection_of(opened).is_first
        return is_own and latest is not None and latest.settled and now - latest.changed_at >= STAYS


def goes_with_reservations(agreed: AgreedSls) -> bool:
    return agreed.id.startswith(WITH_RESERVATIONS)


def _is_open(agreed: AgreedSls, now: datetime) -> bool:
    """Whether it can be changed."""
    form = agreed.in_force or agreed.proposed
    return form is not None and form.ended_at is None and form.end > now and not (agreed.over or agreed.closed)


def _extent(agreed: AgreedSls | None) -> Extent | None:
    if agreed is None or agreed.in_force is None or agreed.in_force.window is None:
        return None
    return Extent(agreed.in_force.window, agreed.in_force.sls.rate_bps)


def _form(sls: Sls, extent: Extent) -> SlsForm:
    return SlsForm(sls.model_copy(update={"validity": extent.window, "rate_bps": extent.rate_bps}))


def _reservations(store: ConnectionStore) -> Iterator[ConnectionRow]:
    return (row for row in store.unsettled() if not is_about_sls(row.id))
