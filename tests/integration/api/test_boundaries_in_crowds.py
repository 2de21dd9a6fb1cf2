"""A boundary is told from what changes there and from sums of all else: exactly what reading every reservation tells."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import MICROSECOND, Window, iso
from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, Role
from slotcar.book.shares import BackgroundShares
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.overview import BoundaryView, Overview
from slotcar.desk.requests import Requests
from slotcar.desk.reservations import cancel
from slotcar.network.model import Network
from slotcar.planning.errors import RefusedByAdmission
from slotcar.reservation import from_mapping
from slotcar.store import EntryFilter, Ledger
from slotcar.views.boundary import differences_at, groups_of
from slotcar.views.configurations import Differences
from slotcar.views.timeline import TimelineQuery, timeline
from slotcar_client.wire import verbs
from tests.integration.api.conftest import GARNET, START, body

OPERATOR, REQUESTER = Caller("ops", Role.OPERATOR), Caller("jan", Role.REQUESTER, "hep")
ENDS = ("anl-premium", "lbnl-premium")


@pytest.fixture
def overview(ledger: Ledger, network: Network, tmp_path: Path) -> Overview:
    return Overview(Desk(ledger, network, Settings(state_dir=tmp_path, inventory=GARNET)))


def at(hours: int) -> datetime:
    return START + timedelta(hours=hours)


def fill(overview: Overview, chance: random.Random, count: int) -> Counter[str]:
    """Of every kind, most of them open at the same times, some cancelled; how many of each were admitted."""
    now, kinds = datetime.now(UTC), Counter[str]()
    for number in range(count):
        kind = chance.choice(("plain", "plain", "plain", "both ways", "slots", "volume", "unpromised", "to a group"))
        source, destination = chance.sample(ENDS, 2)
        document: dict[str, Any] = {
            "owner": chance.choice(("hep", "bio")), "source": f"{source}:{6000 + number}",
            "destination": f"{destination}:{5000 + number}",
            "protocol": chance.choice(("udp", "tcp")), "rate": f"{chance.randint(1, 900)} kbit/s",
            "packet_size": chance.choice(("576 B", "1500 B")), "duration": f"PT{chance.randint(1, 4)}H",
            "start": iso(at(chance.randint(0, 4))),
        }  # fmt: skip
        if kind == "both ways":
            document["direction"] = "both"
        elif kind == "slots":
            hours = sorted(chance.sample(range(9), 3))
            document |= {"start": None, "duration": None, "rate": None, "schedule": [
                {"start": iso(at(hour)), "end": iso(at(hour + 1)), "rate": f"{hour + 1}00 kbit/s"}
                for hour in hours
            ]}  # fmt: skip
        elif kind == "volume":
            by = iso(at(chance.randint(5, 8)))
            document |= {"rate": None, "duration": None, "volume": "40 MB", "by": by}
        elif kind == "unpromised":
            document |= {"service": "qbss", "rate": None}
        elif kind == "to a group":
            document |= {"destination": f"239.0.0.{number}:5000", "receivers": destination, "protocol": "udp"}
        try:
            entry = Requests(overview.desk).create(from_mapping(body(f"n{number}", **document), now), OPERATOR, now)
        except RefusedByAdmission:
            continue
        kinds[kind] += 1
        if chance.random() < 0.2:
            cancel(verbs.Cancel(entry.handle), overview.desk, OPERATOR, now)
            kinds["cancelled"] += 1
    return kinds


def plainly(overview: Overview, instant: datetime, caller: Caller, now: datetime) -> BoundaryView:
    """By every reservation of the time, read whole."""
    network, whole = overview.desk.network, caller.role is Role.OPERATOR
    window = Window(instant - MICROSECOND, instant + MICROSECOND)
    entries = BackgroundShares(network)(overview.desk.ledger.between(instant, instant), window)
    own = [one for one in entries if whole or one.reservation.owner == caller.owner]
    visible = Entries(overview.desk).with_slots(own, caller, now)
    items = timeline(visible, (), TimelineQuery(instant, instant, own_only=not whole), now)
    groups = groups_of(differences_at(entries, Differences(network), instant)) if whole else None
    return BoundaryView(instant, items[0] if items else None, groups)


def instants_of(entries: tuple[Entry, ...]) -> list[datetime]:
    borders = {instant for one in entries for slot in one.reservation.slots for instant in slot}
    return sorted(borders | {instant + timedelta(minutes=7) for instant in borders})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_boundary_is_the_same_as_by_reading_every_reservation(overview: Overview, seed: int) -> None:
    kinds = fill(overview, random.Random(seed), 60)
    assert min(kinds[kind] for kind in (
        "plain", "both ways", "slots", "volume", "unpromised", "to a group", "cancelled",
    )) > 0, kinds  # fmt: skip
    now = datetime.now(UTC)
    entries = Entries(overview.desk).list(EntryFilter(limit=1_000), OPERATOR)
    crowded = 0
    for instant in instants_of(entries):
        crowded += sum(len(one.numbers) for one in overview.desk.ledger.instants.around(instant).crowds)
        for caller in (OPERATOR, REQUESTER):
            assert overview.boundary(instant, caller, now) == plainly(overview, instant, caller, now), instant
    assert crowded > 100


@pytest.mark.slow
def test_with_a_background_reservation_a_boundary_is_heard_from_everything(overview: Overview) -> None:
    fill(overview, random.Random(4), 20)
    now = datetime.now(UTC)
    share = {"weight": 3, "at_least": "100 kbit/s"}
    document = body("rest", rate=None, destination="lbnl-premium:4999", duration="PT6H", share=share)
    Requests(overview.desk).create(from_mapping(document, now), OPERATOR, now)
    for instant in instants_of(Entries(overview.desk).list(EntryFilter(limit=1_000), OPERATOR)):
        for caller in (OPERATOR, REQUESTER):
            assert overview.boundary(instant, caller, now) == plainly(overview, instant, caller, now), instant
