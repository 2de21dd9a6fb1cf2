"""`slotcar serve`: the API and the reconcile loop in one process."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import structlog
import uvicorn

from controller.api.app import create_app
from controller.api.context import Context
from controller.api.streaming import Streams
from controller.ledger import Ledger, open_ledger
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
    """The API would do what anybody on other machines says."""


def serve(settings: Settings) -> None:
    """Runs until it is told to stop (SIGTERM, SIGINT).

    Raises:
        OpenToAll: it would listen wider than this machine, and no token exists or none is needed.
        InvalidInput, LedgerUnavailable: before anything is served.
    """
    _configure_logs()
    tokens = TokenStore(settings.tokens_path)
    if settings.open and not settings.loopback:
        raise OpenToAll(
            f"will not listen on {settings.listen_host} with SLOTCAR_OPEN=true, by which whoever asks is an operator:"
            " listen on 127.0.0.1, or make tokens with `slotcar token create` and leave SLOTCAR_OPEN out"
        )
    if not settings.loopback and not tokens.tokens():
        raise OpenToAll(
            f"will not listen on {settings.listen_host} without authentication: make a token with `slotcar token create`"
            " first, or listen on 127.0.0.1"
        )
    if settings.open:
        log.warning("whoever can reach this machine's loopback is an operator", because="SLOTCAR_OPEN=true")
    elif not tokens.tokens():
        log.warning(
            "there is no token yet, so nobody may ask", make_one_with="slotcar token create NAME --role operator"
        )
    network = load_network(settings.need_inventory(), settings.vault_password_file)
    with open_ledger(settings.ledger_url(), settings.state_dir) as ledger:
        _serve(settings, network, ledger, tokens)


def _serve(settings: Settings, network: Network, ledger: Ledger, tokens: TokenStore) -> None:
    stopping = threading.Event()
    loop = loop_for(network, settings, ledger) if settings.reconcile else None
    context = Context(Broker(ledger, network, settings), tokens, loop.status if loop else None)
    app = create_app(context)
    config = uvicorn.Config(
        app, host=settings.listen_host, port=settings.listen_port, log_config=None, access_log=False, server_header=False,
        timeout_graceful_shutdown=3,
    )  # fmt: skip
    server = _Server(config, context.streams)
    threads = _start(loop, ledger, context, stopping, server) if loop else []
    log.info("serving", address=f"http://{settings.listen_host}:{settings.listen_port}", inventory=network.source)
    try:
        server.run()
    finally:
        stopping.set()
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
