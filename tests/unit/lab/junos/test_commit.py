"""`commit check`, the candidate's lock, commits that wait, and `rollback`, without a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from slotcar_lab.junos.machine import MOST_COMMITS, Machine
from slotcar_lab.junos.tree import Refused

OPERATORS = (Path(__file__).parents[3] / "golden" / "brownfield" / "junos-edge.xml").read_text(encoding="utf-8")


class Clock:
    """Virtual time: `call_later` of an event loop, called by hand."""

    def __init__(self) -> None:
        self.due: list[tuple[float, Callable[[], None]]] = []

    def after(self, seconds: float, action: Callable[[], None]) -> Clock:
        self.due.append((seconds, action))
        return self

    def cancel(self) -> None:
        self.due.clear()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def machine(clock: Clock) -> Machine:
    router = Machine("r1", after=clock.after)
    router.boot(OPERATORS)
    return router


def change(machine: Machine, inside: str, session_id: int = 1) -> None:
    machine.edit(etree.fromstring(f"<configuration>{inside}</configuration>"), session_id)


def policer(name: str) -> str:
    limits = (
        "<if-exceeding><bandwidth-limit>1m</bandwidth-limit><burst-size-limit>15k</burst-size-limit></if-exceeding>"
    )
    return f"<firewall><policer><name>{name}</name>{limits}<then><discard/></then></policer></firewall>"


def names(machine: Machine) -> list[str]:
    return [str(one.findtext("name")) for one in machine.running.iterfind("firewall/policer")]


# -- commit check ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "<filter-name>EDGE-IN<",
            "<filter-name>NONE<",
            "[edit interfaces ge-0/0/1 unit 0 family inet] 'filter': Referenced filter 'NONE' is not defined",
        ),
        ("<filter-name>EDGE-OUT<", "<filter-name>NONE<", "Referenced filter 'NONE' is not defined"),
        (
            "<count>spoofed</count>",
            "<policer>NONE</policer>",
            "[edit firewall family inet filter EDGE-IN term SPOOFED then] 'policer NONE': Referenced policer 'NONE' is not"
            " defined",
        ),
        (
            "<count>spoofed</count>",
            "<forwarding-class>NONE</forwarding-class>",
            "Referenced forwarding-class 'NONE' is not defined",
        ),
        (
            "<count>spoofed</count>",
            "<three-color-policer><two-rate>NONE</two-rate></three-color-policer>",
            "Referenced three-color-policer 'NONE' is not defined",
        ),
        (
            "<scheduler>ANY<",
            "<scheduler>NONE<",
            "MANAGEMENT forwarding-class best-effort] 'scheduler NONE': scheduler 'NONE' is not defined",
        ),
        (
            "<scheduler-map>MANAGEMENT<",
            "<scheduler-map>NONE<",
            "[edit class-of-service interfaces ge-0/0/9] 'scheduler-map NONE': scheduler-map 'NONE' is not defined",
        ),
        (
            "<unit><name>0</name><classifiers><dscp><name>VOICE<",
            "<unit><name>0</name><classifiers><dscp><name>NONE<",
            "Classifier 'NONE' is not defined",
        ),
        (
            "<name>best-effort</name><scheduler>",
            "<name>NONE</name><scheduler>",
            "forwarding-class 'NONE' is not defined",
        ),
        (
            "<transmit-rate><remainder/>",
            "<transmit-rate><remainder/><rate>1m</rate>",
            "One of a rate, 'percent' and 'remainder' must be configured",
        ),
        (
            "<queue-num>7</queue-num></class>",
            "<queue-num>7</queue-num></class><queue><name>1</name><class-name>A</class-name></queue>",
            "'class' and 'queue' are mutually exclusive",
        ),
        ("<burst-size-limit>625k</burst-size-limit>", "", "Missing mandatory statement: 'burst-size-limit'"),
        (
            "<term><name>SPOOFED</name>",
            "<term><name>SPOOFED</name><filter>EDGE-OUT</filter>",
            "'filter' is mutually exclusive with 'from' and 'then'",
        ),
    ],
)
def test_what_cannot_be_committed_is_named(old: str, new: str, complaint: str) -> None:
    assert old in OPERATORS
    with pytest.raises(Refused) as refused:
        Machine("r1").boot(OPERATORS.replace(old, new))
    assert complaint in str(refused.value)


def test_filters_are_nested_one_level_only(machine: Machine) -> None:
    for name, called in (("B", "EDGE-OUT"), ("C", "B")):
        term = f"<term><name>T</name><filter>{called}</filter></term>"
        change(
            machine, f"<firewall><family><inet><filter><name>{name}</name>{term}</filter></inet></family></firewall>"
        )
    with pytest.raises(Refused, match="one level only"):
        machine.check()


def test_what_is_deactivated_refers_to_nothing_and_gives_nothing(machine: Machine) -> None:
    out = (
        '<firewall><family><inet><filter inactive="inactive"><name>EDGE-OUT</name></filter></inet></family></firewall>'
    )
    change(machine, out)
    with pytest.raises(Refused, match="Referenced filter 'EDGE-OUT' is not defined"):
        machine.check()
    change(machine, '<interfaces><interface inactive="inactive"><name>ge-0/0/1</name></interface></interfaces>')
    machine.check()


def test_what_a_group_gives_is_checked_too(machine: Machine) -> None:
    """The operators' group names a filter that is not there, for `xe-*`, and there is no such interface yet."""
    change(machine, "<interfaces><interface><name>xe-0/0/0</name><unit><name>0</name></unit></interface></interfaces>")
    with pytest.raises(Refused, match="Referenced filter 'BACKBONE-IN' is not defined"):
        machine.check()


