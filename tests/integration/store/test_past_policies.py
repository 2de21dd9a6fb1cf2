"""Why a request was permitted or refused, then and now; and what other policies would have said of it."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.settings import Settings
from slotcar.book.errors import UnknownHandle
from slotcar.book.model import Entry
from slotcar.book.rules.errors import NotPermitted
from slotcar.desk.desk import Desk
from slotcar.desk.past_policies import PastPolicies
from slotcar.desk.requests import Options, Requests
from slotcar.desk.reservations import approve, cancel
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.modification import Modification
from slotcar.planning.policy_answers import decision_then
from slotcar.planning.policy_replay import PolicyReplay
from slotcar.policy.caller import Caller, Role
from slotcar.policy.site import Site, site_in, site_of
from slotcar.reservation import from_mapping
from slotcar.store import Ledger
from slotcar.store.queries import EventFilter
from slotcar_client.wire import verbs
from tests.integration.api.conftest import GARNET
from tests.support.requests import T0

MBPS = 1_000_000
LIMIT = """
@id("hep-together")
permit (principal, action == Action::"reserve", resource)
when { context.totals has community && context.totals.community.peak_bps <= MOST };
"""
MEMBERS = "communities: {hep: {owners: [atlas, cms]}}\n"


def policies(folder: Path, most_mbps: int) -> Path:
    folder.mkdir(parents=True)
    (folder / "reserving.cedar").write_text(LIMIT.replace("MOST", str(most_mbps * MBPS)))
    (folder / "site.yml").write_text(MEMBERS)
    return folder


@pytest.fixture(scope="module")
def network() -> Network:
    return load_network(GARNET, None)


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    folder = tmp_path / "garnet"
    shutil.copytree(GARNET, folder)
    policies(folder / "policies", 20)
    return folder


@pytest.fixture
def desk(ledger: Ledger, network: Network, inventory: Path, tmp_path: Path) -> Desk:
    return Desk(ledger, network, Settings(state_dir=tmp_path, inventory=inventory))


@pytest.fixture
def site(inventory: Path) -> Site:
    return site_of(inventory)


def ask(
    desk: Desk, who: Caller, name: str, rate_mbps: int, now: datetime = T0, hold: timedelta | None = None
) -> Entry:
    document = {
        "name": name, "owner": who.owner, "source": "anl-premium", "destination": f"lbnl-premium:{6000 + len(name)}",
        "rate": f"{rate_mbps} Mbit/s", "service": "ip-premium", "protocol": "udp",
        "start": (T0 + timedelta(days=1)).isoformat(), "duration": "1 h",
    }  # fmt: skip
    return Requests(desk).create(from_mapping(document, now), who, now, Options(hold))


def member(site: Site, owner: str) -> Caller:
    return site.caller(f"{owner}-transfer", Role.REQUESTER, owner)


def handles_refused(desk: Desk) -> list[str]:
    return [one.handle or "" for one in desk.ledger.events_of(EventFilter(("policy.refused",)))]


def test_why_names_the_policy_with_the_totals_of_then_and_of_now(desk: Desk, site: Site) -> None:
    cms, ops = member(site, "cms"), site.caller("ops", Role.OPERATOR)
    first = ask(desk, member(site, "atlas"), "a", 8)
    entry = ask(desk, cms, "bb", 10)
    with pytest.raises(NotPermitted):
        ask(desk, cms, "ccc", 5)
    cancel(verbs.Cancel(first.handle), desk, member(site, "atlas"), T0)
    past = PastPolicies(desk)
    why = past.why(entry.handle, ops, T0)
    assert why.request.policy_event is not None
    assert why.request.policy_event.policies == ("hep-together",)
    assert {"requesters-reserve-for-themselves", "hep-together"} <= set(why.then.policies)
    assert (why.then.totals["community"].peak_bps, why.now.totals["community"].peak_bps) == (18 * MBPS, 10 * MBPS)
    (refused,) = handles_refused(desk)
    why = past.why(refused, ops, T0)
    assert (why.request.permitted, why.then.permitted, why.now.permitted) == (False, False, True)
    assert why.then.totals["community"].peak_bps == 23 * MBPS
    assert why.then.largest_bps == 2 * MBPS
    assert "context.totals.community.peak_bps <= 20000000" in why.then.sentence
    with pytest.raises(UnknownHandle):
        past.why(refused, member(site, "atlas"), T0)
    with pytest.raises(UnknownHandle):
        past.why("r-0000000000000000", ops, T0)


def test_a_change_above_the_gate_is_asked_about_once(
    ledger: Ledger, network: Network, inventory: Path, site: Site, tmp_path: Path
) -> None:
    settings = Settings(state_dir=tmp_path, inventory=inventory, approval_rate_bps="12 Mbit/s")
    desk, cms, ops = Desk(ledger, network, settings), member(site, "cms"), site.caller("ops", Role.OPERATOR)
    entry = ask(desk, cms, "run", 10)
    changed = Requests(desk).modify(entry.handle, Modification(rate_bps=15 * MBPS), cms, T0)
    assert changed.proposed is not None
    approve(verbs.Approve(entry.handle, changed.version), desk, ops, T0)
    requests = [one for one, _ in PastPolicies(desk).differences(site, T0, ops)]
    assert [(one.is_change, one.entry.amount.rate_bps) for one in requests] == [(False, 10 * MBPS), (True, 15 * MBPS)]
    assert PastPolicies(desk).why(entry.handle, ops, T0).then.totals["owner"].peak_bps == 15 * MBPS


def test_a_replay_has_the_totals_of_the_ledger_exactly(desk: Desk, site: Site) -> None:
    """Whatever was done, by many at once: what each request's policies saw under the lock is what the replay gives."""

    def work(number: int) -> None:
        who, name = member(site, ("atlas", "cms")[number % 2]), "n" * (number + 1)
        try:
            entry = ask(desk, who, name, 2 + number % 4, T0, timedelta(minutes=5) if number % 3 == 0 else None)
            if number % 5 == 0:
                cancel(verbs.Cancel(entry.handle), desk, who, T0)
            elif number % 4 == 1:
                Requests(desk).modify(entry.handle, Modification(rate_bps=MBPS * (1 + number % 7)), who, T0)
        except NotPermitted:
            return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))
    later = T0 + timedelta(minutes=10)
    desk.ledger.expire(later)
    work_later = [ask(desk, member(site, "cms"), "m" * (30 + number), 1, later) for number in range(2)]
    assert work_later
    past = PastPolicies(desk)
    history = desk.ledger.policy_history(T0)
    replay = PolicyReplay(history.entries, past.routed)
    answers = []
    for request in replay.run(history.events):
        decision = decision_then(desk.ledger.terms, request, replay.live)
        assert request.policy_event is not None
        assert {of: asdict(one) for of, one in decision.totals.items()} == dict(request.policy_event.totals)
        answers.append(decision.permitted == request.permitted)
    assert all(answers)
    assert len(answers) == len(desk.ledger.events_of(EventFilter(("policy.",)), limit=1000)) > 24


