"""Declarative: what applying a reservation file would do, and doing exactly that."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query

from controller.api.context import TheBroker, TheCaller, now
from controller.api.limits import json_only
from controller.api.models import AppliedOut, PlanOut
from controller.reservation import load_text
from controller.verbs.documents import entry_document
from controller.verbs.plan_file import plan_document, to_do_from
from controller.verbs.source import source_of

router = APIRouter(prefix="/v1", tags=["plans"])


#: Characters that YAML folds, refuses or takes for halves of others unless they are escaped.
_UNLIKE_JSON = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def _yaml(body: dict[str, Any]) -> str:
    """As YAML, which the reader of reservation files takes, and which is JSON but for a few characters."""
    text = json.dumps(body, ensure_ascii=False)
    return _UNLIKE_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@router.post("/plans", response_model=PlanOut, summary="Plan", dependencies=[Depends(json_only)])
def plan(
    body: Annotated[dict[str, Any], Body()],
    found: TheBroker,
    caller: TheCaller,
    set_name: Annotated[
        str,
        Query(alias="set", min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._+-]+$", description="name of the set"),
    ] = "api",
) -> dict[str, Any]:
    """What applying this reservation file would do: admissions, refusals, each device's diff. Writes nothing.

    A requester gets the outcomes of its own reservations; the devices' diffs are for operators.
    """
    moment = now()
    reservations = load_text(_yaml(body), "request", moment)
    return plan_document(found.broker.plan(source_of(reservations, set_name), caller, moment))


@router.post("/applies", response_model=AppliedOut, summary="Apply a plan", dependencies=[Depends(json_only)])
def apply(body: Annotated[dict[str, Any], Body()], found: TheBroker, caller: TheCaller) -> dict[str, Any]:
    """Exactly the plan, whole or not at all; refused (409) when the ledger or the inventory has changed since."""
    work = to_do_from(json.dumps(body), "request", "say what POST /v1/plans answered")
    done = found.broker.apply(work, caller, now())
    return {
        "created": done.created,
        "changed": done.changed,
        "cancelled": done.cancelled,
        "entries": [entry_document(entry) for entry in done.entries],
    }
