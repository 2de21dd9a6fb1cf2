"""What policies say of slots that nobody asked for: a transfer that makes room, or is planned again, stays out of hours
that they do not let it have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotcar.admission.model import Refused
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.book.applying import ApplyPlan
from slotcar.book.errors import PlanNotAdmitted
from slotcar.book.model import Entry, State
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.book.replanning import Replan
from slotcar.book.reporting import Report
from slotcar.book.rules.errors import NotPermitted
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.reserving import ReservingRules
from slotcar.network.model import InterfaceId, Sls
from slotcar.policy.caller import Role, neighbour
from slotcar.policy.policies import Policies
from slotcar.policy.site import Site
from slotcar.policy.statements import Source
from slotcar.store import Ledger
from tests.integration.store.test_transfers import TERMS, admission_of, moved_events, steps
from tests.support.halves import Decisions, decisions
from tests.support.requests import T0, at, reservation, transfer

#: 13 h is the second hour from `T0`. The members of `nightshift` may have it.
TEXT = """
@id("no-afternoons")
forbid (principal, action == Action::"reserve", resource)
when { resource.owner == Owner::"cms" && context.hours.contains(13) }
unless { principal in Group::"nightshift" };
"""
#: 80 bit/s for 20 minutes.
BULK_BYTES = 80 * 60 * 20 // 8
WHY = "transfers that could make room may not have other times: the policy no-afternoons"


def site_with(*members: str) -> Site:
    return Site(Policies([Source("hours.cedar", TEXT)]), groups={"nightshift": frozenset(members)})


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    given(ledger, site_with())
    return ledger


def given(book: Ledger, site: Site) -> None:
    book.set_terms(replace(TERMS, policy=Policy(reserving=ReservingRules(site))))


def bulk(book: Ledger, site: Site, minutes: int = 120, volume_bytes: int = BULK_BYTES) -> Entry:
    """A transfer of cms' program from 12 h on."""
    caller = site.caller("mover", Role.REQUESTER, "cms")
    request = admission_of(transfer("bulk", volume_bytes, minutes, owner="cms", shape="earliest"))
    entry = book.run(Admit(T0, replace(request, actor=caller.actor, caller=caller)))
    assert isinstance(entry, Entry)
    return entry


def now_of(book: Ledger, entry: Entry) -> Entry:
    latest = book.get(entry.handle)
    assert latest is not None
    return latest


def test_a_transfer_makes_room_in_hours_that_policies_allow_alone(book: Ledger) -> None:
    entry = bulk(book, site_with())
    until_one = admission_of(reservation("fixed", 100, 10, 60))
    refused = book.run(Admit(T0, until_one))
    assert isinstance(refused, Refused), "it would be done after 13 h"
    assert refused.explain()[0] == WHY
    with pytest.raises(PlanNotAdmitted, match="no-afternoons"):
        book.run(ApplyPlan.of([until_one], T0, actor="tester"))
    assert now_of(book, entry) == entry
    assert moved_events(book) == []
    assert isinstance(book.run(Admit(T0, admission_of(reservation("short", 100, 10, 30)))), Entry)
    assert steps(now_of(book, entry)) == [(0, 10, 80), (30, 40, 80)], "before 13 h it makes room"


def test_policies_are_asked_as_whom_it_was_that_asked_for_it(book: Ledger) -> None:
    """What the ledger has of it, for no other controller knows who that was."""
    site = site_with("mover")
    given(book, site)
    entry = bulk(book, site)
    assert now_of(book, entry).requester == entry.requester
    assert entry.requester is not None
    assert (entry.requester.name, entry.requester.at) == ("mover", T0)
    assert isinstance(book.run(Admit(T0, admission_of(reservation("fixed", 100, 10, 60)))), Entry)
    assert steps(now_of(book, entry)) == [(0, 10, 80), (60, 70, 80)]
    given(book, site_with())
    assert isinstance(book.run(Admit(T0, admission_of(reservation("next", 100, 60, 65)))), Refused)


def test_a_transfer_that_is_behind_takes_no_hour_that_policies_forbid(book: Ledger) -> None:
    entry = bulk(book, site_with())
    assert isinstance(book.run(Admit(T0, admission_of(reservation("fixed", 100, 20, 60)))), Entry)
    reported = book.run(Report(at(10), entry.handle, "cms", remaining_bytes=BULK_BYTES))
    assert steps(reported) == [(0, 20, 80)]
    assert reported.progress is not None
    assert reported.progress.missing_bytes == BULK_BYTES // 2
    (event,) = book.events(handle=entry.handle, kinds=["reservation.behind"])
    assert event.details["message"].endswith("the policy no-afternoons lets it have no other time")
    assert book.run(Replan(at(12), entry.handle)) is None
    given(book, site_with("mover"))
    after = book.run(Replan(at(15), entry.handle))
    assert after is not None
    assert after.reservation.end > at(60)


