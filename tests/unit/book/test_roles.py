"""What each role may do, in one table."""

from __future__ import annotations

import pytest

from slotcar.book.rules import roles
from slotcar.book.rules.roles import NOBODY, Caller, NotAllowed, Role

OPERATOR, AUDITOR = Caller("ops", Role.OPERATOR, "noc"), Caller("audit", Role.AUDITOR, "noc")
REQUESTER, NOBODYS = Caller("cms", Role.REQUESTER, "hep"), Caller("lost", Role.REQUESTER)


@pytest.mark.parametrize(
    ("caller", "changes", "operates", "sees_all", "only"),
    [
        (OPERATOR, True, True, True, None),
        (AUDITOR, False, False, True, None),
        (REQUESTER, True, False, False, "hep"),
        (NOBODYS, True, False, False, NOBODY),
    ],
)
def test_what_a_role_may(caller: Caller, changes: bool, operates: bool, sees_all: bool, only: str | None) -> None:
    assert roles.may_change(caller) is changes
    assert roles.is_operator(caller) is operates
    assert roles.may_overview(caller) is roles.may_see_all(caller) is roles.may_see(caller, "astro") is sees_all
    assert roles.only_owner(caller) == only


def test_a_requester_reserves_sees_and_asks_for_its_own() -> None:
    assert roles.owner_for(REQUESTER, None) == roles.owner_for(REQUESTER, "hep") == "hep"
    assert roles.may_see(REQUESTER, "hep")
    roles.require_own(REQUESTER, "hep", "the use")
    with pytest.raises(NotAllowed, match="cms reserves for owner hep only, not for astro; leave owner out"):
        roles.owner_for(REQUESTER, "astro")
    with pytest.raises(NotAllowed, match="cms may ask for the use of owner hep only"):
        roles.require_own(REQUESTER, "astro", "the use")
    with pytest.raises(NotAllowed, match="only an operator or an auditor may see devices; cms has the role requester"):
        roles.require_overview(REQUESTER, "see devices")


def test_an_auditor_plans_for_everybody_and_changes_nothing() -> None:
    roles.require_plan(AUDITOR, "hep")
    roles.require_own(AUDITOR, "hep", "the use")
    for refused in (lambda: roles.owner_for(AUDITOR, None), lambda: roles.require_may_change(AUDITOR)):
        with pytest.raises(NotAllowed, match="audit has the role auditor, which only reads; ask an operator"):
            refused()
    with pytest.raises(NotAllowed, match="only an operator may hold a router; audit has the role auditor"):
        roles.require_operator(AUDITOR, "hold a router")


def test_an_operator_reserves_for_whom_it_states() -> None:
    assert (roles.owner_for(OPERATOR, "hep"), roles.owner_for(OPERATOR, None)) == ("hep", "noc")
