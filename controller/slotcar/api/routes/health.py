"""`/healthz`, `/readyz` and `/metrics`, outside the versioned API and open to whoever can reach it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from slotcar.api.answers import model_of
from slotcar.api.context import Context, KnownCaller, TheContext
from slotcar.api.metrics import registry_of
from slotcar.base.private_files import why_no_room
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.rules.roles import may_overview
from slotcar.rollout.status import LoopStatus, devices_words
from slotcar.store.revisions import SchemaState
from slotcar.watching.model import WatchState, WatchStatus, watch_words
from slotcar_client.wire import documents

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=model_of(documents.Health), summary="Whether the process lives")
async def healthz() -> documents.Health:
    """Always `ok`: that it answers is the answer. It asks nothing else, so a lost database restarts no controller;
    and it waits for no thread, so requests that fill the pool of threads do not either."""
    return {"status": "ok", "checks": []}


@router.get(
    "/readyz",
    response_model=model_of(documents.Health),
    summary="Whether it can do its work",
    responses={503: {"model": model_of(documents.Health)}},
)
def readyz(context: TheContext, caller: KnownCaller, response: Response) -> documents.Health:
    """The ledger answers, has this version's tables and takes changes, and there is room on this machine's disks.
    Devices in trouble make nothing unready, nor does a proxy that is not set up as it should be.

    Everybody is told which check fails; why it does, and which devices are in trouble, only who may see devices.
    """
    details = caller is not None and may_overview(caller)
    checks = [_ledger(context, details), _disk(context, details)]
    if context.desk.loop is not None:
        checks += _loop(context.desk.loop, details, context.now())
    if context.desk.watch is not None and context.desk.watch.devices:
        checks += _watch(context.desk.watch, details)
    checks += context.proxies.checks(details)
    ready = all(check["ok"] for check in checks)
    response.status_code = 200 if ready else 503
    return {"status": "ok" if ready else "failing", "checks": checks}


def _ledger(context: Context, details: bool) -> documents.Check:
    try:
        state = context.desk.ledger.schema_state()
        read_only = context.desk.ledger.is_read_only()
    except LedgerUnavailable as error:
        return {"name": "ledger", "ok": False, "message": str(error) if details else "the database does not answer"}
    ok = state is SchemaState.CURRENT and not read_only
    more = "; the database is read-only" if read_only else ""
    return {"name": "ledger", "ok": ok, "message": f"schema is {state.value}{more}"}


def _disk(context: Context, details: bool) -> documents.Check:
    """Of the folders that pushes are written to."""
    for folder in (context.desk.settings.state_dir, Path(tempfile.gettempdir())):
        if why := why_no_room(folder):
            return {"name": "disk", "ok": False, "message": f"{folder}: {why}" if details else "there is no room"}
    return {"name": "disk", "ok": True, "message": "there is room"}


def _loop(loop: LoopStatus, details: bool, now: datetime) -> Iterator[documents.Check]:
    if loop.leading:
        words = f"leads; {devices_words(loop.settled, loop.checked_at, now, len(loop.troubles))}"
    elif loop.error:
        words = loop.error if details else "cannot lead; the controller's log says why"
    else:
        words = "another controller leads"
    yield {"name": "reconcile", "ok": True, "message": words}
    if details:
        for name, message in sorted(loop.troubles.items()):
            yield {"name": f"device {name}", "ok": True, "message": f"in trouble: {message}"}
    elif loop.troubles:
        yield {"name": "devices", "ok": True, "message": f"{len(loop.troubles)} in trouble"}


def _watch(watch: WatchStatus, details: bool) -> Iterator[documents.Check]:
    """A device that cannot tell of changes makes nothing unready: it is read at every check."""
    devices = watch.devices.copy()
    yield {"name": "watch", "ok": True, "message": watch_words([one.state for one in devices.values()])}
    for name, one in sorted(devices.items()) if details else ():
        if one.state is WatchState.BROKEN:
            yield {"name": f"watch {name}", "ok": True, "message": f"{one.how}: {one.message}"}


@router.get("/metrics", summary="Prometheus metrics", response_class=Response,
            responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})  # fmt: skip
def metrics(context: TheContext) -> Response:
    """Reservations by state, events, pushes, devices in trouble, the next boundary; in Prometheus' text form."""
    return Response(generate_latest(registry_of(context)), media_type=CONTENT_TYPE_LATEST)
