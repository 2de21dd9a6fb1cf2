"""`slotcar serve`: the API and the reconcile loop in one process."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog
import uvicorn

from controller.api.app import create_app
from controller.api.connections import connection_options, reserve_descriptors
from controller.api.context import Context
from controller.api.streaming import Streams
from controller.ledger import Ledger, open_ledger
from controller.logs import LimitRepeats, RepeatLimit
from controller.network import load_network
from controller.network.model import Network
from controller.notify.dispatching import Dispatcher
from controller.problems import SlotcarError
from controller.rollout.loop import ReconcileLoop
from controller.settings import Settings
from controller.verbs import Broker
from controller.verbs.rolling import loop_for
from controller.verbs.tokens import TokenStore

log = structlog.get_logger("slotcar")
STOP_S = 30.0


class _Server(uvicorn.Server):
    """Tells the event streams to end before it waits for its connections to be over."""

    def __init__(self, config: uvicorn.Config, streams: Streams) -> None:
        super().__init__(config)
        self._streams = streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.closing.set()
        await super().shutdown(sockets)


class OpenToAll(SlotcarError):
    """The API would listen to other machines with nobody to ask for a token."""


def serve(settings: Settings) -> None:
    """Runs until it is told to stop (SIGTERM, SIGINT).

    Raises:
        OpenToAll: it would listen wider than this machine, and no token exists.
        InvalidInput, LedgerUnavailable: before anything is served.
    """
    _configure_logs()
    tokens = TokenStore(settings.tokens_path)
    if not settings.loopback and not tokens.tokens():
        raise OpenToAll(
            f"will not listen on {settings.listen_host} without authentication: make a token with `slotcar token create`"
            " first, or listen on 127.0.0.1"
        )
    network = load_network(settings.need_inventory(), settings.vault_password_file)
    with open_ledger(settings.ledger_url(), settings.state_dir) as ledger:
        _serve(settings, network, ledger, tokens)


def _serve(settings: Settings, network: Network, ledger: Ledger, tokens: TokenStore) -> None:
    stopping = threading.Event()
    loop = loop_for(network, settings, ledger) if settings.reconcile else None
    context = Context(Broker(ledger, network, settings), tokens, loop.status if loop else None)
    app = create_app(context, settings.max_body_bytes)
    config = uvicorn.Config(
        app, host=settings.listen_host, port=settings.listen_port, log_config=None, access_log=False, server_header=False,
        timeout_graceful_shutdown=3, **connection_options(settings, reserve_descriptors(settings.max_connections)),
    )  # fmt: skip
    server = _Server(config, context.streams)
    threads = _start(loop, ledger, context, stopping, server) if loop else []
    log.info("serving", address=f"http://{settings.listen_host}:{settings.listen_port}", inventory=network.source)
    try:
        server.run()
    finally:
        stopping.set()
        context.plans.close()
        for thread in threads:
            thread.join(STOP_S)


def _start(
    loop: ReconcileLoop, ledger: Ledger, context: Context, stopping: threading.Event, server: uvicorn.Server
) -> list[threading.Thread]:
    """The loop, and beside it the delivery of webhooks while the loop leads."""
    status = loop.status
    dispatcher = Dispatcher(ledger, lambda: status.leading, lambda: datetime.now(UTC), counts=context.deliveries)
    threads = [
        threading.Thread(target=_run, args=(run, stopping, server), name=f"slotcar-{name}")
        for name, run in (("loop", loop.run), ("webhooks", dispatcher.run))
    ]
    for thread in threads:
        thread.start()
    return threads


def _run(run: Callable[[threading.Event], None], stopping: threading.Event, server: uvicorn.Server) -> None:
    try:
        run(stopping)
    except Exception:
        # A controller that answers and does not push is worse than one that its supervisor starts again.
        log.exception("a part of the controller failed", part=threading.current_thread().name)
        server.should_exit = True


def _configure_logs() -> None:
    terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.addFilter(LimitRepeats(RepeatLimit(most=20, within=timedelta(minutes=1))))
