"""What a plan says of the routers that serve something otherwise than wanted: all of it, and once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.book.rules.policy import Policy
from slotcar.cli.plan_words import print_boundaries, print_documents
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.offline import plan_offline
from slotcar.planning.plan import Plan
from slotcar.planning.plan_file import plan_document
from slotcar.planning.plan_markdown import plan_markdown
from slotcar.planning.plan_page import PageStart, page_document
from slotcar.planning.shown_plan import shown_plan
from slotcar.planning.source import source_of_body

ROOT = Path(__file__).parents[3]
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
GARNET = load_network(ROOT / "inventories" / "garnet", None)
SCHEDULERS = load_network(ROOT / "tests" / "golden" / "render" / "inventories" / "linux-tc-schedulers")
CROSSED = ["anl-7507-1", "anl-7507-2", "esnet-7507", "lbnl-7507"]
WEIGHT = "ip-premium is served by its weight of fair-queue tos and not in strict priority"
AS_BEST_EFFORT = (
    "qbss is served as best effort: its precedence would fall into the class of ip-premium, and is reset where traffic"
    " comes in"
)


def wanted(name: str, **more: Any) -> dict[str, Any]:
    usual = {
        "name": name, "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium", "protocol": "udp",
        "service": "ip-premium", "rate": "8 Mbit/s", "start": "2027-03-01T21:00:00Z", "duration": "PT2H",
    }  # fmt: skip
    return usual | more


def planned(network: Network, *reservations: dict[str, Any], show_from: datetime | None = None) -> Plan:
    source = source_of_body({"version": 1, "reservations": list(reservations)}, NOW, "tonight", 10_000)
    return plan_offline(source, network, Policy(), NOW, most_paths=1, no_ledger_yet=True, show_from=show_from)


def qbss_alone() -> Plan:
    return planned(GARNET, wanted("mirror", service="qbss"))


def in_document(plan: Plan) -> dict[str, list[str]]:
    return {one["words"]: one["devices"] for one in plan_document(plan)["approximations"]}


def test_qbss_alone_changes_no_line_of_routers_with_car_and_the_plan_says_how_it_is_served() -> None:
    plan = qbss_alone()
    assert plan.boundaries == ()
    assert in_document(plan)[AS_BEST_EFFORT] == CROSSED


def test_a_router_on_the_path_whose_lines_stay_says_its_own_and_equal_sentences_stand_together() -> None:
    plan = planned(GARNET, wanted("media"))
    assert {one.device for boundary in plan.boundaries for one in boundary.devices} == {"anl-7507-1"}
    assert in_document(plan) == {WEIGHT: CROSSED, AS_BEST_EFFORT: CROSSED}


def test_an_approximation_of_what_begins_at_once_is_said_too() -> None:
    plan = planned(GARNET, wanted("mirror", service="qbss", start="2027-03-01T12:00:00Z"))
    assert in_document(plan)[AS_BEST_EFFORT] == CROSSED


def test_percentages_that_change_with_every_rate_are_said_once() -> None:
    schedule = [
        {"start": f"2027-03-01T{hour}:00:00Z", "duration": "PT1H", "rate": rate}
        for hour, rate in ((20, "16 Mbit/s"), (21, "24 Mbit/s"), (22, "8 Mbit/s"))
    ]
    film = wanted("film", source="cave", destination="desk:5001", packet_size="1028 B", rtt="50 ms", schedule=schedule)
    for key in ("rate", "start", "duration"):
        del film[key]
    plan = planned(SCHEDULERS, film)
    assert len(plan.boundaries) == 4
    counts = Counter((one.device, one.aspect) for one in plan.approximations)
    assert counts
    assert set(counts.values()) == {1}
    assert sum(aspect.endswith("hfsc shares") for _, aspect in counts) > 0
    assert sum(aspect.endswith("ets shares") for _, aspect in counts) > 0
    own = Counter(
        (device["device"], note.partition("%")[0].rpartition(" ")[0])
        for boundary in plan_document(plan)["boundaries"]
        for device in boundary["devices"]
        for note in device["approximations"]
    )
    assert set(own.values()) == {1}, "of each device too, at the first boundary that changes it"
    first = plan.boundaries[0].devices
    assert {one.aspect for device in first for one in device.approximations} <= {aspect for _, aspect in counts}


def test_a_burst_that_is_too_short_is_said_once_for_each_reservation_and_way() -> None:
    tcp = {"protocol": "tcp", "rtt": "500 ms", "packet_size": "1500 B", "rate": "38 Mbit/s", "duration": "PT1H"}
    plan = planned(GARNET, wanted("cms", recurrence="FREQ=DAILY;COUNT=3", **tcp))
    notes = [one for one in plan.approximations if "slotcar_burst_ceiling" in one.words]
    assert [(one.device, one.aspect) for one in notes] == [("anl-7507-1", "burst of hep/cms forward")]
    assert notes[0].words.startswith("hep/cms forward: one TCP connection of 500 ms needs a burst of ")


def test_who_sees_no_devices_sees_none_of_them() -> None:
    plan = qbss_alone()
    assert plan.approximations
    assert plan.without_devices().approximations == ()


def test_a_page_of_a_plan_says_those_of_what_it_shows() -> None:
    plan = planned(GARNET, wanted("media"))
    assert page_document(plan, PageStart(), 1)["approximations"] == plan_document(plan)["approximations"]
    later = planned(GARNET, wanted("media"), show_from=NOW + timedelta(hours=10))
    assert [one.at.hour for one in later.boundaries] == [23]
    assert in_document(later) == {WEIGHT: CROSSED, AS_BEST_EFFORT: CROSSED}


PRINTED = f"""
Approximations
  {", ".join(CROSSED)}: {WEIGHT}
  {", ".join(CROSSED)}: {AS_BEST_EFFORT}
