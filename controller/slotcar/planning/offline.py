"""Plan, enquire and render from an inventory and files alone: no server, no database (for CI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.admission import SlotTables, capacities
from slotcar.book.model import Entry
from slotcar.book.rules.endpoints import endpoint_owners
from slotcar.book.rules.policy import Policy
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.planning.matching import match
from slotcar.planning.plan import Plan, decide_steps, make_plan
from slotcar.planning.routing import route
from slotcar.planning.source import ReservationSource
from slotcar.reservation.model import Reservation


def plan_offline(
    source: ReservationSource, network: Network, policy: Policy, now: datetime, *, most_paths: int, no_ledger_yet: bool,
    show_from: datetime | None = None,
) -> Plan:  # fmt: skip
    """A plan against an empty ledger. `no_ledger_yet`: there is none, so the plan can be applied to the first one.
    `show_from`: see `make_plan`."""
    return make_plan(
        match(_granted(source.reservations, network), (), source.scope, now, source.relative),
        (),
        SlotTables(capacities(network)),
        network,
        now=now,
        sequence=0 if no_ledger_yet else None,
        scope=source.scope,
        policy=policy,
        names_others=True,
        paths=source.paths,
        most_paths=most_paths,
        show_from=show_from,
    )


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
    steps = decide_steps(matched, network, policy, now, source.paths, most_paths)
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
