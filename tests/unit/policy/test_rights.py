"""The table of rights of docs/security.md is what the policies that ship say, verb by verb; that the API keeps to it is
held by tests/integration/api/test_access.py."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from slotcar.api.app import openapi_document
from slotcar.policy.asking import verdict_on
from slotcar.policy.caller import Caller, Role

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Who may do what")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| ([A-Z]+) (/v1\S*) \| (\S+) \| (.+) \| (.+) \| (.+) \| (.+) \|$", TABLE, re.MULTILINE)
VERBS = {
    (method.upper(), path): operation["operationId"]
    for path, operations in openapi_document()["paths"].items()
    for method, operation in operations.items()
}
#: In the order of the table's columns, all of the owner hep.
CALLERS = [Caller(role.value, role, "hep") for role in (Role.REQUESTER, Role.AUDITOR, Role.OPERATOR)]


def is_permitted(caller: Caller, verb: str, whose: str) -> bool:
    """A verb that no owner's reservations are the resource of is about the controller."""
    verdict = verdict_on(caller, verb, "astro" if whose == "other's" else "hep")
    if any("is not a valid resource" in error or "not valid for" in error for error in verdict.errors):
        verdict = verdict_on(caller, verb)
    assert not verdict.errors, verdict.errors
    return verdict.allowed


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]} {row[2]}")
def test_the_table_says_what_the_policies_say(row: tuple[str, ...]) -> None:
    method, path, whose, nobody, *cells = row
    assert nobody == "401", "who is not known is not asked about"
    verb = VERBS[method, path]
    for caller, cell in zip(CALLERS, cells, strict=True):
        assert is_permitted(caller, verb, whose) is cell.startswith("yes"), (verb, caller.role)


def test_the_table_is_made_of_the_policies() -> None:
    module = runpy.run_path(str(ROOT / "tools" / "rights_table.py"))
    assert module["with_table"](PAGE) == PAGE, "docs/security.md is old; run: make generate"


def test_every_verb_is_in_the_table() -> None:
    listed = {VERBS[method, path] for method, path, *_ in ROWS}
    assert listed == {verb for (_, path), verb in VERBS.items() if path.startswith("/v1")}
    assert len(listed) > 45
