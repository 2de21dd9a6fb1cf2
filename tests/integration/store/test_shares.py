"""A community's manager shares out what it was given, without the operator, on GARNET: exact also when many ask at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings
from slotcar.book.errors import ShareRefused, UnknownCommunity
from slotcar.book.rules.errors import NotPermitted, ShareExceeded
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.past_policies import PastPolicies
from slotcar.desk.requests import Requests
from slotcar.desk.sharing import Shares
from slotcar.network.model import Network
from slotcar.planning.modification import Modification
from slotcar.policy.caller import Caller, Role
from slotcar.policy.site import Site
from slotcar.policy.verdict import NotAllowed
from slotcar.store import EntryFilter, Ledger
from slotcar.store.queries import EventFilter
from tests.integration.store.test_policies import HOUR, MANY, MBPS, NIGHT, ask, inventory, key, network, sign

__all__ = ["inventory", "key", "network", "sign"]


@pytest.fixture
def desk(ledger: Ledger, network: Network, inventory: Path, tmp_path: Path) -> Desk:
    """GARA's policies, and what hep has as a number beside them."""
    members = inventory / "policies" / "site.yml"
    members.write_text(
        members.read_text().replace("    managers: [ann]", "    at_most: 20 Mbit/s\n    managers: [ann]")
    )
    return Desk(ledger, network, Settings(state_dir=tmp_path, inventory=inventory))


@pytest.fixture
def site(desk: Desk) -> Site:
    return desk.site


@pytest.fixture
def ann(site: Site) -> Caller:
    return site.caller("ann", Role.REQUESTER, "noc")


@pytest.fixture
def cms(site: Site) -> Caller:
    return site.caller("cms-transfer", Role.REQUESTER, "cms")


def give(desk: Desk, caller: Caller, name: str, mbps: int, *members: str, **more: Any) -> None:
    given = {"until": None, "hours": (), "services": (), **more}
    Shares(desk).give("hep", name, members, mbps * MBPS, caller=caller, now=NIGHT, **given)


def test_a_manager_shares_out_and_members_are_told_what_they_have(
    desk: Desk, site: Site, ann: Caller, cms: Caller, sign: Callable[..., Any]
) -> None:
    shares = Shares(desk)
    give(desk, ann, "cms", 8)
    ask(desk, cms, "now", 5, NIGHT, NIGHT, labels=sign("cms", "now"))
    with pytest.raises(
        ShareExceeded, match=r"the share of cms of hep is 8 Mbit/s, of which 5 Mbit/s are in use from .*Z to"
    ):
        ask(desk, cms, "more", 4, NIGHT, NIGHT, port=5002, labels=sign("cms", "more"))
    (mine,) = shares.listed(cms, NIGHT)
    assert (mine.share.rate_bps, mine.in_use_bps, mine.share.given_by) == (8 * MBPS, 5 * MBPS, "ann")
    (hep,) = shares.communities(cms, NIGHT)
    assert (hep.given.share.rate_bps if hep.given else None, hep.managed) == (20 * MBPS, False)
    atlas = site.caller("atlas-transfer", Role.REQUESTER, "atlas")
    assert shares.listed(atlas, NIGHT) == ()
    assert [one.share.name for one in shares.listed(ann, NIGHT)] == ["cms"]
    assert [one.managed for one in shares.communities(ann, NIGHT)] == [True]
    given_one, refused = (desk.ledger.events_of(EventFilter((kind,)))[0] for kind in ("share.given", "policy.refused"))
    assert (given_one.details["actor"], given_one.details["share"], given_one.details["rate_bps"]) == (
        "ann", "cms", 8 * MBPS,
    )  # fmt: skip
    assert (refused.details["policies"], refused.details["name"]) == (["shares-of-rate"], "more")
    why = PastPolicies(desk).why(refused.handle or "", cms, NIGHT)
    own, hep_s = [one for one in why.now.answers if one.action == "use_share"]
    assert (own.verdict.allowed, hep_s.verdict.allowed) == (False, True)
    assert own.sentence.startswith("the share of cms of hep is 8 Mbit/s, of which 5 Mbit/s are in use from")
    shares.withdraw("hep", "cms", ann, NIGHT)
    with pytest.raises(ShareRefused, match="hep has no share cms"):
        shares.withdraw("hep", "cms", ann, NIGHT)
    ask(desk, cms, "more", 4, NIGHT, NIGHT, port=5002, labels=sign("cms", "more"))


