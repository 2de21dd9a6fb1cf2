"""Code points along a path: who marks by what, who takes it for what, and over which links that matters."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from slotcar.base.registry import FOLDERS, facts_of
from slotcar.base.vocabulary import CODE_POINTS, Marking, Service, service_of
from slotcar.network.building import build
from slotcar.network.checks import check
from slotcar.network.findings import Findings
from slotcar.network.reading import Inventory, InventoryNode, SourceLocation
from slotcar.platforms.capability import Capability
from slotcar.platforms.cisco_car import limits as car
from slotcar.platforms.cisco_cat6500 import limits as cat
from slotcar.platforms.cisco_cat6500 import marks
from slotcar.platforms.cisco_gsr import limits as gsr
from slotcar.platforms.cisco_gsr.marks import IN, OUT, PREMIUM, SCAVENGER
from slotcar.platforms.ios import modular_limits as mqc
from slotcar.platforms.juniper_junos import limits as junos
from slotcar.platforms.linux_tc import limits as linux

LIMITS: dict[str, Capability] = {
    "linux-tc": linux.LINUX,
    "cisco-car": car.CAR,
    "cisco-mqc": mqc.HQF,
    "cisco-iosxe-netconf": mqc.HQF,
    "cisco-gsr": gsr.GSR,
    "juniper-junos": junos.JUNOS,
    "cisco-cat6500": cat.PORT_TYPES[cat.DEFAULT_PORT_TYPE].capability,
}
SHARES = {"ip-premium": "40 %", "assured-rate": "30 %", "qbss": "1 %"}
DSCP, PRECEDENCE = "cisco-mqc", "cisco-gsr"


def problems(
    *routers: tuple[str, dict[str, Any]],
    sls: tuple[str, ...] = ("ip-premium", "assured-rate"),
    over_provisioned: str = "",
) -> str:
    """What is refused of a line of routers, each `(platform, more variables)` or with a `domain` of its own; end systems
    are behind the first and the last."""
    hosts: dict[str, InventoryNode] = {}
    domains: dict[str, InventoryNode] = {}
    names = [f"r{number}" for number in range(1, len(routers) + 1)]
    of = {name: more.get("domain", "one") for name, (_, more) in zip(names, routers, strict=True)}
    for at, (name, (platform, more)) in enumerate(zip(names, routers, strict=True)):
        interfaces = {}
        if at:
            interfaces["eth1"] = {"neighbour": f"{names[at - 1]}:eth2"}
        if at < len(names) - 1:
            interfaces["eth2"] = {"neighbour": f"{names[at + 1]}:eth1"}
        if at in (0, len(names) - 1):
            interfaces["eth3"] = {"address": f"10.{at}.0.1/24"}
        variables = {"slotcar_capacity": "100 Mbit/s", "slotcar_shares": SHARES, "slotcar_platform": platform}
        variables |= {key: value for key, value in more.items() if key != "domain"}
        hosts[name] = _node(name, {of[name]}, variables | {"slotcar_interfaces": interfaces})
    for name in dict.fromkeys(of.values()):
        agreed = {
            f"{of[before]}-{of[here]}-{service}": {
                "upstream": of[before], "service": service, "rate": "1 Mbit/s", "burst": "100 kB",
                "ingress": f"{here}:{'eth1' if before < here else 'eth2'}",
            }
            for one, other in pairwise(names)
            for before, here in ((one, other), (other, one))
            for service in sls
            if of[before] != of[here] == name and over_provisioned not in (of[before], of[here])
        }  # fmt: skip
        variables = {"slotcar_domain": {"over_provisioned": name == over_provisioned}, "slotcar_sls": agreed}
        domains[name] = _node(name, set(), variables)
        for router in (one for one in names if of[one] == name):  # as Ansible hands them down
            hosts[router] = replace(hosts[router], variables={**hosts[router].variables, **variables})
    findings = Findings()
    check(build(Inventory("made up", hosts, domains), findings), findings)
    return "\n".join(map(str, findings.problems()))


def _node(name: str, groups: set[str], variables: dict[str, Any]) -> InventoryNode:
    return InventoryNode(name, frozenset(groups), variables, {}, SourceLocation("made up"))


def in_domain(name: str, **more: Any) -> dict[str, Any]:
    return {"domain": name, **more}


@pytest.mark.parametrize("platform", FOLDERS)
def test_markings_and_capability_tables_say_the_same(platform: str) -> None:
    assert LIMITS[platform].dscp == (Marking.DSCP in facts_of(platform).markings)


def test_code_points_are_those_that_the_platforms_write() -> None:
    for marking, services in ((Marking.DSCP, marks.BY_DSCP), (Marking.PRECEDENCE, marks.BY_PRECEDENCE)):
        assert CODE_POINTS[marking][Service.IP_PREMIUM] == (services.premium,)
        assert CODE_POINTS[marking][Service.ASSURED_RATE] == services.assured
        assert CODE_POINTS[marking][Service.QBSS] == (services.qbss,)
    assert {8 * PREMIUM, 8 * IN, 8 * OUT, 8 * SCAVENGER} == {
        dscp
        for service, known in CODE_POINTS[Marking.PRECEDENCE].items()
        if service is not Service.BEST_EFFORT
        for dscp in known
    }


@pytest.mark.parametrize("marking", Marking)
@pytest.mark.parametrize("service", Service)
def test_each_marking_knows_its_own_code_points(marking: Marking, service: Service) -> None:
    assert {service_of(dscp, marking) for dscp in CODE_POINTS[marking][service]} == {service}


@pytest.mark.parametrize("platform", FOLDERS)
def test_one_platform_by_itself_is_never_refused(platform: str) -> None:
    line = [(platform, in_domain(name)) for name in ("one", "one", "two")]
    assert problems(*line) == ""


def test_both_ways_are_told_each_with_what_is_lost_there() -> None:
    texts = problems((DSCP, {}), (PRECEDENCE, {}))
    assert "r1: slotcar_platform: marks assured-rate by DSCP, and such traffic comes to r2" in texts
    assert "DSCP 10 is precedence 1 there, served as qbss" in texts
    assert (
        "r2: slotcar_platform: marks ip-premium and assured-rate by IP precedence, and such traffic comes to r1"
        in texts
    )
    assert "precedence 5 is DSCP 40 there, served as best-effort" in texts
    assert "cisco-mqc and cisco-gsr have no marking in common: leave assured-rate out of the shares" in texts


def test_premium_alone_goes_from_dscp_to_precedence_and_not_back() -> None:
    only = {"slotcar_shares": {"ip-premium": "40 %"}}
    texts = problems((DSCP, only), (PRECEDENCE, only))
    assert "r1:" not in texts
    assert "r2: slotcar_platform: marks ip-premium by IP precedence" in texts


def test_a_service_without_a_share_or_an_sls_on_the_way_is_not_offered() -> None:
    none = {"slotcar_shares": {"qbss": "1 %"}}
    assert problems((DSCP, {}), (PRECEDENCE, none)) == ""
    assert problems((DSCP, in_domain("one")), (PRECEDENCE, in_domain("two")), sls=()) == ""
    assert "r1:" in problems((DSCP, in_domain("one")), (PRECEDENCE, in_domain("two")))


def test_an_over_provisioned_domain_passes_code_points_on() -> None:
    """It is not configured itself, so that its own platform does not matter; what is behind it does."""
    texts = problems(
        (DSCP, in_domain("one")), (PRECEDENCE, in_domain("wide")), (PRECEDENCE, in_domain("two")),
        over_provisioned="wide",
    )  # fmt: skip
    assert "r1: slotcar_platform: marks assured-rate by DSCP, and such traffic comes to r3" in texts
    assert "r2:" not in texts
    same = [(DSCP, in_domain("one")), (PRECEDENCE, in_domain("wide")), (DSCP, in_domain("two"))]
    assert problems(*same, over_provisioned="wide") == ""


def test_where_end_systems_are_behind_an_over_provisioned_domain_the_next_router_marks() -> None:
    texts = problems(
        (DSCP, in_domain("wide")), (DSCP, in_domain("one")), (PRECEDENCE, in_domain("one")), over_provisioned="wide"
    )
    assert "r2: slotcar_platform: marks assured-rate by DSCP, and such traffic comes to r3" in texts


def test_the_choice_that_all_could_take_is_said() -> None:
    texts = problems(("linux-tc", {}), ("cisco-cat6500", {}), ("cisco-gsr", {}))
    assert "say `slotcar_options: {marking: precedence}` for r1, r2" in texts
    chosen = {"slotcar_options": {"marking": "precedence"}}
    assert problems(("linux-tc", chosen), ("cisco-cat6500", chosen), ("cisco-gsr", {})) == ""
    assert "say `slotcar_options: {marking: dscp}` for r1" in problems(("linux-tc", chosen), ("cisco-mqc", {}))


def test_car_serves_the_scavengers_precedence_as_premium_inside_its_domain() -> None:
    texts = problems(("cisco-gsr", {}), ("cisco-car", {}))
    assert "r1: slotcar_platform: marks qbss by IP precedence, and such traffic comes to r2" in texts
    assert "goes by IP precedence: precedence 1 is served as ip-premium" in texts
    assert problems(("cisco-gsr", in_domain("one")), ("cisco-car", in_domain("two"))) == "", "reset at the border"


def test_a_platforms_facts_have_its_policers_floor() -> None:
    assert {platform: facts_of(platform).police_floor_bps for platform in LIMITS} == {
        platform: limits.police_bps.floor for platform, limits in LIMITS.items()
    }