def test_a_diff_says_what_another_folder_would_have_decided(desk: Desk, site: Site, tmp_path: Path) -> None:
    ops = site.caller("ops", Role.OPERATOR)
    ask(desk, member(site, "atlas"), "a", 8)
    ask(desk, member(site, "cms"), "bb", 10)
    with pytest.raises(NotPermitted):
        ask(desk, member(site, "cms"), "ccc", 5)
    past = PastPolicies(desk)
    tighter, wider = site_in(policies(tmp_path / "tight", 10)), site_in(policies(tmp_path / "wide", 30))
    differing = [one for _, one in past.differences(tighter, T0, ops) if one]
    assert [(one.request.entry.reservation.name, one.would_be.permitted) for one in differing] == [("bb", False)]
    differing = [one for _, one in past.differences(wider, T0, ops) if one]
    assert [(one.request.entry.reservation.name, one.would_be.permitted) for one in differing] == [("ccc", True)]
    assert not [one for _, one in past.differences(site, T0, ops) if one]
    assert not list(past.differences(wider, T0 + timedelta(days=1), ops))
    nobody = replace(site, policies=site_in(_nobody(tmp_path)).policies)
    differing = [one for _, one in past.differences(nobody, T0, ops) if one]
    assert [one.would_be.answers[0].verdict.allowed for one in differing] == [False, False]
    assert differing[0].would_be.sentence.startswith("atlas-transfer may not create a reservation of owner atlas")


def _nobody(tmp_path: Path) -> Path:
    folder = tmp_path / "nobody"
    folder.mkdir()
    (folder / "roles.cedar").write_text('@id("reads") permit (principal, action in Action::"see", resource);')
    return folder
