"""Plan, enquire and render from an inventory and files alone: no server, no database (for CI)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from slotcar.admission import capacities
from slotcar.book.memory_shelf import MemoryShelf
from slotcar.book.model import AdmissionRequest, Condition, Entry, Terms
from slotcar.book.rules.endpoints import endpoint_owners
from slotcar.book.rules.policy import Policy
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.planning.matching import match
from slotcar.planning.plan import Plan, make_plan
from slotcar.planning.platform_limits import PlatformLimits, after_admission
from slotcar.planning.rehearsing import RequestForms, rehearsed
from slotcar.planning.routing import RoutedReservation, route
from slotcar.planning.source import ReservationSource
from slotcar.reservation.model import Reservation


def plan_offline(
    source: ReservationSource, network: Network, policy: Policy, now: datetime, *, most_paths: int, no_ledger_yet: bool,
    show_from: datetime | None = None, entries: Iterable[Entry] = (),
) -> Plan:  # fmt: skip
    """A plan against a ledger in memory. `no_ledger_yet`: there is none, so the plan can be applied to the first one.
    `show_from`: see `make_plan`. `entries`: those that the ledger has."""
    return make_plan(
        replace(source, reservations=_granted(source.reservations, network)),
        shelf_offline(network, policy, now, entries),
        forms_offline(network, most_paths, partial(after_admission, PlatformLimits(network).condition_of_flows)),
        now=now,
        sequence=0 if no_ledger_yet else None,
        show_from=show_from,
    )


def shelf_offline(network: Network, policy: Policy, now: datetime, entries: Iterable[Entry] = ()) -> MemoryShelf:
    """A ledger that has these entries."""
    return MemoryShelf.of(Terms(capacities(network), network.sls, policy), now, entries)


def forms_offline(
    network: Network, most_paths: int, condition_of: Callable[[RoutedReservation], Condition | None]
) -> RequestForms:
    """Asks as whoever has the inventory: an operator."""

    def request(routed: RoutedReservation, **how: Any) -> AdmissionRequest:
        return AdmissionRequest(
            routed.reservation,
            routed.paths,
            routed.demands,
            actor="",
            condition=condition_of(routed),
            names_others=True,
            **how,
        )

    return RequestForms(network, request, most_paths)


@dataclass(frozen=True, slots=True)
class Assumed:
    """Reservations of files as entries, and in words what was assumed of those that would be refused."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...]


def admitted_entries(
    source: ReservationSource, network: Network, policy: Policy, now: datetime, most_paths: int
) -> Assumed:
    """The files' reservations with the ways (ADR 25) and the rates that the controller would give them on an empty ledger.
    What it would refuse beside the others is taken as it was asked for, on its shortest path."""
    matched = match(_granted(source.reservations, network), (), source.scope, now, source.relative)
    transaction = shelf_offline(network, policy, now).transaction()
    forms = forms_offline(network, most_paths, lambda _routed: None)
    steps = rehearsed(matched, transaction, forms, now, source.paths, checks=False).steps
    entries, notes = [], []
    for number, step in enumerate(steps, 1):
        assert step.routed is not None, "without a ledger everything is new"
        entries.append(step.routed.entry(f"offline-{number}", number, now))
        name = "/".join(step.key)
        if step.refusal:
            needs = step.routed.reservation.need is not None
            text = "nothing of it is shown" if needs else "it is shown as asked for, on its shortest path"
            notes.append(f"{name} would be refused beside the others (slotcar plan says why); {text}")
        elif step.note:
            notes.append(f"{name} {step.note}")
    return Assumed(tuple(entries), tuple(notes))


def entries_of(
    reservations: Sequence[Reservation],
    network: Network,
    now: datetime,
    paths: Mapping[tuple[str, str], Sequence[Path]] | None = None,
) -> tuple[Entry, ...]:
    """Reservations as if all were committed, numbered in the files' order, on their shortest paths."""
    return tuple(
        route(reservation, network, (paths or {}).get(reservation.key)).entry(f"offline-{number}", number, now)
        for number, reservation in enumerate(_granted(reservations, network), 1)
    )


def _granted(reservations: Sequence[Reservation], network: Network) -> tuple[Reservation, ...]:
    """Grants as to an operator: whoever has the inventory is its operator."""
    owners = endpoint_owners(network)
    return tuple(owners.granted(one, operator=True) for one in reservations)
