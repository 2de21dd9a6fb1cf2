"""What `policies/` of an inventory says: members, zone, and every error by its line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.problems import InvalidInput
from slotcar.base.timebase import Window
from slotcar.book.rules.reserving import LiveAmount, Whose, peak_bps, steps_of, total_of
from slotcar.book.running_totals import RunningTotals
from slotcar.policy.asking import verdict_on
from slotcar.policy.caller import Role
from slotcar.policy.policies import Policies
from slotcar.policy.reserving import Total, WantedReservation, largest_bps, local_hours, question_of
from slotcar.policy.site import Community, Site, site_of
from slotcar.policy.statements import Source
from slotcar.reservation.model import Reservation
from tests.support.requests import T0, reservation

HOUR = timedelta(hours=1)


def folder_of(tmp_path: Path, members: str = "", **policies: str) -> Path:
    folder = tmp_path / "policies"
    folder.mkdir()
    if members:
        (folder / "site.yml").write_text(members)
    for name, text in policies.items():
        (folder / f"{name}.cedar").write_text(text)
    return tmp_path


def test_an_inventory_without_the_folder_has_what_ships(tmp_path: Path) -> None:
    assert site_of(tmp_path) == site_of(None) == Site()


def test_members_are_of_tokens_and_of_owners(tmp_path: Path) -> None:
    text = """
