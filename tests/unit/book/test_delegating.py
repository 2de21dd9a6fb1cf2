"""Delegations in a ledger in memory: what they allow, when, to whom, and never more than an owner may do itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import capacities
from slotcar.auth.access import acting
from slotcar.base.problems import SlotcarError
from slotcar.book.delegating import Delegate, delegation_to, may_see_entry, shown_delegations
from slotcar.book.errors import DelegationRefused, UnknownHandle
from slotcar.book.handing import Give, Withdraw
from slotcar.book.memory_shelf import MemoryShelf
from slotcar.book.model import AdmissionRequest, Entry, State, Terms
from slotcar.book.operation import Move, Operation, run_together
from slotcar.book.operations import Admit, Rebind
from slotcar.book.rules.policy import Policy
from slotcar.planning.routing import route
from slotcar.policy.caller import Caller, Role
from slotcar.policy.delegating import DELEGABLE, MOST_DELEGATIONS, Delegation
from slotcar.policy.policies import Policies
from slotcar.policy.site import Community, Site
from slotcar.policy.statements import Source
from slotcar.policy.verdict import NotAllowed
from slotcar_client.wire.events import DelegationGiven, DelegationWithdrawn, ReservationBound
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

NETWORK = line_network()
NOW = T0 - timedelta(hours=1)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
VERBS = tuple(one for one in DELEGABLE if one != "see")


def shelf_of(site: Site | None = None) -> tuple[MemoryShelf, Entry]:
    """A ledger with one committed reservation of hep."""
    policy = Policy()
    policy = replace(policy, reserving=replace(policy.reserving, site=site or Site()))
    shelf = MemoryShelf.of(Terms(capacities(NETWORK), NETWORK.sls, policy), NOW)
    routed = route(reservation(name="a", owner="hep"), NETWORK)
    entry = done(shelf, Admit(NOW, AdmissionRequest(routed.reservation, routed.paths, routed.demands, "hep")))
    return shelf, entry


def done(shelf: MemoryShelf, operation: Operation[Entry]) -> Entry:
    """
    Raises:
        SlotcarError: the operation's.
    """
    transaction = shelf.transaction()
    (answer,) = run_together([operation], transaction)
    shelf.keep(transaction)
    if isinstance(answer, SlotcarError):
        raise answer
    assert isinstance(answer, Entry)
    return answer


def handed(to: str = "bob", may: tuple[str, ...] = ("bind",), until: datetime = T0, by: str = "hep") -> Delegation:
    return Delegation(to, may, until, by, NOW)


def give(shelf: MemoryShelf, entry: Entry, one: Delegation, now: datetime = NOW) -> Entry:
    return done(shelf, Give(now, entry.handle, one.given_by, delegation=one))


def use(shelf: MemoryShelf, entry: Entry, who: Caller, verb: str, now: datetime) -> Entry:
    """What somebody does who believes to have a delegation, as one does who looked before it was withdrawn."""
    actor = Delegate.of(who, verb, handed(who.name))
    return done(shelf, Rebind(now, entry.handle, actor, reservation=entry.reservation))


Step = tuple[str, str, tuple[str, ...], int]
NAMES = ("bob", "eve")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("give", "withdraw", "use")),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(VERBS), min_size=1, max_size=3, unique=True).map(tuple),
        st.integers(0, 120),
    ),
    max_size=12,
)


@given(STEPS, st.sampled_from((None, *VERBS)))
def test_a_delegation_permits_what_it_names_within_its_time_and_never_after_its_withdrawal(
    steps: list[Step], forbidden: str | None
) -> None:
    """`forbidden`: what no owner may do, by a policy that the site made after the delegation was given."""
    text = f'@id("no") forbid (principal in Role::"requester", action == Action::"{forbidden}", resource);'
    site = Site(Policies([Source("own.cedar", text)]) if forbidden else Policies())
    shelf, entry = shelf_of(site)
    known: dict[str, Delegation] = {}
    for what, name, may, minutes in steps:
        now, caller = NOW + minutes * MINUTE, site.caller(name, Role.REQUESTER)
        running = name in known and now < known[name].until
        if what == "give":
            one = handed(name, may, now + minutes * MINUTE)
            if now < one.until <= entry.reservation.end:
                give(shelf, entry, one, now)
                known = {key: old for key, old in known.items() if now < old.until} | {name: one}
        elif what == "withdraw":
            if running:
                done(shelf, Withdraw(now, entry.handle, "hep", to=name))
                del known[name]
            else:
                with pytest.raises(DelegationRefused, match=f"nothing of hep/a is delegated to {name}"):
                    done(shelf, Withdraw(now, entry.handle, "hep", to=name))
        else:
            permitted = running and may[0] in known[name].may and may[0] != forbidden
            assert may_see_entry(caller, shelf[entry.handle], site, now) == running
            if permitted:
                assert acting(caller, shelf[entry.handle], may[0], site, now).name == "hep"
                use(shelf, entry, caller, may[0], now)
            else:
                expected = NotAllowed if running else UnknownHandle
                with pytest.raises(expected):
                    acting(caller, shelf[entry.handle], may[0], site, now)
                with pytest.raises(expected):
                    use(shelf, entry, caller, may[0], now)


def test_events_say_who_did_it_by_which_proof_and_on_whose_delegation() -> None:
    shelf, entry = shelf_of()
    transaction = shelf.transaction()
    bob = replace(Site().caller("bob", Role.REQUESTER), proof="token bob")
    given_one, used, withdrawn = run_together(
        [
            Give(NOW, entry.handle, "hep", delegation=handed()),
            Rebind(NOW, entry.handle, Delegate.of(bob, "bind", handed()), reservation=entry.reservation),
            Withdraw(NOW, entry.handle, "hep", to="bob"),
        ],
        transaction,
    )
    assert [one.version for one in (given_one, used, withdrawn)] == [2, 3, 4]
    kinds = [(kind, details) for _, kind, _, _, details in transaction.notes.events]
    assert [kind for kind, _ in kinds] == [DelegationGiven.kind, ReservationBound.kind, DelegationWithdrawn.kind]
    assert kinds[0][1]["to"] == "bob"
    assert (kinds[1][1]["actor"], kinds[1][1]["proof"], kinds[1][1]["delegated_by"]) == ("bob", "token bob", "hep")
    assert "delegated_by" not in kinds[2][1]


def test_one_in_the_same_batch_that_was_withdrawn_before_permits_nothing() -> None:
    shelf, entry = shelf_of()
    give(shelf, entry, handed())
    late = Rebind(NOW, entry.handle, Delegate.of(Site().caller("bob", Role.REQUESTER), "bind", handed()),
                  reservation=entry.reservation)  # fmt: skip
    transaction = shelf.transaction()
    answers = run_together([Withdraw(NOW, entry.handle, "hep", to="bob"), late], transaction)
    assert isinstance(answers[0], Entry)
    assert isinstance(answers[1], UnknownHandle)


def test_what_is_over_is_in_nobodys_hands() -> None:
    shelf, entry = shelf_of()
    give(shelf, entry, handed())
    done(shelf, Move(NOW, entry.handle, "hep", to=State.CANCELLED))
    assert delegation_to(Site().caller("bob", Role.REQUESTER), shelf[entry.handle], NOW) is None
    with pytest.raises(DelegationRefused, match="hep/a is over"):
        give(shelf, entry, handed())
    with pytest.raises(DelegationRefused, match="nothing of hep/a is delegated to bob"):
        done(shelf, Withdraw(NOW, entry.handle, "hep", to="bob"))


def test_a_token_that_was_made_later_under_the_same_name_has_nothing_of_it() -> None:
    shelf, entry = shelf_of()
    give(shelf, entry, handed())
    bob = Site().caller("bob", Role.REQUESTER)
    first, second = (replace(bob, known_since=NOW + later) for later in (timedelta(), timedelta(seconds=1)))
    assert delegation_to(first, shelf[entry.handle], NOW) == handed()
    assert delegation_to(second, shelf[entry.handle], NOW) is None
    assert shown_delegations(shelf[entry.handle], second, NOW) == ()
    late = Rebind(NOW, entry.handle, Delegate.of(second, "bind", handed()), reservation=entry.reservation)
    (answer,) = run_together([late], shelf.transaction())
    assert isinstance(answer, UnknownHandle), "under the lock it is nobody's either"
    done(shelf, Withdraw(NOW, entry.handle, "hep", to="bob"))
    assert shelf[entry.handle].delegations == (), "its owner withdraws it by the name"


def test_it_lasts_no_longer_than_the_reservation_and_there_are_so_many() -> None:
    shelf, entry = shelf_of()
    end = entry.reservation.end
    with pytest.raises(DelegationRefused, match=f"hep/a ends .*{end:%H:%M}"):
        give(shelf, entry, handed(until=end + MINUTE))
    for number in range(MOST_DELEGATIONS):
        give(shelf, entry, handed(f"n{number}", until=end))
    with pytest.raises(DelegationRefused, match=f"to {MOST_DELEGATIONS} already"):
        give(shelf, entry, handed("one-more", until=end))
    give(shelf, entry, handed("n3", ("see",), until=end))  # in the place of its own
    assert len(shelf[entry.handle].delegations) == MOST_DELEGATIONS


@pytest.mark.parametrize("verb", ["delegate", "withdraw"])
def test_a_delegate_hands_nothing_on(verb: str) -> None:
    shelf, entry = shelf_of()
    give(shelf, entry, handed(may=DELEGABLE))
    with pytest.raises(NotAllowed, match="bob acts on a delegation, and hands nothing on: ask hep"):
        acting(Site().caller("bob", Role.REQUESTER), shelf[entry.handle], verb, Site(), NOW)


def test_an_operators_delegation_gives_no_more_than_an_owners_right() -> None:
    """It gave it as an operator; its delegate acts as a requester of the owner, and an auditor only reads."""
    shelf, entry = shelf_of()
    give(shelf, entry, handed(by="ann"))
    acts = acting(Site().caller("bob", Role.REQUESTER), shelf[entry.handle], "bind", Site(), NOW)
    assert (acts.name, acts.role, acts.owner, acts.actor) == ("ann", Role.REQUESTER, "hep", "bob")
    with pytest.raises(NotAllowed, match="only reads"):
        acting(Site().caller("bob", Role.AUDITOR), shelf[entry.handle], "bind", Site(), NOW)


def test_a_site_may_say_to_whom() -> None:
    text = """@id("within-the-community")
    @refusal("{who} is not of the community of {of}")
    forbid (principal, action in [Action::"see", Action::"change"], resource)
    when { context has delegation && !(principal has community && resource.owner in principal.community) };"""
    site = Site(Policies([Source("own.cedar", text)]), communities={"lhc": Community(frozenset({"hep", "cms"}))})
    shelf, entry = shelf_of(site)
    for name in ("cms", "eve"):
        give(shelf, entry, handed(name))
    assert acting(site.caller("cms", Role.REQUESTER), shelf[entry.handle], "bind", site, NOW).name == "hep"
    with pytest.raises(NotAllowed, match="eve is not of the community of hep"):
        acting(site.caller("eve", Role.REQUESTER), shelf[entry.handle], "bind", site, NOW)
    assert not may_see_entry(site.caller("eve", Role.REQUESTER), shelf[entry.handle], site, NOW)
