"""What an admission reads for totals: nothing where no policy asks for one, and never each reservation that is live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from slotcar.admission import capacities
from slotcar.book.model import AdmissionRequest, Entry, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.book.rules.errors import NotPermitted
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.reserving import ReservingRules
from slotcar.planning.routing import route
from slotcar.policy.caller import Role
from slotcar.policy.policies import Policies
from slotcar.policy.site import Site
from slotcar.policy.statements import Source
from slotcar.store import Ledger, open_ledger, reading
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

NETWORK = line_network()
FOR_TOTALS = {reading.READ_COUNTED, reading.READ_COUNTED_FORMS, reading.READ_OCCUPIED_SINCE}
KBPS = 1_000
LIMIT = '@id("limit") permit (principal, action == Action::"reserve", resource) when { %s };'


def site_with(condition: str) -> Site:
    return Site(Policies([Source("reserving.cedar", LIMIT % condition)]))


def rules_of(site: Site) -> Terms:
    return Terms(capacities(NETWORK), NETWORK.sls, Policy(reserving=ReservingRules(site)))


def admit(ledger: Ledger, site: Site, number: int) -> Entry:
    way = route(reservation(f"n-{number}", 10 * KBPS, 0, 60), NETWORK)
    caller = site.caller("hep", Role.REQUESTER, "hep")
    entry = ledger.run(Admit(T0, AdmissionRequest(way.reservation, way.paths, way.demands, "hep", caller=caller)))
    assert isinstance(entry, Entry), entry
    return entry


@pytest.fixture
def read_rows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The statements by which transactions read, each with the number of rows that it gave."""
    read, read_until_now = reading.read, list[tuple[str, int]]()

    def counted(connection: Connection, statement: str, parameters: Mapping[str, Any]) -> list[Any]:
        rows = read(connection, statement, parameters)
        read_until_now.append((statement, len(rows)))
        return rows

    monkeypatch.setattr(reading, "read", counted)
    return read_until_now


def test_no_total_is_read_where_no_policy_asks_for_one(ledger: Ledger, read_rows: list[tuple[str, int]]) -> None:
    site = site_with("context.rate_bps <= 20000000")
    ledger.set_terms(rules_of(site))
    for number in range(3):
        admit(ledger, site, number)
    assert read_rows
    assert not FOR_TOTALS & {statement for statement, _ in read_rows}


def test_what_is_read_does_not_grow_with_what_is_live(ledger: Ledger, read_rows: list[tuple[str, int]]) -> None:
    site = site_with("context.totals.owner.peak_bps <= 300000 && context.totals.owner.reservations <= 30")
    ledger.set_terms(rules_of(site))
    read_by = []
    for number in range(30):
        read_rows.clear()
        admit(ledger, site, number)
        read_by.append(list(read_rows))
    assert read_by[1:] == [read_by[1]] * 29
    assert not FOR_TOTALS & {statement for statement, _ in read_by[1]}
    with pytest.raises(NotPermitted):
        admit(ledger, site, 30)


def test_what_another_controller_changed_is_read_alone(
    ledger: Ledger, database_url: str, tmp_path: Any, read_rows: list[tuple[str, int]]
) -> None:
    site = site_with("context.totals.owner.reservations <= 4")
    with open_ledger(database_url, tmp_path) as other:
        for one in (ledger, other):
            one.set_terms(rules_of(site))
        for number in range(3):
            admit(ledger, site, number)
        read_rows.clear()
        entry = admit(other, site, 3)
        assert dict(read_rows)[reading.READ_COUNTED] == 3
        read_rows.clear()
        with pytest.raises(NotPermitted):
            admit(ledger, site, 4)
        assert dict(read_rows)[reading.READ_OCCUPIED_SINCE] == 1
        other.run(Move(T0, entry.handle, "hep", to=State.CANCELLED))
        assert admit(ledger, site, 4)
        ledger.set_terms(rules_of(replace(site, zone=T0.tzinfo or site.zone)))
        with pytest.raises(NotPermitted):
            admit(ledger, site, 5)
    later = T0 + timedelta(minutes=61)
    way = route(reservation("later", 10 * KBPS, 62, 70), NETWORK)
    caller = site.caller("hep", Role.REQUESTER, "hep")
    request = AdmissionRequest(way.reservation, way.paths, way.demands, "hep", caller=caller)
    assert ledger.run(Admit(later, request)), "what is over does not count"