timezone: Europe/Zurich
groups: {duty: [ann, bob]}
programs: [pump]
communities: {hep: {owners: [cms, atlas]}}
domains: {anl: [anl, cms]}
"""
    approving = '@id("duty") permit (principal in Group::"duty", action == Action::"approve", resource);'
    site = site_of(folder_of(tmp_path, text, duty=approving))
    ann, pump = site.caller("ann", Role.REQUESTER, "cms"), site.caller("pump", Role.REQUESTER, "pump")
    assert (ann.member_of.community, ann.member_of.domain, ann.member_of.groups) == ("hep", "anl", frozenset({"duty"}))
    assert (pump.member_of.community, pump.member_of.is_program, ann.member_of.is_program) == (None, True, False)
    assert verdict_on(ann, "approve").allowed
    assert not verdict_on(pump, "approve").allowed
    assert site.zone == ZoneInfo("Europe/Zurich")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("groups: {a: [b]}\nteams: {}", 2, "is not known"),
        ("timezone: Mars/Olympus", 1, "is no zone"),
        ("groups:\n  duty: ann", 2, "is no list of names"),
        ("groups:\n  duty: [ann, '']", 2, "is no name"),
        ("communities:\n  hep: [cms]", 2, "has `owners`"),
        ("communities:\n  hep:\n    owners: [cms]\n    keys: ../x", 4, "is no name of a file beside this one"),
        ("communities:\n  hep:\n    owners: [cms]\n    server: https://x.example/ask", 4, "has no `keys`"),
        ("communities:\n  hep:\n    owners: [cms]\n    server: http://x.example/ask", 4, "is no address of https"),
        ("communities:\n  hep:\n    owners: [cms]\n    server: 7", 4, "is no address of https"),
        ("domains:\n  a: [x]\n  b: [x]", 3, "who is in a already"),
        ("- a", 1, "is no mapping"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        site_of(folder_of(tmp_path, text))
    assert (error.value.problems[0].line, words in str(error.value)) == (line, True), str(error.value)


PUBLIC = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "is no JSON"),
        ("[" * 5_000, "is no JSON"),
        ("[]", "is no set of keys"),
        (json.dumps({"keys": ["key"]}), "is no set of keys"),
        (json.dumps({"keys": [{"kty": "RSA", "n": "AQ", "e": "AQAB"}]}), "has no key of Ed25519"),
        (json.dumps({"keys": [{**PUBLIC, "x": "short"}]}), "is not 32 bytes"),
        (json.dumps({"keys": [PUBLIC, {**PUBLIC, "d": PUBLIC["x"]}]}), "has a private key"),
        (json.dumps({"keys": [PUBLIC]}), ""),
    ],
)
def test_keys_of_a_communitys_server_are_looked_at_when_they_are_read(
    tmp_path: Path, written: str, words: str
) -> None:
    folder = folder_of(tmp_path, "communities:\n  hep:\n    owners: [cms]\n    keys: hep.jwks")
    (folder / "policies" / "hep.jwks").write_text(written)
    if not words:
        assert site_of(folder).communities["hep"].keys == written
        return
    with pytest.raises(InvalidInput, match=rf"hep\.jwks.*{words}"):
        site_of(folder)


def test_members_and_policies_are_complained_of_together(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        site_of(folder_of(tmp_path, "programs: 5", a="permit;", b="forbid;"))
    assert [Path(one.file).name for one in error.value.problems] == ["a.cedar", "b.cedar", "site.yml"]


def test_hours_and_weekdays_are_the_sites(tmp_path: Path) -> None:
    zurich = ZoneInfo("Europe/Zurich")
    sunday = datetime(2027, 3, 28, 0, 30, tzinfo=UTC)  # clocks go from 2 h to 3 h there
    assert local_hours([Window(sunday, sunday + HOUR)], zurich) == ([1, 3], [7])
    assert local_hours([Window(sunday - 2 * HOUR, sunday)], zurich) == ([0, 1, 23], [6, 7])
    assert local_hours([Window(sunday, sunday + timedelta(days=400))], zurich) == (list(range(24)), list(range(1, 8)))


rates = st.tuples(st.integers(0, 20), st.integers(1, 8), st.integers(1, 9))


def rates_of(*forms: Reservation, owner: str = "x") -> LiveAmount:
    volume_bits = max(form.peak_rate_bps for form in forms) * 10**11
    return LiveAmount(owner, None, forms[0].slots[-1].end_us, volume_bits, steps_of([form.slots for form in forms]))


@given(st.lists(rates, max_size=8), st.integers(0, 20))
def test_a_peak_is_the_highest_sum_at_an_instant(others: list[tuple[int, int, int]], start: int) -> None:
    live = [rates_of(reservation("x", rate, at, at + length)) for at, length, rate in others]
    own = reservation("own", 1, start, start + 5)
    at_minutes = [sum(rate for at, length, rate in others if at <= minute < at + length) for minute in range(40)]
    assert peak_bps(live, own.slots) == max(at_minutes[start : start + 5])


@given(st.lists(st.tuples(st.integers(0, 5), st.one_of(st.none(), rates), st.sampled_from("xyz"))), rates)
def test_rates_that_are_kept_have_the_same_peak(
    changes: list[tuple[int, tuple[int, int, int] | None, str]], mine_at: tuple[int, int, int]
) -> None:
    site = Site(communities={"xy": Community(frozenset("xy"))})
    kept, by_number = RunningTotals(site, (), T0), dict[int, LiveAmount]()
    for number, form, owner in changes:
        by_number.pop(number, None)
        one = None
        if form is not None:
            at, length, rate = form
            one = by_number[number] = rates_of(reservation("a", rate, at, at + length), owner=owner)
        kept.put(number, one)
    at, length, rate = mine_at
    own = reservation("own", rate, at, at + length)
    wanted = [Whose("owner", "x"), Whose("owner", "z"), Whose("community", "xy"), Whose("owner", "nobody")]
    mine, now = rates_of(own), T0 + timedelta(minutes=3)
    live = [mine, *(one for number, one in by_number.items() if number != 3)]
    together = {one: total_of([each for each in live if one in each.whose(site)], own.slots, now) for one in wanted}
    assert kept.totals_with(3, mine, wanted, own.slots, now) == together
    for one in wanted:
        theirs = [each for each in by_number.values() if one in each.whose(site)]
        assert kept.total(one, own.slots, now) == total_of(theirs, own.slots, now), "as it was before"


def test_what_is_over_is_forgotten() -> None:
    kept = RunningTotals(
        Site(), [(1, rates_of(reservation("a", 5, 0, 10))), (2, rates_of(reservation("b", 7, 0, 30)))], T0
    )
    kept.forget(T0 + timedelta(minutes=15))
    kept.put(1, None)
    kept.put(2, None)
    assert kept.total(Whose("owner", "x"), reservation("own", 1, 0, 60).slots, T0 + timedelta(minutes=15)) == Total()


def test_a_change_that_waits_counts_where_it_is_greater() -> None:
    both = [rates_of(reservation("x", 5, 0, 10), reservation("x", 8, 5, 15))]
    assert peak_bps(both, reservation("own", 1, 0, 5).slots) == 5
    assert peak_bps(both, reservation("own", 1, 4, 6).slots) == 8
    assert peak_bps(both, reservation("own", 1, 15, 16).slots) == 0


@given(st.integers(1, 2**40), st.integers(0, 2**40))
def test_the_largest_rate_is_what_the_policies_allow(wanted_bps: int, limit_bps: int) -> None:
    text = f"""@id("limit") permit (principal, action == Action::"reserve", resource)
    when {{ context.rate_bps <= {limit_bps} && context.totals.owner.peak_bps <= {limit_bps + 7} }};"""
    site = Site(Policies([Source("reserving.cedar", text)]))
    who = site.caller("cms", Role.REQUESTER, "cms")
    wanted = WantedReservation(
        "cms", "run", (), wanted_bps, 3600 * wanted_bps, (Window(T0, T0 + HOUR),), {}, is_change=False, is_hold=False,
        totals={"owner": Total(2, wanted_bps + 10, 0)},
    )  # fmt: skip
    most = max(limit_bps - 3, 0)
    if not site.policies.decide(question_of(who, wanted, site, T0)).allowed:
        assert largest_bps(site.policies, who, wanted, site, T0) == most
    else:
        assert wanted_bps <= most


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ('principal in Group::"dutty"', 'nobody is in Group::"dutty"; site.yml and issuers.yml have duty'),
        ('principal in Role::"requster"', 'nobody is in Role::"requster"; known are auditor, operator, requester'),
        (
            'resource.owner in Community::"hpe"',
            'nobody is in Community::"hpe"; site.yml and issuers.yml have hep, lhc',
        ),
    ],
)
def test_a_forbid_that_would_hold_for_nobody_is_an_error(tmp_path: Path, condition: str, words: str) -> None:
    members = "groups: {duty: [ann]}\ncommunities: {hep: {owners: [cms]}}\n"
    inventory = folder_of(
        tmp_path,
        members,
        own=f'@id("a") forbid (principal, action in Action::"see", resource)\nwhen {{ {condition} }};',
    )
    (inventory / "policies" / "issuers.yml").write_text(
        "issuers: [{name: home, issuer: 'https://a.example', audience: b, role: requester, communities: {lhc: [/lhc]}}]\n"
    )
    with pytest.raises(InvalidInput) as error:
        site_of(inventory)
    assert [(one.line, str(one).partition(": a: ")[2]) for one in error.value.problems] == [(2, words)]


def test_a_community_of_an_issuer_that_is_nearly_one_of_the_sites_is_an_error(tmp_path: Path) -> None:
    inventory = folder_of(tmp_path, "communities: {hep: {owners: [cms]}}\n")
    issuer = "issuers:\n- name: home\n  issuer: https://a.example\n  audience: b\n  role: requester\n  communities:\n"
    file = inventory / "policies" / "issuers.yml"
    file.write_text(f"{issuer}    hep: [/cms]\n    optics: [/optics]\n")
    assert site_of(inventory).issuers
    file.write_text(f"{issuer}    hpe: [/cms]\n    optics: [/optics]\n")
    with pytest.raises(InvalidInput) as error:
        site_of(inventory)
    assert [str(one).partition("issuers.yml:")[2] for one in error.value.problems] == [
        "7: communities: is no community of site.yml, and no policy speaks of it (got hpe); perhaps hep is meant"
    ]


def test_a_file_that_is_nearly_called_as_one_that_is_read_is_an_error(tmp_path: Path) -> None:
    folder = folder_of(tmp_path) / "policies"
    for name in ("cases.yml", "hep.jwks", "README.md", "home-ca.pem"):
        (folder / name).touch()
    assert site_of(tmp_path) == Site()
    for name in ("own.ceder", "site.yaml", "issuer.yml"):
        (folder / name).touch()
    with pytest.raises(InvalidInput) as error:
        site_of(tmp_path)
    meant = [str(one).rpartition("perhaps ")[2] for one in error.value.problems]
    assert meant == ["issuers.yml is meant", "own.cedar is meant", "site.yml is meant"]


def test_an_inventory_that_is_nowhere_has_no_policies_to_ask(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        site_of(tmp_path / "garent")
