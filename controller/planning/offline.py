"""Plan, enquire and render from an inventory and files alone: no server, no database (for CI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from controller.admission import SlotTables, capacities
from controller.ledger.model import Entry
from controller.network.model import Network
from controller.path.model import Path
from controller.planning.matching import match
from controller.planning.plan import Plan, make_plan
from controller.planning.routing import route
from controller.planning.source import Source
from controller.reservation.model import Reservation
from controller.settings import Settings
from controller.wiring import policy_of


def plan_offline(source: Source, network: Network, settings: Settings, now: datetime, *, no_ledger_yet: bool) -> Plan:
    """A plan against an empty ledger. `no_ledger_yet`: there is none, so the plan can be applied to the first one."""
    return make_plan(
        match(source.reservations, (), source.scope, now, source.relative),
        (),
        SlotTables(capacities(network)),
        network,
        now=now,
        sequence=0 if no_ledger_yet else None,
        scope=source.scope,
        policy=policy_of(settings, network),
        names_others=True,
        paths=source.paths,
        most_paths=settings.paths,
    )


def entries_of(
    reservations: Sequence[Reservation],
    network: Network,
    now: datetime,
    paths: Mapping[tuple[str, str], Sequence[Path]] | None = None,
) -> tuple[Entry, ...]:
    """Reservations as if all were committed, numbered in the files' order: what `render` shows offline."""
    return tuple(
        route(reservation, network, (paths or {}).get(reservation.key)).entry(f"offline-{number}", number, now)
        for number, reservation in enumerate(reservations, 1)
    )
