"""`/healthz`, `/readyz` and `/metrics`, outside the versioned API and open to whoever can reach it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from controller.api.context import TheBroker
from controller.api.metrics import registry_of
from controller.api.models import HealthOut
from controller.ledger.database import SchemaState
from controller.ledger.errors import LedgerUnavailable

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=HealthOut, summary="Whether the process lives")
async def healthz() -> dict[str, Any]:
    """Always `ok`: that it answers is the answer. It asks nothing else, so a lost database restarts no controller;
    and it waits for no thread, so requests that fill the pool of threads do not either."""
    return {"status": "ok", "checks": []}


@router.get(
    "/readyz", response_model=HealthOut, summary="Whether it can do its work", responses={503: {"model": HealthOut}}
)
def readyz(found: TheBroker, response: Response) -> dict[str, Any]:
    """The ledger answers and has this version's tables; devices in trouble are named, and make nothing unready."""
    checks = []
    try:
        state = found.broker.ledger.schema_state()
        checks.append({"name": "ledger", "ok": state is SchemaState.CURRENT, "message": f"schema is {state.value}"})
    except LedgerUnavailable as error:
        checks.append({"name": "ledger", "ok": False, "message": str(error)})
    if found.loop is not None:
        words = "leads" if found.loop.leading else found.loop.error or "another controller leads"
        if found.loop.leading:
            words += (
                ", and the devices have what is wanted" if found.loop.settled else ", and is at work on the devices"
            )
        checks.append({"name": "reconcile", "ok": True, "message": words})
        checks += [
            {"name": f"device {name}", "ok": True, "message": f"in trouble: {message}"}
            for name, message in sorted(found.loop.troubles.items())
        ]
    ready = all(check["ok"] for check in checks)
    response.status_code = 200 if ready else 503
    return {"status": "ok" if ready else "failing", "checks": checks}


@router.get("/metrics", summary="Prometheus metrics", response_class=Response,
            responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})  # fmt: skip
def metrics(found: TheBroker) -> Response:
    """Reservations by state, events, pushes, devices in trouble, the next boundary; in Prometheus' text form."""
    return Response(generate_latest(registry_of(found)), media_type=CONTENT_TYPE_LATEST)