def test_a_unit_is_scheduled_only_where_its_port_schedules_units(machine: Machine) -> None:
    unit = "<unit><name>5</name><scheduler-map>MANAGEMENT</scheduler-map></unit>"
    change(
        machine,
        f"<class-of-service><interfaces><interface><name>ge-0/0/1</name>{unit}</interface></interfaces></class-of-service>",
    )
    with pytest.raises(Refused, match="'per-unit-scheduler' is not configured for ge-0/0/1"):
        machine.check()
    change(machine, "<interfaces><interface><name>ge-0/0/1</name><per-unit-scheduler/></interface></interfaces>")
    machine.check()


# -- the candidate -----------------------------------------------------------------------------------------------------


def test_one_session_holds_the_candidate_and_the_others_are_told_who(machine: Machine) -> None:
    machine.lock(1)
    machine.lock(1)
    for action in (
        lambda: machine.lock(2),
        lambda: change(machine, policer("B"), 2),
        lambda: machine.commit(2, "somebody"),
    ):
        with pytest.raises(Refused, match="configuration database locked by") as refused:
            action()
        assert (refused.value.tag, refused.value.session_id) == ("lock-denied", 1)
    change(machine, policer("A"), 1)
    machine.end(1)
    machine.lock(2)
    assert not machine.is_modified, "what the session had edited is gone with it"


def test_a_candidate_with_edits_is_not_locked(machine: Machine) -> None:
    change(machine, policer("A"))
    with pytest.raises(Refused, match="configuration database modified"):
        machine.lock(2)
    machine.discard(1)
    machine.lock(2)


def test_edits_before_a_refusal_are_in_the_candidate(machine: Machine) -> None:
    with pytest.raises(Refused):
        change(machine, policer("A") + "<firewal/>")
    assert machine.is_modified


# -- commits -----------------------------------------------------------------------------------------------------------


def test_a_commit_that_waits_goes_back_by_itself_or_is_confirmed_by_any_other(machine: Machine, clock: Clock) -> None:
    change(machine, policer("A"))
    machine.commit(1, "one", confirm_s=300)
    assert names(machine) == ["A", "CUSTOMER"]
    ((seconds, take_back),) = clock.due
    assert seconds == 300
    take_back()
    assert names(machine) == ["CUSTOMER"]
    assert not machine.is_modified
    assert machine.commits[0].comment == "commit confirmed automatic rollback"

    change(machine, policer("A"))
    machine.commit(1, "one", confirm_s=300)
    change(machine, policer("B"), 2)
    machine.commit(2, "somebody else")
    assert clock.due == []
    machine.take_back()
    assert names(machine) == ["A", "B", "CUSTOMER"]


def test_a_second_commit_that_waits_goes_back_to_before_the_first(machine: Machine) -> None:
    for name in ("A", "B"):
        change(machine, policer(name))
        machine.commit(1, "one", confirm_s=60)
    machine.take_back()
    assert names(machine) == ["CUSTOMER"]


@pytest.mark.parametrize("outlives", [True, False])
def test_whether_a_commit_that_waits_outlives_its_session_is_an_option(machine: Machine, outlives: bool) -> None:
    machine.outlives_session = outlives
    change(machine, policer("A"))
    machine.commit(1, "one", confirm_s=300)
    machine.end(1)
    assert ("A" in names(machine)) is outlives


def test_a_refused_commit_leaves_what_waits_waiting(machine: Machine) -> None:
    change(machine, policer("A"))
    machine.commit(1, "one", confirm_s=300)
    change(machine, policer("B").replace("<then><discard/></then>", ""))
    with pytest.raises(Refused, match="Missing mandatory statement: 'then'"):
        machine.commit(1, "one")
    assert machine.waiting


def test_rollback_brings_an_earlier_commit_into_the_candidate(machine: Machine) -> None:
    for name in ("A", "B"):
        change(machine, policer(name))
        machine.commit(1, "one")
    machine.load_rollback(1, 1)
    machine.commit(1, "one")
    assert names(machine) == ["A", "CUSTOMER"]
    with pytest.raises(Refused, match="rollback 40 is not available"):
        machine.load_rollback(40, 1)
    for number in range(MOST_COMMITS):
        change(machine, policer(f"N{number}"))
        machine.commit(1, "one")
    assert len(machine.commits) == MOST_COMMITS
