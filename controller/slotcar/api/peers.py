"""The door for neighbours' controllers: TLS with certificates of both sides, and one verb (ADR 79)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import structlog
import uvicorn
from fastapi import APIRouter, FastAPI

from slotcar.api import problems
from slotcar.api.context import Context, caller
from slotcar.api.limits import LimitBody
from slotcar.api.tls import with_tls
from slotcar.api.verbs import serves
from slotcar.book.rules.roles import Caller, Role
from slotcar.domains.carrying import serving_context
from slotcar_client.wire import documents
from slotcar_client.wire.verbs.peers import PeerSay

log = structlog.get_logger("slotcar.domains")
#: A neighbour may do nothing but say what it has signed.
NEIGHBOUR = Caller(name="neighbour", role=Role.REQUESTER)
LARGEST_BODY_BYTES = 600_000
#: How often what time brings is looked for.
TICK_S = 1.0
router = APIRouter(prefix="/v1", tags=["domains"])


@serves(router, PeerSay)
def peer_say(verb: PeerSay, context: Context, _caller: Caller) -> documents.PeerAnswers:
    assert context.desk.agreement is not None
    return {"answers": context.desk.agreement.hear(verb.message)}


def peer_app(context: Context) -> FastAPI:
    """What neighbours reach: nothing but their verb."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.context = context
    app.include_router(router)
    app.dependency_overrides[caller] = lambda: NEIGHBOUR
    app.add_middleware(LimitBody, max_body_bytes=LARGEST_BODY_BYTES)
    problems.install(app)
    return app


@contextmanager
def listening_to_neighbours(context: Context, sockets: list[socket.socket]) -> Iterator[None]:
    """Neighbours are answered, and what time brings is done, as long as the `with` lasts.

    Raises:
        KeyUnusable.
    """
    agreement = context.desk.agreement
    assert agreement is not None
    config = uvicorn.Config(
        peer_app(context), log_config=None, access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=3,
    )  # fmt: skip
    tls = serving_context(agreement.key, agreement.neighbours.values())
    server, ending = _Quiet(with_tls(config, tls)), threading.Event()
    ticks: list[Callable[[], None]] = [agreement.tick, *([context.nsi.tick] if context.nsi else [])]
    threads = [threading.Thread(target=_tick, args=(ticks, ending), name="slotcar-domains", daemon=True)]
    if sockets:
        threads.append(threading.Thread(target=server.run, args=(sockets,), name="slotcar-neighbours", daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ending.set()
        server.should_exit = True
        for thread in threads:
            thread.join(5)
        if context.nsi:
            context.nsi.close()
        agreement.close()


class _Quiet(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _tick(ticks: Sequence[Callable[[], None]], ending: threading.Event) -> None:
    while not ending.wait(TICK_S):
        for tick in ticks:
            try:
                tick()
            except Exception as error:
                log.warning("what is between domains waits", because=str(error))
