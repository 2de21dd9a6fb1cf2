"""`slotcar serve`: the API and the reconcile loop in one process."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

import structlog
import uvicorn
from fastapi import FastAPI

from slotcar.api import serving_record
from slotcar.api.connections import BACKLOG, connection_options, reserve_descriptors
from slotcar.api.context import Context
from slotcar.api.listening import CannotListen, bound, bound_for_datagrams, listen
from slotcar.api.local_socket import bound_here
from slotcar.api.peers import listening_to_neighbours
from slotcar.api.streaming import Streams
from slotcar.api.supervising import keep_running
from slotcar.api.tls import tls_of, with_tls
from slotcar.auth.tokens import TokenStore
from slotcar.base.logs import LimitRepeats, OneLine, RepeatLimit, one_line
from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.base.stopping import PROCESS, end_after
from slotcar.base.timebase import SYSTEM, Clocks
from slotcar.book.errors import LedgerUnavailable
from slotcar.desk.agreeing import agreement_for
from slotcar.desk.desk import Desk
from slotcar.desk.nsi import nsi_for
from slotcar.measuring.pscheduler.reader import PSchedulerReader
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.network.reading import read_connections
from slotcar.notify.dispatching import Dispatcher
from slotcar.notify.signing import DerivedSecrets
from slotcar.policy.site import site_of
from slotcar.rollout.archive import Archive
from slotcar.rollout.loop import ReconcileLoop
from slotcar.rollout.playbook import end_all_processes
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger, embedded, open_ledger
from slotcar.watching.watcher import Watcher
from slotcar.wiring import loop_for
from slotcar_client.wire.events import ControllerPartFailed

log = structlog.get_logger("slotcar")
#: What is left to end when all plays have: the lead is released, connections are closed.
LAST_S = 5.0
#: What ends the embedded database and everything else may take beside that; then the process ends, whatever still waits.
END_S = 15.0


class ControllerFailed(SlotcarError):
    """A part of the controller ended and cannot be begun again; a supervisor starts another process."""


class _Server(uvicorn.Server):
    """Tells the event streams to end before it waits for its connections to be over.

    Args:
        here: a UNIX socket at which it answers too, without TLS; None for none.
    """

    def __init__(self, config: uvicorn.Config, streams: Streams, here: socket.socket | None) -> None:
        super().__init__(config)
        self._streams, self._here = streams, here

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._here is not None and not self.should_exit:
            protocol_of: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
            protocol = partial(
                protocol_of, config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )
            loop = asyncio.get_running_loop()
            self.servers.append(await loop.create_unix_server(protocol, sock=self._here, backlog=BACKLOG))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to `slotcar.base.stopping`: uvicorn would raise them again after its own end, and by default the
        process ends there, whatever is still to be done."""
        yield

    def end(self) -> None:
        self.should_exit = True
        self.force_exit = PROCESS.at_once.is_set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.closing.set()
        await super().shutdown(sockets)


class OpenToAll(SlotcarError):
    """The API would do what anybody on other machines says."""


def serve(settings: Settings, application: Callable[[Context], FastAPI], clocks: Clocks = SYSTEM) -> None:
    """Runs until it is told to stop (SIGTERM, SIGINT): then a push that goes on is finished or taken back, the lead is
    released, and nothing that it started is left. Told again, it ends at once.

    Args:
        application: what answers: the API, with the pages of `slotcar.web` before it or without.
        clocks: what all of it goes by.

    Raises:
        OpenToAll: it would listen wider than this machine, and no token exists or none is needed.
        CannotListen, InvalidInput, LedgerUnavailable: before anything is served.
        ControllerFailed: it ended without having been told to.
    """
    _configure_logs()
    Archive(settings.state_dir).close_to_others()
    tokens = TokenStore(settings.tokens_path, site_of(settings.inventory))
    tls = tls_of(settings)
    others = bool(tokens.site.issuers or tokens.site.certificates)
    if settings.open and not settings.loopback:
        raise OpenToAll(
            f"will not listen on {settings.listen_host} with SLOTCAR_OPEN=true, by which whoever asks is an operator:"
            " listen on 127.0.0.1, or make tokens with `slotcar token create` and leave SLOTCAR_OPEN out"
        )
    if not settings.loopback and not others and not tokens.tokens():
        raise OpenToAll(
            f"will not listen on {settings.listen_host} without authentication: make a token with `slotcar token create`"
            " first, or listen on 127.0.0.1"
        )
    if settings.open:
        log.warning("whoever can reach this machine's loopback is an operator", because="SLOTCAR_OPEN=true")
    elif not others and not tokens.tokens():
        log.warning(
            "there is no token yet, so nobody may ask", make_one_with="slotcar token create NAME --role operator"
        )
    with (
        bound(settings.listen_host, settings.listen_port) as sockets,
        _syslog_socket(settings) as syslog,
        _peer_sockets(settings) as peers,
        _local_socket(settings) as here,
    ):
        network = load_network(settings.need_inventory(), settings.vault_password_file, settings.domain)
        embedded_at = None if settings.database_url else settings.state_dir.absolute() / "postgres"
        if embedded_at and embedded.left_running(embedded_at):
            log.warning(
                "the embedded database was left running, for what used it was killed; it ends with this controller",
                folder=str(embedded_at),
            )
        with open_ledger(settings.ledger_url(), settings.state_dir) as ledger:
            watched = partial(_watcher, settings, network, ledger, clocks, syslog)
            desk = Desk(ledger, network, settings, clocks)
            _serve(settings, desk, tokens, sockets, watched, application, peers, tls, here)
    if embedded_at and (users := embedded.users(embedded_at)):
        log.info("the embedded database runs on", used_by=users, end_it_with="slotcar db stop")


