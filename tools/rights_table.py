"""Writes the table of rights in docs/security.md: what each role may, as the policies that ship decide it, verb by verb.

Usage: `python tools/rights_table.py docs/security.md`. `make generate` writes it; a test compares it, and another asks the
running API each of its rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from slotcar.api.app import openapi_document
from slotcar.policy.asking import verdict_on
from slotcar.policy.caller import Caller, Role
from slotcar.policy.reading import rights

BEGIN, END = "<!-- made by tools/rights_table.py -->\n", "<!-- until here -->\n"
HEAD = "| route | whose | nobody | requester | auditor | operator |\n|---|---|---|---|---|---|\n"
#: Whose reservations it is about is said in the body.
OWNED_BY_BODY = frozenset({"create", "group_create", "group_create_all", "plan", "apply", "connect"})
#: The other domain's owner is named in what is asked, and nothing is there yet.
OF_A_REQUEST = frozenset({"connect_further"})
ROLES = (Role.REQUESTER, Role.AUDITOR, Role.OPERATOR)
OWN, OTHERS = "hep", "astro"
#: What a requester's `yes` stands for, where that is less than all.
NARROWED: Mapping[str, str] = {
    **dict.fromkeys(("list", "group_list", "connections", "limits", "timeline", "boundaries", "usage"), "its own"),
    **dict.fromkeys(
        ("counted_usage", "unused_reservations", "webhook_list", "webhook_remove", "webhook_test"), "its own"
    ),
    **dict.fromkeys(("webhook_dead_letters", "webhook_redeliver"), "its own"),
    **dict.fromkeys(("events", "event_stream"), "of its own"),
    "share_list": "its owner's, and of communities that it manages",
    "delegations": "its own, and what it was handed",
    "boundary": "its own, no devices' diffs",
    "endpoints": "those it may use",
    "plan": "no devices",
    "explain": "no devices",
    "policy_why": "its own totals",
    "webhook_add": "to hosts that are named",
}
#: What no policy decides: it is there for everybody.
OPEN = ("/healthz", "/metrics", "/docs", "/openapi.json", "/static", "/.well-known/oauth-protected-resource")
READINESS = "| GET /readyz | - | yes, which check fails | yes, which check fails | yes, and why | yes, and why |\n"


def rows() -> Iterator[str]:
    """Verbs in the order of the API's document, then what is there for everybody."""
    for address, operations in openapi_document()["paths"].items():
        for method, operation in operations.items():
            if address.startswith("/v1"):
                yield from _rows_of(f"{method.upper()} {address}", operation["operationId"])
    for address in OPEN[:1]:
        yield f"| GET {address} | - | yes | yes | yes | yes |\n"
    yield READINESS
    for address in OPEN[1:]:
        yield f"| GET {address} | - | yes | yes | yes | yes |\n"


def _rows_of(route: str, verb: str) -> Iterator[str]:
    is_one = "{handle}" in route or "{connection}" in route
    for whose in ("own", "other's") if is_one or verb in OWNED_BY_BODY else ("-",):
        cells = [_cell(verb, role, whose, is_one=is_one and verb not in OF_A_REQUEST) for role in ROLES]
        yield f"| {route} | {whose} | 401 | {' | '.join(cells)} |\n"


def _cell(verb: str, role: Role, whose: str, *, is_one: bool) -> str:
    caller, owner = Caller(role.value, role, OWN), OTHERS if whose == "other's" else OWN
    is_owners = rights().get(verb, "plan") in ("see", "change", "plan")
    if verdict_on(caller, verb, owner if is_owners else None).allowed:
        note = NARROWED.get(verb) if role is Role.REQUESTER else None
        return f"yes, {note}" if note else "yes"
    # What somebody may not see is as good as absent.
    return "404" if is_one and is_owners and not verdict_on(caller, "see", owner).allowed else "403"


def with_table(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{HEAD}{''.join(rows())}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")
