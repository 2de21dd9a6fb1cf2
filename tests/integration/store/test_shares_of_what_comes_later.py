"""What shares of communities say of forms that nobody asks for anew: a transfer that makes room or is planned again, and
what is approved after less was shared out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from slotcar.admission.model import Refused
from slotcar.book.applying import ApplyPlan
from slotcar.book.approving import Approve
from slotcar.book.errors import PlanNotAdmitted
from slotcar.book.groups import ApproveGroup
from slotcar.book.model import Entry, State
from slotcar.book.operations import Admit
from slotcar.book.replanning import Replan
from slotcar.book.reporting import Report
from slotcar.book.rules.errors import ShareExceeded
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.reserving import ReservingRules
from slotcar.book.sharing import GiveShare
from slotcar.policy.sharing import ALL_HOURS, CommunityShare
from slotcar.policy.site import Community, Site
from slotcar.reservation.model import Membership
from slotcar.store import Ledger
from tests.integration.store.test_transfers import TERMS, admission_of, admit, kinds, moved_events, steps
from tests.support.requests import T0, at, reservation, transfer

SITE = Site(communities={"vo": Community(frozenset({"cms", "atlas"}))})
#: 12 h to 13 h, which is when `T0` is.
NOON = (12,)
#: 80 bit/s for 20 minutes.
BULK_BYTES = 80 * 60 * 20 // 8


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(replace(TERMS, policy=Policy(reserving=ReservingRules(SITE))))
    return ledger


def share(book: Ledger, rate_bps: int, hours: Collection[int] = ALL_HOURS, name: str = "cms") -> None:
    book.run(
        GiveShare(
            T0, CommunityShare("vo", name, (name,), rate_bps, hours=tuple(hours), given_by="ann", given_at=T0), "ann"
        )
    )


def now_of(book: Ledger, entry: Entry) -> Entry:
    latest = book.get(entry.handle)
    assert latest is not None
    return latest


def bulk(book: Ledger, **more: object) -> Entry:
    """A transfer that may be done by 14 h, and is at 12 h 20."""
    return admit(book, transfer("bulk", BULK_BYTES, 120, owner="cms", shape="earliest", **more))


def named(book: Ledger, name: str) -> Entry:
    entry = book.find("hep", name)
    assert entry is not None
    return entry


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_transfer_makes_room_within_its_share_alone(book: Ledger, is_shared: bool) -> None:
    entry = bulk(book)
    if is_shared:
        share(book, 100, NOON)
    until_one = admission_of(reservation("fixed", 100, 10, 60))
    if not is_shared:
        assert isinstance(book.run(Admit(T0, until_one)), Entry)
        assert now_of(book, entry).reservation.end > at(60)
        return
    assert isinstance(book.run(Admit(T0, until_one)), Refused), "it would be done after 13 h"
    with pytest.raises(PlanNotAdmitted):
        book.run(ApplyPlan.of([until_one], T0, actor="tester"))
    assert now_of(book, entry) == entry
    assert moved_events(book) == []
    admit(book, reservation("short", 100, 10, 30))
    assert moved_events(book) == [("bulk", named(book, "short").handle)]
    assert steps(now_of(book, entry)) == [(0, 10, 80), (30, 40, 80)], "within the hours it makes room"


@pytest.mark.parametrize("is_shared", [False, True])
def test_others_move_where_one_may_not(book: Ledger, is_shared: bool) -> None:
    ours = bulk(book, at_most_bps=40)
    admit(book, transfer("others", BULK_BYTES, 120, shape="earliest", at_most_bps=40))
    if is_shared:
        share(book, 100, NOON)
    admit(book, reservation("fixed", 50, 10, 60))
    assert (now_of(book, ours) == ours) == is_shared
    assert {name for name, _ in moved_events(book)} == ({"others"} if is_shared else {"bulk"})


def test_a_transfer_that_is_behind_takes_no_more_than_its_share(book: Ledger) -> None:
    hour_bytes = 40 * 60 * 60 // 8
    entry = admit(book, transfer("bulk", hour_bytes, 60, owner="cms"))
    share(book, 40)
    reported = book.run(Report(at(30), entry.handle, "cms", remaining_bytes=hour_bytes))
    assert steps(reported) == [(0, 60, 40)]
    assert reported.progress is not None
    assert reported.progress.missing_bytes == hour_bytes // 2
    (event,) = book.events(handle=entry.handle, kinds=["reservation.behind"])
    assert event.details["message"].endswith("its community has no more for it")
    assert book.run(Replan(at(32), entry.handle)) is None
    share(book, 80)
    after = book.run(Replan(at(35), entry.handle))
    assert after is not None
    assert steps(after) == [(0, 35, 40), (35, 60, 80)]


def test_what_waits_is_approved_within_the_share_of_then(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(Gate(rate_bps=10), reserving=ReservingRules(SITE))))
    entry = admit(book, reservation("a", 40, 0, 60, "cms"))
    assert entry.state is State.AWAITING_APPROVAL
    share(book, 30)
    with pytest.raises(ShareExceeded, match=r"the share of cms of vo is 30 bit/s; they allow up to 30 bit/s"):
        book.run(Approve(T0, entry.handle, "ops"))
    assert now_of(book, entry) == entry
    share(book, 40)
    committed = book.run(Approve(T0, entry.handle, "ops"))
    assert committed.state is State.COMMITTED


def test_a_change_that_waits_is_approved_within_the_share_of_then(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(Gate(rate_bps=50), reserving=ReservingRules(SITE))))
    entry = admit(book, reservation("a", 40, 0, 60, "cms"))
    share(book, 60)
    changed = book.run(Admit(T0, admission_of(reservation("a", 60, 0, 60, "cms"), replaces=entry.handle)))
    assert isinstance(changed, Entry)
    assert changed.proposed is not None
    share(book, 50)
    with pytest.raises(ShareExceeded, match="the share of cms of vo is 50 bit/s"):
        book.run(Approve(T0, entry.handle, "ops"))
    assert "modified" not in kinds(book, entry.handle)
    agreed = book.run(Approve(T0, entry.handle, "domain anl", is_promised=True))
    assert agreed.reservation.peak_rate_bps == 60, "what domains agreed on was promised"


def test_a_group_is_approved_as_a_whole_or_not(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(Gate(rate_bps=10), reserving=ReservingRules(SITE))))
    both = [reservation(f"pair.{name}", 20, 0, 60, "cms", together=Membership(group="pair")) for name in "ab"]
    entries = book.run(ApplyPlan.of([admission_of(one) for one in both], T0, actor="cms"))
    share(book, 30)
    group = entries[0].group
    assert group is not None
    with pytest.raises(ShareExceeded):
        book.run(ApproveGroup(T0, group, "ops"))
    assert {one.state for one in book.members(group)} == {State.AWAITING_APPROVAL}
    share(book, 40)
    assert {one.state for one in book.run(ApproveGroup(T0, group, "ops"))} == {State.COMMITTED}
