"""An apply costs what is in it: twice as many reservations make twice as many calls, and no more statements."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.files import ReservationFiles
from slotcar.network.model import Network
from slotcar.planning.source import source_of_body
from slotcar.store import Ledger
from tests.integration.api.conftest import GARNET, START
from tests.support.calls import calls_of
from tests.support.statements import statements_of

NOW = START - timedelta(minutes=30)
OPERATOR = Caller("ops", Role.OPERATOR)
SIZES = 100, 200
MOST_GROWTH = 2.2
USUAL = {"owner": "hep", "source": "anl-premium", "protocol": "udp", "service": "ip-premium"}


def flows(size: int, rate: str) -> dict[str, Any]:
    """Of an owner each, between the same two hosts, through routers whose flows share what runs out."""
    reservations = [
        USUAL | {
            "owner": f"o{number}", "name": f"n{number}", "destination": f"lbnl-premium:{5000 + number}", "rate": rate,
            "start": iso(START + number * timedelta(minutes=10)), "duration": "PT20M",
        }
        for number in range(size)
    ]  # fmt: skip
    return {"version": 1, "reservations": reservations}


def groups(size: int, rate: str) -> dict[str, Any]:
    together = [
        {
            "name": f"g{number}", "owner": "hep", "start": iso(START + number * timedelta(minutes=10)), "duration": "PT5M",
            "members": [{"name": "line", "network": {key: USUAL[key] for key in ("source", "protocol", "service")} | {
                "destination": f"lbnl-premium:{5000 + number}", "rate": rate,
            }}],
        }
        for number in range(size)
    ]  # fmt: skip
    return {"version": 1, "reservations": [], "together": together}


@pytest.mark.parametrize("kind", [flows, groups], ids=lambda kind: kind.__name__)
def test_an_apply_of_twice_as_many_makes_twice_as_many_calls_and_the_same_statements(
    ledger: Ledger, network: Network, tmp_path: Path, kind: Callable[[int, str], dict[str, Any]]
) -> None:
    desk = Desk(ledger, network, Settings(inventory=GARNET, state_dir=tmp_path))

    def applied(size: int, rate: str) -> tuple[int, int]:
        owners = {f"o{number}" for number in range(SIZES[-1])} | {"hep"}
        source = source_of_body(kind(size, rate), NOW, "mine", 10_000, owners)
        plan = ReservationFiles(desk).plan(source, OPERATOR, NOW)
        with statements_of(ledger) as sent:
            calls = calls_of(lambda: ReservationFiles(desk).apply(plan, OPERATOR, NOW))
        return calls, len(sent)

    applied(1, "1 Mbit/s")  # what is looked up at its first use
    costs = {}
    for size in SIZES:
        applied(0, "")  # gives all back
        costs["create", size] = applied(size, "1 Mbit/s")
        costs["change", size] = applied(size, "2 Mbit/s")
    for step in ("create", "change"):
        (small, few), (large, many) = (costs[step, size] for size in SIZES)
        assert large < MOST_GROWTH * small, f"{step}: {large / small:.2f} times as many calls"
        assert few == many, f"{step}: {many} statements instead of {few}"