@pytest.fixture
def noted(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> Decisions:
    return decisions(book, monkeypatch)


def test_slots_of_a_move_are_asked_about_under_the_lock_alone(book: Ledger, noted: Decisions) -> None:
    """What policies say of the transfer without its slots was asked when it was requested."""
    site = site_with("mover")
    given(book, site)
    entry = bulk(book, site)
    assert noted.taken() == {"first before": 2, "second under": 1}
    assert isinstance(book.run(Admit(T0, admission_of(reservation("fixed", 100, 10, 60)))), Entry)
    assert steps(now_of(book, entry)) == [(0, 10, 80), (60, 70, 80)]
    assert noted.taken() == {"second under": 1}


def test_what_another_controller_admitted_is_asked_about_whole_once(book: Ledger, noted: Decisions) -> None:
    entry = bulk(book, site_with("mover"))
    given(book, site_with("mover"))  # as one that begins: it has asked nothing
    noted.taken()
    for number, (start, end) in enumerate([(10, 20), (20, 30)]):
        assert isinstance(book.run(Admit(T0, admission_of(reservation(f"fixed-{number}", 100, start, end)))), Entry)
        assert noted.taken() == {"second under": 1} | ({} if number else {"first under": 1})
    assert steps(now_of(book, entry)) == [(0, 10, 80), (30, 40, 80)]


def test_reports_and_new_plans_ask_of_a_transfer_before_the_lock(book: Ledger, noted: Decisions) -> None:
    entry = bulk(book, site_with("mover"))
    fixed = [admission_of(reservation(f"from-{start}", 100, start, end)) for start, end in [(20, 40), (45, 120)]]
    later = [book.run(Admit(T0, one)) for one in fixed][-1]
    assert isinstance(later, Entry)
    given(book, site_with("mover"))
    noted.taken()
    as_read = now_of(book, entry)
    reported = book.run(Report(at(10), entry.handle, "cms", remaining_bytes=BULK_BYTES, as_read=as_read))
    assert steps(reported) == [(0, 20, 80), (40, 45, 80)]
    assert noted.taken() == {"first before": 1, "second under": 1}
    book.run(Move(at(12), later.handle, "cms", to=State.CANCELLED))
    given(book, site_with("mover"))
    after = book.run(Replan(at(15), entry.handle, now_of(book, entry)))
    assert after is not None
    assert after.reservation.end > at(45)
    assert noted.taken() == {"first before": 1, "second under": 1}


#: What a neighbour's packets come in by.
WITHIN_SLA = """
@id("within-the-sla")
forbid (principal is Domain, action == Action::"reserve", resource)
when { principal has sla_bps && context.rate_bps > principal.sla_bps };
@id("few")
forbid (principal is Domain, action == Action::"reserve", resource)
when { context.totals has domain && context.totals.domain.reservations > 5 };
"""


def sls_of(name: str, rate_bps: int, validity: Window | None = None) -> Sls:
    ingress = InterfaceId(device="r1", name="eth0")
    return Sls(
        name=name, upstream="alpha", downstream="transit", service=Service.IP_PREMIUM, rate_bps=rate_bps,
        burst_bytes=10_000, ingress=ingress, validity=validity,
    )  # fmt: skip


def test_a_neighbours_volume_is_decided_by_halves_with_the_slss_of_its_slots(book: Ledger, noted: Decisions) -> None:
    """In the first hour another SLS holds, which says less: of what begins then no more is allowed."""
    site = Site(Policies([Source("sla.cedar", WITHIN_SLA)]))
    slss = {one.name: one for one in (sls_of("always", 90), sls_of("first-hour", 40, Window(T0, at(60))))}
    book.set_terms(replace(TERMS, sls=slss, policy=Policy(reserving=ReservingRules(site))))
    caller = neighbour("alpha", site.policies)

    def ask(name: str, start: int) -> Entry:
        wanted = transfer(name, BULK_BYTES, 120, start=start, owner="cms@alpha", shape="earliest")
        entry = book.run(Admit(T0, replace(admission_of(wanted), actor=caller.actor, caller=caller)))
        assert isinstance(entry, Entry)
        return entry

    assert steps(ask("late", 60)) == [(60, 80, 80)]
    assert noted.taken() == {"first before": 2, "second under": 1}
    with pytest.raises(NotPermitted, match=r"within-the-sla forbids it.*; they allow up to 40 bit/s in its place"):
        ask("early", 0)
    assert noted.taken() == {"first before": 2, "second under": 1, "whole under": 1}