def _syslog_socket(settings: Settings) -> AbstractContextManager[socket.socket | None]:
    """
    Raises:
        CannotListen, PortInUse.
    """
    if settings.syslog_listen is None or not settings.reconcile:
        return nullcontext()
    return bound_for_datagrams(*settings.syslog_listen)


def _peer_sockets(settings: Settings) -> AbstractContextManager[list[socket.socket]]:
    """
    Raises:
        CannotListen, PortInUse.
    """
    if settings.peer_listen is None or settings.domain is None:
        return nullcontext([])
    return bound(*settings.peer_listen, instead="another SLOTCAR_PEER_LISTEN")


@contextmanager
def _local_socket(settings: Settings) -> Iterator[socket.socket | None]:
    """None where the socket that nobody named cannot be had: a second controller of the state folder answers by TCP alone.

    Raises:
        CannotListen, PortInUse: that which the settings name.
    """
    with ExitStack() as stack:
        here = None
        try:
            here = stack.enter_context(bound_here(settings.socket_path))
        except CannotListen as error:
            if settings.socket is not None:
                raise
            log.warning("accounts of this machine are not answered by a socket", because=str(error))
        yield here


def _watcher(
    settings: Settings,
    network: Network,
    ledger: Ledger,
    clocks: Clocks,
    syslog: socket.socket | None,
    loop: LoopStatus,
) -> Watcher | None:
    """The watcher; None where no device is to report changes."""
    if not settings.watch and syslog is None:
        return None
    inventory, vault = settings.need_inventory(), settings.vault_password_file
    connections = partial(read_connections, inventory, network.devices, vault)
    most = settings.watch_most if settings.watch else 0
    return Watcher(ledger, network, loop, connections, most, clocks.now, syslog, clocks.monotonic)


def _context(desk: Desk, tokens: TokenStore, loop: ReconcileLoop | None, watcher: Watcher | None) -> Context:
    agreement = agreement_for(desk)
    whole = replace(
        desk, loop=loop.status if loop else None, watch=watcher.status if watcher else None, started_at=desk.clocks.now(),
        agreement=agreement,
    )  # fmt: skip
    return Context(whole, tokens, nsi=nsi_for(desk, agreement))


def _serve(
    settings: Settings,
    desk: Desk,
    tokens: TokenStore,
    sockets: list[socket.socket],
    watcher_for: Callable[[LoopStatus], Watcher | None],
    application: Callable[[Context], FastAPI],
    peers: list[socket.socket],
    tls: ssl.SSLContext | None,
    here: socket.socket | None,
) -> None:
    """
    Raises:
        PortInUse: another program has begun to listen meanwhile. ControllerFailed: it ended without having been told to.
    """
    listen(sockets, BACKLOG)
    ledger, network = desk.ledger, desk.network
    loop = loop_for(network, settings, ledger, desk.clocks) if settings.reconcile else None
    watcher = watcher_for(loop.status) if loop else None
    context = _context(desk, tokens, loop, watcher)
    app = application(context)
    exempt_from_collections()
    config = uvicorn.Config(
        app, host=settings.listen_host, port=settings.listen_port, log_config=None, access_log=False, server_header=False,
        timeout_graceful_shutdown=3, **connection_options(settings, reserve_descriptors(settings.max_connections)),
    )  # fmt: skip
    server = _Server(with_tls(config, tls), context.streams, here)
    parts = _ApplicationParts(ledger, server, settings.stop_timeout.total_seconds())

    def on_signal() -> None:
        server.end()
        if PROCESS.at_once.is_set():
            end_after(LAST_S + END_S, 128 + PROCESS.signal_number, "told twice to stop, and a thread did not end")
            end_all_processes()
        else:
            longest_s = settings.stop_timeout.total_seconds() + LAST_S + END_S
            end_after(longest_s, 1, "told to stop, and a thread did not end")

    with PROCESS.serving(on_signal):
        if loop:
            parts.start_all(loop, context, watcher)
        port = sockets[0].getsockname()[1]
        log.info("serving", address=settings.listening_at(port), inventory=network.source)
        try:
            with _record(settings, port), _neighbours(context, peers):
                server.run(sockets)
        finally:
            requested = PROCESS.requested.is_set() and not parts.failures
            PROCESS.request()
            context.plans.close()
            parts.join()
            end_all_processes()  # ssh keeps connections open for a while after a play
    if not requested:
        raise ControllerFailed("; ".join(parts.failures) or "the API ended without having been told to")
    log.info("stopped", signal=PROCESS.signal_number)
    if PROCESS.at_once.is_set():
        raise SystemExit(128 + PROCESS.signal_number)


