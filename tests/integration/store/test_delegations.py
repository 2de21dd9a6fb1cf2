"""GARA's third party (`examples/policies/agents.cedar`) on GARNET: what an agent may do with its owner's reservation, and
that no withdrawal is raced past."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from slotcar.base.located_yaml import load
from slotcar.base.problems import InvalidInput, SlotcarError
from slotcar.book.errors import DelegationRefused, UnknownHandle
from slotcar.book.rules.errors import NotPermitted
from slotcar.desk.delegating import Delegations
from slotcar.desk.desk import Desk
from slotcar.desk.past_policies import PastPolicies
from slotcar.desk.requests import Requests
from slotcar.desk.reservations import cancel
from slotcar.planning.modification import Modification
from slotcar.policy.caller import Caller, Role
from slotcar.policy.cases import cases_of, outcome_of
from slotcar.policy.site import Site
from slotcar.policy.verdict import NotAllowed
from slotcar.store.queries import EventFilter
from slotcar_client.wire import verbs
from tests.integration.api.conftest import ROOT
from tests.integration.store.test_policies import (
    HOUR,
    MBPS,
    NIGHT,
    ask,
    desk,
    inventory,
    key,
    network,
    sign,
    site,
)

__all__ = ["desk", "inventory", "key", "network", "sign", "site"]
MINUTE = timedelta(minutes=1)
ROUNDS = 10


@pytest.fixture
def cms(site: Site) -> Caller:
    return site.caller("cms-transfer", Role.REQUESTER, "cms")


@pytest.fixture
def agent(site: Site) -> Caller:
    return site.caller("rate-agent", Role.REQUESTER)


@pytest.fixture
def handle(desk: Desk, cms: Caller, sign: Callable[..., Any]) -> str:
    return ask(desk, cms, "run-1", 10, NIGHT + HOUR, NIGHT, labels=sign("cms", "run-1")).handle


def rate(mbps: int) -> Modification:
    return Modification(rate_bps=mbps * MBPS)


def test_the_examples_cases_are_as_the_policies_say(inventory: Path, site: Site) -> None:
    file = ROOT / "examples" / "policies" / "cases.yml"
    outcomes = [outcome_of(case, site) for case in cases_of(load(file.read_text(), str(file)))]
    assert [one for one in outcomes if not one.is_as_expected] == []
    assert (
        outcomes[4].reason
        == "rate-agent is an agent: let a person of cms cancel it (the policy agents-cancel-nothing)"
    )
    with pytest.raises(InvalidInput, match="is of a delegation, and needs `delegated_by`, `may`"):
        cases_of(
            load("- {who: a, role: requester, verb: bind, of: hep, delegated_by: b, expect: permit}", "cases.yml")
        )


def test_an_agent_changes_the_rate_for_the_application(desk: Desk, cms: Caller, agent: Caller, handle: str) -> None:
    which = Delegations(desk)
    with pytest.raises(UnknownHandle):
        Requests(desk).modify(handle, rate(5), agent, NIGHT)
    which.give(handle, "rate-agent", ["modify", "cancel"], NIGHT + HOUR, cms, NIGHT)
    assert Requests(desk).modify(handle, rate(5), agent, NIGHT).reservation.peak_rate_bps == 5 * MBPS
    with pytest.raises(NotPermitted, match="cms-transfer may not reserve cms/run-1"):  # as much as its owner may have
        Requests(desk).modify(handle, rate(30), agent, NIGHT)
    with pytest.raises(NotAllowed, match=r"rate-agent was handed modify, cancel of .*, and not bind: ask cms"):
        Requests(desk).bind(handle, agent, NIGHT, source_port=7)
    with pytest.raises(NotAllowed, match="let a person of cms cancel it"):
        cancel(verbs.Cancel(handle), desk, agent, NIGHT)
    with pytest.raises(UnknownHandle):
        Requests(desk).modify(handle, rate(6), agent, NIGHT + HOUR)  # half-open
    assert desk.ledger.usage("cms", NIGHT).reservations == 1
    assert desk.ledger.usage("rate-agent", NIGHT).reservations == 0
    (changed,) = desk.ledger.events_of(EventFilter(("reservation.modified",), handle=handle))
    assert (changed.details["actor"], changed.details["delegated_by"]) == ("rate-agent", "cms-transfer")
    why = PastPolicies(desk).why(handle, cms, NIGHT)
    assert (why.request.actor, (why.request.kept or {})["as"]) == ("rate-agent", "cms-transfer")
    assert not why.request.permitted, "the last was for 30 Mbit/s"
    with pytest.raises(UnknownHandle):
        PastPolicies(desk).why(handle, agent, NIGHT)


def test_what_is_wrong_is_refused_in_words(desk: Desk, cms: Caller, agent: Caller, handle: str) -> None:
    which = Delegations(desk)
    with pytest.raises(InvalidInput) as wrong:
        which.give(handle, "a b", ["modify", "approve"], NIGHT, cms, NIGHT)
    assert {(one.key, one.message) for one in wrong.value.problems} == {
        ("to", "is no caller's name"),
        ("may", "cannot be handed on"),
        ("until", "is past"),
    }
    for to in ("cms-transfer", "cms"):
        with pytest.raises(DelegationRefused, match=f"{to} has its own rights on cms/run-1"):
            which.give(handle, to, ["modify"], NIGHT + HOUR, cms, NIGHT)
    with pytest.raises(DelegationRefused, match="cms/run-1 ends 2027-03-02T07:00:00Z"):
        which.give(handle, "rate-agent", ["modify"], NIGHT + 3 * HOUR, cms, NIGHT)
    with pytest.raises(UnknownHandle):
        which.give(handle, "eve", ["modify"], NIGHT + HOUR, agent, NIGHT)
    which.give(handle, "rate-agent", ["modify"], NIGHT + HOUR, cms, NIGHT)
    with pytest.raises(NotAllowed, match="hands nothing on"):
        which.give(handle, "eve", ["modify"], NIGHT + HOUR, agent, NIGHT)
    which.withdraw(handle, "rate-agent", cms, NIGHT)
    with pytest.raises(DelegationRefused, match=r"nothing of cms/run-1 is delegated to rate-agent"):
        which.withdraw(handle, "rate-agent", cms, NIGHT)


def test_no_use_comes_after_a_withdrawal_at_the_same_time(desk: Desk, cms: Caller, agent: Caller, handle: str) -> None:
    which, barrier = Delegations(desk), Barrier(3)

    def use(port: int) -> bool:
        barrier.wait()
        try:
            Requests(desk).bind(handle, agent, NIGHT, source_port=port)
        except SlotcarError:
            return False
        return True

    def withdraw() -> None:
        barrier.wait()
        which.withdraw(handle, "rate-agent", cms, NIGHT)

    with ThreadPoolExecutor(3) as pool:
        for port in range(5000, 5000 + 2 * ROUNDS, 2):
            which.give(handle, "rate-agent", ["bind"], NIGHT + HOUR, cms, NIGHT)
            both = [pool.submit(use, port), pool.submit(use, port + 1)]
            pool.submit(withdraw).result()
            for one in both:
                one.result()
    in_hand = False
    for event in desk.ledger.events(limit=1000, handle=handle):
        if event.kind.startswith("delegation."):
            in_hand = event.kind == "delegation.given"
        elif event.kind == "reservation.bound":
            assert in_hand, "the agent did what had been withdrawn"
