"""Reservation files: what applying one would do, and doing it."""

from __future__ import annotations

from collections.abc import Sequence

from slotcar_client.calls.requests import Json, send, send_json
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def plan(
    file: Json, *, set_name: str | None = None, owners: Sequence[str] = (), start: str | None = None,
    lines: int | None = None,
) -> Conversation[documents.Plan]:  # fmt: skip
    """What applying a reservation file (its content, not its name) would do. `start` is `next` of the page before;
    `owners` are those that it speaks for beside the owners in it: what they no longer have in the set is cancelled.
    """
    query = {"set": set_name, "owner": list(owners), "from": start, "lines": lines}
    return (yield from send_json("POST", "/v1/plans", query, file))


def apply(plan: documents.Plan) -> Conversation[documents.Applied]:
    """Exactly the plan, whole or not at all.

    Raises:
        Conflict: it holds a refusal, or the ledger or the inventory has changed since; where its `maybe_done` is true,
            perhaps by this plan.
    """
    return (yield from send(verbs.Apply(plan)))