def _neighbours(context: Context, sockets: list[socket.socket]) -> AbstractContextManager[None]:
    if context.desk.agreement is None or not (sockets or context.nsi):
        return nullcontext()
    if sockets:
        listen(sockets, BACKLOG)
    log.info(
        "agreeing with neighbours",
        domain=context.desk.agreement.name,
        neighbours=sorted(context.desk.agreement.neighbours),
    )
    return listening_to_neighbours(context, sockets)


@contextmanager
def _record(settings: Settings, port: int) -> Iterator[None]:
    """Commands of this machine find the controller of their state folder while it lasts; a full disk keeps nobody from
    serving."""
    with ExitStack() as stack:
        try:
            stack.enter_context(serving_record.recorded(settings.state_dir, settings.address_here(port)))
        except OSError as error:
            log.warning("commands do not find this controller by themselves", because=error.strerror)
        yield


def exempt_from_collections() -> None:
    """What there is by now (modules, the network, the application) stays to the end. Python's collector of cycles would
    look through all of it again every few pages, for 150 ms, in whoever is answered; it looks at what came later.
    """
    gc.collect()
    gc.freeze()


@dataclass(slots=True)
class _ApplicationParts:
    """What runs beside the API: the loop, and while it leads the delivery of webhooks, the watching of devices, and
    the reading of pSchedulers.

    Attributes:
        failures: why parts ended that cannot be begun again.
    """

    ledger: Ledger
    server: _Server
    stop_timeout_s: float
    failures: list[str] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _status: LoopStatus = field(default_factory=LoopStatus)
    _now: Callable[[], datetime] = SYSTEM.now

    def start_all(self, loop: ReconcileLoop, context: Context, watcher: Watcher | None) -> None:
        self._status = status = loop.status
        self._now = context.now
        dispatcher = Dispatcher(
            self.ledger, lambda: status.leading, context.now, DerivedSecrets(context.desk.settings.webhook_key_path),
            counts=context.deliveries, monotonic=context.desk.clocks.monotonic,
        )  # fmt: skip
        reader = PSchedulerReader(self.ledger, context.desk.network, lambda: status.leading, context.now)
        others = [("watch", watcher.run)] if watcher else []
        # What neighbours agree on later may be measured, too.
        others += [("pscheduler", reader.run)] if reader.sources or context.desk.agreement else []
        for name, run in (("loop", loop.run), ("webhooks", dispatcher.run), *others):
            # Daemons: one that hangs does not keep the process from ending.
            thread = threading.Thread(target=self._run, args=(name, run), name=f"slotcar-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def join(self) -> None:
        """Waits until what changes devices has been finished or taken back; not at all where all is to end at once."""
        end_s = time.monotonic() + self.stop_timeout_s + LAST_S
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < end_s:
                thread.join(0.2)
                if PROCESS.at_once.is_set():
                    end_s = min(end_s, time.monotonic() + LAST_S)
            if thread.is_alive():
                self.failures.append(f"{thread.name} did not end in time")
                log.error("a part of the controller does not end", part=thread.name)

    def _run(self, name: str, run: Callable[[threading.Event], None]) -> None:
        try:
            keep_running(name, run, PROCESS.requested, self._tell)
        except BaseException as error:
            # A controller that answers and does not push is worse than one that its supervisor starts again.
            log.exception("a part of the controller ended", part=name)
            self.failures.append(f"{name} ended: {type(error).__name__}: {error}")
            self.server.should_exit = True

    def _tell(self, part: str, why: str) -> None:
        if part == "loop":
            self._status.error = why
        with suppress(LedgerUnavailable):
            self.ledger.record(ControllerPartFailed(part=part, message=why), self._now())


def _configure_logs() -> None:
    terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            one_line,
            structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(logging.BASIC_FORMAT))
    handler.addFilter(LimitRepeats(RepeatLimit(most=20, within=timedelta(minutes=1))))
    # Where handlers are already, they are left as they are: they belong to the program that runs this one.
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