"""


@pytest.mark.parametrize("far", [False, True], ids=["here", "from-a-document"])
def test_a_terminal_shows_them_once_after_the_boundaries(capsys: pytest.CaptureFixture[str], *, far: bool) -> None:
    plan = planned(GARNET, wanted("media"))
    document = plan_document(plan)
    if far:
        print_documents(shown_plan(document, {}), document["boundaries"], diff=False)
    else:
        print_boundaries(plan, GARNET, diff=False, commands=False)
    shown = capsys.readouterr().out
    assert PRINTED in shown
    assert shown.count(WEIGHT) == 1
    assert "approximated" not in shown
    assert "anl-7507-1  3 lines come" in shown.partition("Approximations")[0]


def test_a_terminal_shows_them_where_no_router_changes(capsys: pytest.CaptureFixture[str]) -> None:
    print_boundaries(qbss_alone(), GARNET, diff=True, commands=False)
    assert capsys.readouterr().out == PRINTED


def test_what_an_older_controller_says_beside_each_router_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(GARNET, wanted("media"))
    document = plan_document(plan)
    del document["approximations"]
    print_documents(shown_plan(document, {}), document["boundaries"], diff=False)
    assert f"\n  anl-7507-1: {WEIGHT}\n" in capsys.readouterr().out


def test_a_merge_request_shows_them_where_no_router_changes() -> None:
    plan = qbss_alone()
    shown = plan_markdown(plan, plan_document(plan)["boundaries"])
    assert f"\n**Approximations**\n\n```text\n{', '.join(CROSSED)}: {WEIGHT}\n" in shown
    assert shown.count(AS_BEST_EFFORT) == 1


def test_a_merge_request_with_too_many_says_how_many_it_leaves_out() -> None:
    plan = planned(GARNET, wanted("media"))
    one = plan.approximations[0]
    many = replace(
        plan, approximations=tuple(replace(one, aspect=str(n), words=f"{n} {one.words}") for n in range(2_000))
    )
    shown = plan_markdown(many, plan_document(many)["boundaries"])
    assert " of 2,000 approximations" in shown.partition("**Not shown here**")[2]
    assert "<details>" in shown, "the diffs have their room"
