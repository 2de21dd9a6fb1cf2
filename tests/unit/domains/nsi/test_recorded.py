"""Messages that OpenNSA's requester and provider sent in a trial (identifiers, addresses and names are others)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.domains.nsi import soap
from slotcar.domains.nsi.messages import NsiSummaries, PointToPoint, Query, Reserve, Simple, SoapFault
from slotcar.domains.nsi.states import LifecycleState

SAMPLES = Path(__file__).parents[3] / "samples" / "nsi"
KINDS = sorted(file.stem for file in SAMPLES.glob("*.xml"))


def test_there_are_messages_of_both_sides() -> None:
    assert {"reserve", "provision", "terminate", "reserveConfirmed", "querySummarySyncConfirmed", "Fault"} <= set(
        KINDS
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_taken_and_is_said_again_the_same(kind: str) -> None:
    message = soap.read((SAMPLES / f"{kind}.xml").read_bytes())
    assert soap.read(soap.written(message)) == message


def test_what_the_requester_asks_for_is_understood() -> None:
    body = soap.read((SAMPLES / "reserve.xml").read_bytes()).body
    assert isinstance(body, Reserve)
    assert isinstance(body.criteria.service, PointToPoint)
    assert body.criteria.service.capacity_mbps == 10
    assert body.criteria.schedule.start == datetime(2026, 11, 29, 13, 2, 20, tzinfo=UTC)
    query = soap.read((SAMPLES / "queryRecursive.xml").read_bytes()).body
    assert query == Query("queryRecursive", ("anl-0123456789abcdef",))
    assert soap.read((SAMPLES / "release.xml").read_bytes()).body == Simple("release", "anl-0123456789abcdef")


def test_what_the_provider_answers_is_understood() -> None:
    body = soap.read((SAMPLES / "querySummarySyncConfirmed.xml").read_bytes()).body
    assert isinstance(body, NsiSummaries)
    assert all(isinstance(each.states.lifecycle, LifecycleState) for each in body.reservations)
    fault = soap.read((SAMPLES / "Fault.xml").read_bytes()).body
    assert isinstance(fault, SoapFault)
    assert fault.text
