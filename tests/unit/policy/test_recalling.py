"""Who asked is the same to policies later: what an issuer said of it nobody can look up again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotcar.policy.caller import Caller, Memberships, Role
from slotcar.policy.recalling import kept_of, recalled
from slotcar.policy.site import Community, Site

SITE = Site(
    groups={"duty": frozenset()}, programs=frozenset({"mover"}), communities={"hep": Community(frozenset({"cms"}))}
)
OF_ISSUER = Memberships(frozenset({"night"}), community="hep", is_program=True, of_issuer=True)


@pytest.mark.parametrize("member_of", [OF_ISSUER, replace(OF_ISSUER, is_program=False), Memberships(of_issuer=True)])
def test_what_an_issuer_said_of_a_caller_is_kept(member_of: Memberships) -> None:
    """A `forbid` about programs was not heard of one whose request was asked about again, as over domains all are."""
    caller = replace(SITE.caller("x@home", Role.REQUESTER, "x@home"), member_of=member_of)
    again = recalled(caller.name, "x@home", kept_of(caller, "x@home"), SITE)
    assert again.member_of == replace(member_of, of_issuer=False)


@pytest.mark.parametrize("name", ["ann", "mover"])
def test_what_the_site_says_is_asked_of_the_site(name: str) -> None:
    caller: Caller = SITE.caller(name, Role.REQUESTER, "cms")
    assert kept_of(caller, "cms") is None
    assert recalled(name, "cms", None, SITE).member_of == caller.member_of
