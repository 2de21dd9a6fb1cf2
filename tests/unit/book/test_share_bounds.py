"""What is shared out of a community, in a ledger in memory: no member has more than its share, nor all than was given."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import capacities
from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import Window, to_us
from slotcar.book.errors import ShareRefused
from slotcar.book.memory_shelf import MemoryShelf
from slotcar.book.model import OCCUPYING, AdmissionRequest, Entry, State, Terms
from slotcar.book.operation import Move, Operation, run_together
from slotcar.book.operations import Admit
from slotcar.book.rules.errors import ShareExceeded
from slotcar.book.rules.policy import Policy
from slotcar.book.share_bounds import busiest, peak_of, rate_at
from slotcar.book.sharing import GiveShare, WithdrawShare
from slotcar.planning.routing import route
from slotcar.policy.sharing import ALL_HOURS, CommunityShare
from slotcar.policy.site import Community, Site
from slotcar.reservation.model import Endpoint
from tests.support.networks import line_network
from tests.support.requests import T0, at, reservation

NETWORK = line_network()
NOW = T0 - timedelta(hours=1)
MBIT = 1_000_000
MINUTE = timedelta(minutes=1)
OWNERS = ("atlas", "cms", "lhcb")
#: Of the community together.
GIVEN = 10
SITE = Site(communities={"hep": Community(frozenset(OWNERS), at_most_bps=GIVEN * MBIT)})


def shelf_of(site: Site = SITE) -> MemoryShelf:
    policy = Policy()
    policy = replace(policy, reserving=replace(policy.reserving, site=site))
    return MemoryShelf.of(Terms(capacities(NETWORK), NETWORK.sls, policy), NOW)


def done(shelf: MemoryShelf, operation: Operation[object]) -> object:
    """
    Raises:
        SlotcarError: the operation's.
    """
    transaction = shelf.transaction()
    (answer,) = run_together([operation], transaction)
    shelf.keep(transaction)
    if isinstance(answer, SlotcarError):
        raise answer
    return answer


def admit(
    shelf: MemoryShelf, owner: str, name: str, rate: int, start: int = 0, end: int = 60, replaces: str | None = None
) -> Entry:
    port = 5000 + sum(map(ord, owner + name)) % 1000
    wanted = reservation(
        name, rate * MBIT, start, end, owner, destination=Endpoint(host="dst", port=port), source=Endpoint(host="src")
    )
    routed = route(wanted, NETWORK)
    request = AdmissionRequest(routed.reservation, routed.paths, routed.demands, owner, replaces=replaces)
    entry = done(shelf, Admit(NOW, request))
    assert isinstance(entry, Entry)
    return entry


def share(shelf: MemoryShelf, name: str, rate: int, *members: str, **more: object) -> None:
    one = CommunityShare("hep", name, members or (name,), rate * MBIT, given_by="ann", given_at=NOW)
    done(shelf, GiveShare(NOW, replace(one, **more), "ann"))  # type: ignore[arg-type]


def test_a_refusal_says_the_share_and_what_of_it_is_in_use_when() -> None:
    shelf = shelf_of()
    share(shelf, "cms", 5)
    admit(shelf, "cms", "a", 3, 0, 30)
    admit(shelf, "cms", "b", 1, 10, 20)
    with pytest.raises(ShareExceeded) as refused:
        admit(shelf, "cms", "c", 2)
    assert str(refused.value) == (
        "the share of cms of hep is 5 Mbit/s, of which 4 Mbit/s are in use from 2027-03-01T12:10:00Z to"
        " 2027-03-01T12:20:00Z; they allow up to 1 Mbit/s in its place"
    )
    assert refused.value.policies == ("shares-of-rate",)
    assert refused.value.kept is not None
    admit(shelf, "cms", "c", 1)
    admit(shelf, "atlas", "a", 5)  # has no share of its own
    with pytest.raises(
        ShareExceeded, match=r"what hep was given is 10 Mbit/s, of which 10 Mbit/s are in use from .*12:10"
    ):
        admit(shelf, "lhcb", "a", 1)
    admit(shelf, "astro", "a", 5)  # is no member


def test_members_may_have_a_share_together_and_in_more_than_one() -> None:
    shelf = shelf_of()
    share(shelf, "lhc", 4, "atlas", "cms")
    share(shelf, "cms", 3)
    admit(shelf, "atlas", "a", 2)
    with pytest.raises(
        ShareExceeded, match=r"the share lhc of hep \(atlas, cms together\) is 4 Mbit/s, of which 2 Mbit/s"
    ):
        admit(shelf, "cms", "a", 3)
    admit(shelf, "cms", "a", 2)


def test_a_share_binds_slots_before_its_end_alone() -> None:
    shelf = shelf_of()
    share(shelf, "cms", 1, until=T0 + 30 * MINUTE)
    admit(shelf, "cms", "after", 5, 30, 60)
    with pytest.raises(ShareExceeded):
        admit(shelf, "cms", "over", 2, 29, 40)
    admit(shelf, "cms", "within", 1, 0, 30)


def test_a_share_may_be_for_hours_and_services() -> None:
    shelf = shelf_of()
    share(shelf, "cms", 5, hours=(13, 14))
    with pytest.raises(ShareExceeded, match="the share of cms of hep is for the hours 13, 14 in UTC"):
        admit(shelf, "cms", "noon", 1)
    admit(shelf, "cms", "later", 1, 60, 120)
    share(shelf, "cms", 5, hours=ALL_HOURS, services=("assured-rate",))
    with pytest.raises(ShareExceeded, match="the share of cms of hep is for assured-rate"):
        admit(shelf, "cms", "premium", 1)


def test_what_was_above_a_share_already_may_stay_and_shrink() -> None:
    shelf = shelf_of()
    entry = admit(shelf, "cms", "a", 6)
    share(shelf, "cms", 2)
    entry = admit(shelf, "cms", "a", 4, replaces=entry.handle)
    with pytest.raises(ShareExceeded):
        admit(shelf, "cms", "a", 5, replaces=entry.handle)
    with pytest.raises(ShareExceeded):
        admit(shelf, "cms", "b", 1)


def test_a_share_is_withdrawn_once() -> None:
    shelf = shelf_of()
    share(shelf, "cms", 0)
    with pytest.raises(ShareExceeded, match="the share of cms of hep is 0 bit/s"):
        admit(shelf, "cms", "a", 1)
    done(shelf, WithdrawShare(NOW, "hep", "cms", "ann"))
    with pytest.raises(ShareRefused, match="hep has no share cms: it was withdrawn, or never was"):
        done(shelf, WithdrawShare(NOW, "hep", "cms", "ann"))
    admit(shelf, "cms", "a", 1)


def test_in_one_batch_a_share_binds_what_comes_after_it() -> None:
    shelf = shelf_of()
    routed = route(reservation("a", MBIT, owner="cms"), NETWORK)
    request = AdmissionRequest(routed.reservation, routed.paths, routed.demands, "cms")
    none = CommunityShare("hep", "cms", ("cms",), 0, given_by="ann", given_at=NOW)
    answers = run_together([GiveShare(NOW, none, "ann"), Admit(NOW, request)], shelf.transaction())
    assert isinstance(answers[1], ShareExceeded)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("share", "withdraw", "admit", "change", "cancel")),
        st.sampled_from(OWNERS),
        st.sampled_from("abc"),
        st.integers(0, 6),
        st.integers(0, 5),
        st.integers(1, 6),
    ),
    max_size=14,
)


@given(STEPS)
def test_nobody_comes_to_have_more_than_its_share(steps: list[tuple[str, str, str, int, int, int]]) -> None:
    """What is above a share that was given later stays; nothing is added to it while it is."""
    shelf = shelf_of()
    for what, owner, name, rate, start, length in steps:
        before = _peaks(shelf)
        live = {one.reservation.key: one for one in shelf if one.state in OCCUPYING}
        entry = live.get((owner, name))
        try:
            if what == "share":
                share(shelf, owner, rate)
            elif what == "withdraw":
                done(shelf, WithdrawShare(NOW, "hep", owner, "ann"))
            elif what == "cancel" and entry is not None:
                done(shelf, Move(NOW, entry.handle, owner, to=State.CANCELLED))
            elif what in ("admit", "change") and rate and (entry is None) == (what == "admit"):
                window = (start * 10, (start + length) * 10)
                admit(shelf, owner, name, rate, *window, replaces=entry.handle if entry else None)
        except (ShareExceeded, ShareRefused):
            assert _peaks(shelf) == before
        limits = {one.name: one.rate_bps for one in shelf.shares("hep")} | {"hep": GIVEN * MBIT}
        if what in ("admit", "change"):
            for whose, peak in _peaks(shelf).items():
                assert peak <= max(limits.get(whose, peak), before[whose]), whose


def _peaks(shelf: MemoryShelf) -> dict[str, int]:
    """The most at an instant, of each owner and of all."""
    live = [one for one in shelf if one.state in OCCUPYING]
    peaks = {}
    for whose in (*OWNERS, "hep"):
        theirs = [one.counted for one in live if whose in (one.reservation.owner, "hep")]
        steps = tuple(step for one in theirs if one is not None for step in one.steps)
        peaks[whose] = peak_of(steps, [Window(NOW, at(1000))])
    return peaks


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 20), st.integers(1, 9)), max_size=6),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=2),
)
def test_the_busiest_time_is_one_in_which_others_have_the_most(
    others: list[tuple[int, int, int]], windows: list[tuple[int, int]]
) -> None:
    steps = tuple((to_us(at(start)), to_us(at(start + length)), rate) for rate, start, length in others)
    during = [Window(at(start), at(start + length)) for start, length in windows]
    used = busiest(steps, during)
    instants = [T0 + minute * MINUTE for minute in range(40)]
    rates = {one: rate_at(steps, one) for one in instants if any(window.contains(one) for window in during)}
    assert used.rate_bps == max(rates.values())
    assert (used.when is None) == (used.rate_bps == 0)
    if used.when is not None:
        assert _first(rates, used.rate_bps) == used.when.start
        assert all(rates[one] == used.rate_bps for one in rates if used.when.start <= one < used.when.end)


def _first(rates: dict[datetime, int], rate: int) -> datetime:
    return min(instant for instant, one in rates.items() if one == rate)