def test_what_is_wrong_is_refused_in_words(desk: Desk, site: Site, ann: Caller, cms: Caller) -> None:
    with pytest.raises(InvalidInput) as wrong:
        give(desk, ann, "x y", 30, "alice", until=NIGHT, hours=(24,), services=("gold",))
    assert {(one.key, one.message, one.hint) for one in wrong.value.problems} == {
        ("name", "is no name", "letters, digits, dots and dashes"),
        ("members", "is no member of hep", "hep has atlas, cms"),
        ("rate", "is more than hep has", "it has 20 Mbit/s"),
        ("until", "is past", "it is 2027-03-02T05:00:00Z"),
        ("hours", "is no hour of a day", "from 0 to 23"),
        ("services", "is no service", "known are ip-premium, assured-rate, best-effort, qbss"),
    }
    with pytest.raises(NotAllowed, match="cms-transfer does not manage this community"):
        give(desk, cms, "cms", 8)
    stranger, operator = site.caller("eve", Role.REQUESTER), site.caller("ops", Role.OPERATOR)
    for community in ("hep", "nothing"):  # whether there is one is not told
        with pytest.raises(NotAllowed, match="eve does not manage this community"):
            Shares(desk).withdraw(community, "cms", stranger, NIGHT)
    with pytest.raises(UnknownCommunity, match="there is no community nothing"):
        Shares(desk).withdraw("nothing", "cms", operator, NIGHT)
    assert Shares(desk).communities(stranger, NIGHT) == ()
    give(desk, operator, "cms", 8)


def test_a_share_is_exact_when_many_ask_at_once(
    desk: Desk, ann: Caller, cms: Caller, sign: Callable[..., Any]
) -> None:
    """The share shrinks meanwhile: nobody is admitted above it after that."""
    give(desk, ann, "cms", 15)

    def answer(number: int) -> str:
        if number == MANY // 2:
            give(desk, ann, "cms", 6)
            return "shared out"
        name = f"run-{number}"
        try:
            ask(desk, cms, name, 2, NIGHT + HOUR, NIGHT, port=6000 + number, labels=sign("cms", name))
        except NotPermitted as error:
            return str(error)
        return "admitted"

    with ThreadPoolExecutor(MANY) as pool:
        answers = list(pool.map(answer, range(MANY)))
    committed = 0
    limit = 0
    for event in desk.ledger.events(limit=1000):
        if event.kind == "share.given":
            limit = event.details["rate_bps"]
        elif event.kind == "reservation.committed":
            committed += 2 * MBPS
            assert committed <= limit
    assert 3 <= answers.count("admitted") <= 7
    others = [one for one in answers if one not in ("admitted", "shared out")]
    assert all("the share of cms of hep is" in one for one in others), others


def test_a_plan_and_a_change_keep_to_the_share(desk: Desk, ann: Caller, cms: Caller, sign: Callable[..., Any]) -> None:
    entry = ask(desk, cms, "run", 8, NIGHT + HOUR, NIGHT, labels=sign("cms", "run"))
    give(desk, ann, "cms", 5)
    for mbps in (6, 4):  # it may shrink, also above the share
        entry = Requests(desk).modify(entry.handle, Modification(rate_bps=mbps * MBPS), cms, NIGHT)
    with pytest.raises(ShareExceeded):
        Requests(desk).modify(entry.handle, Modification(rate_bps=6 * MBPS), cms, NIGHT)
    shelf = desk.ledger.live_copy(NIGHT)
    assert [one.name for one in shelf.shares("hep")] == ["cms"]
    assert [one.handle for one in Entries(desk).list(EntryFilter(owner="cms"), cms)] == [entry.handle]
