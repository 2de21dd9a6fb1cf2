"""What an issuer's claims say of a caller."""

from __future__ import annotations

import pytest

from slotcar.auth.claims import NobodyHere, caller_of, groups_of
from slotcar.policy.caller import Caller, Role
from slotcar.policy.issuers import ClaimsMapping, Issuer
from slotcar.policy.site import Community, Site

MAPPING = ClaimsMapping(
    role=None,
    roles={Role.REQUESTER: frozenset({"/cms"}), Role.OPERATOR: frozenset({"urn:x:group:noc:role=lead"})},
    owners={"hep": frozenset({"/cms"}), "noc": frozenset({"urn:x:group:noc"})},
    groups={"duty": frozenset({"/noc/duty"})},
    communities={"physics": frozenset({"/cms"})},
    programs=frozenset({"robot"}),
)
SITE = Site(groups={"old": frozenset({"ann@home"})})


def known(site: Site = SITE, **claims: object) -> Caller:
    return caller_of({"sub": "ann"} | claims, Issuer("home", "https://issuer", "me", claims=MAPPING), site, None)


def test_groups_of_wlcg_give_role_owner_group_and_community() -> None:
    caller = known(**{"wlcg.groups": ["/cms", "/noc/duty", "/else"]})
    assert (caller.name, caller.role, caller.owner) == ("ann@home", Role.REQUESTER, "hep")
    assert caller.member_of.groups == {"duty", "old"}
    assert caller.member_of.community == "physics"
    assert not caller.member_of.is_program
    assert caller.proof == "subject ann of https://issuer"


def test_entitlements_are_groups_whoever_says_so_and_a_role_is_membership() -> None:
    caller = known(eduperson_entitlement=["urn:x:group:noc:role=lead#aai.example.net"])
    assert (caller.role, caller.owner) == (Role.OPERATOR, "noc")
    groups = groups_of({"eduperson_entitlement": "urn:x:group:a%20b:sub#one"}, MAPPING)
    assert groups == {"urn:x:group:a%20b:sub#one", "urn:x:group:a b:sub"}, "no parent is a member of what is below it"


def test_the_greatest_role_counts() -> None:
    assert (
        known(**{"wlcg.groups": ["/cms"]}, eduperson_entitlement=["urn:x:group:noc:role=lead"]).role is Role.OPERATOR
    )


def test_the_sites_own_community_of_an_owner_comes_first() -> None:
    site = Site(communities={"own": Community(frozenset({"hep"}))})
    assert known(site, **{"wlcg.groups": ["/cms"]}).member_of.community == "own"


@pytest.mark.parametrize("claims", [{}, {"wlcg.groups": ["/atlas"]}, {"wlcg.groups": 7}, {"wlcg.groups": "/cms/"}])
def test_who_is_in_no_group_has_nothing_to_do_here(claims: dict[str, object]) -> None:
    with pytest.raises(NobodyHere, match=r"ann@home has no role here"):
        known(**claims)


@pytest.mark.parametrize("subject", ["", None, 7, ["ann"]])
def test_a_token_without_a_subject_names_nobody(subject: object) -> None:
    with pytest.raises(NobodyHere):
        known(sub=subject, **{"wlcg.groups": ["/cms"]})


@pytest.mark.parametrize("subject", ["auth0|17", "x" * 65, "ann@home", "ann home", "Ånn"])
def test_a_subject_that_is_no_name_is_known_by_its_digest(subject: str) -> None:
    first, second = (known(sub=one, **{"wlcg.groups": ["/cms"]}).name for one in (subject, subject + "x"))
    assert first != second
    assert first.startswith("sub-")
    assert first.endswith("@home")


def test_a_token_of_the_client_itself_is_a_programs() -> None:
    assert known(client_id="ann", **{"wlcg.groups": ["/cms"]}).member_of.is_program
    assert known(azp="ann", **{"wlcg.groups": ["/cms"]}).member_of.is_program
    assert known(sub="robot", **{"wlcg.groups": ["/cms"]}).member_of.is_program


def test_a_claim_may_stand_within_another() -> None:
    mapping = ClaimsMapping(group_claims=("realm_access.roles",))
    assert groups_of({"realm_access": {"roles": ["a"]}}, mapping) == {"a"}
    assert groups_of({"realm_access": "a"}, mapping) == frozenset()
