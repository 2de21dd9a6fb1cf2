"""A router that listens: NETCONF over SSH on a port of loopback, in a thread of its own.

with JunosRouter("north-edge", startup) as router:
    ... router.port, router.running(), router.in_force(), router.expire() ...
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

import asyncssh
from lxml import etree  # type: ignore[import-untyped]

from slotcar_lab.junos.counters import NONE, Packets
from slotcar_lab.junos.machine import Machine
from slotcar_lab.junos.rpc import END, Session
from slotcar_lab.junos.tree import Element
from slotcar_lab.patience import HANG_S

LOOPBACK = "127.0.0.1"
USER, PASSWORD = "slotcar", "not-a-secret"
#: Nothing that a test waits for takes longer.
#: A reply comes in pieces of so many bytes, as TCP and a router's own buffers cut it.
PIECE_BYTES = 4096
_T = TypeVar("_T")


class JunosRouter:
    """One router, from `__enter__` to `__exit__`."""

    def __init__(
        self,
        name: str,
        startup: str = "",
        *,
        port: int = 0,
        user: str = USER,
        password: str = PASSWORD,
        authorized_keys: Iterable[str] = (),
        yang_compliant: bool = False,
        piece_bytes: int = PIECE_BYTES,
        **machine: Any,
    ) -> None:
        """
        Args:
            startup: the element `configuration` that it boots with.
            port: 0 for a free one.
            yang_compliant: it answers in the namespaces of Juniper's YANG, as `yang-compliant` has it.
            machine: of `Machine`: `ports`, `node`, `takes_insert`, `outlives_session`, `warnings`.
        Raises:
            Refused: Junos would not commit the start-up configuration.
        """
        self.name, self.address, self.port = name, LOOPBACK, port
        self.user, self.password = user, password
        self._keys = tuple(authorized_keys)
        self._yang_compliant, self._piece_bytes = yang_compliant, piece_bytes
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._sessions: dict[int, _Channel] = {}
        self._numbers = iter(range(40_001, 1_000_000))
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self.machine = Machine(name, **machine)
        self.machine.boot(startup)
        #: Every request: the session's number, the name of the operation.
        self.requests: list[tuple[int, str]] = []
        #: Mistakes of the emulator itself, which end a session; the first is raised at the end.
        self.faults: list[Exception] = []

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"junos-{self.name}", daemon=True)
        self._thread.start()
        self.machine.after = self._loop.call_later
        self._run(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self.machine.forget)
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HANG_S)
        self._loop.close()
        if self.faults:
            raise self.faults[0]

    @property
    def known_hosts(self) -> str:
        """The router's line for a `known_hosts` file."""
        key = self._key.export_public_key().decode().split()
        return f"[{self.address}]:{self.port} {' '.join(key[:2])}\n"

    def running(self) -> str:
        """What is committed, as XML without namespaces."""
        return self._call(lambda: _printed(self.machine.running))

    def in_force(self) -> str:
        """What is committed without what is deactivated, with what groups and interface ranges give."""
        return self._call(lambda: _printed(self.machine.in_force()))

    def configure(self, configuration: str, user: str = "operator") -> None:
        """An operator's own change, committed at once.

        Raises:
            Refused: Junos does not take it.
        """

        def run() -> None:
            self.machine.edit(etree.fromstring(configuration), session_id=0)
            self.machine.commit(0, user)

        self._call(run)

    def count(self, filter_name: str, term: str, came: Packets, exceeded: Packets = NONE) -> None:
        """Sets what a term of a filter counted, and what exceeded its policer.

        Raises:
            KeyError: there is no such term that counts.
        """
        machine = self.machine
        self._call(lambda: machine.counters.set_term(filter_name, term, came, exceeded, machine.in_force()))

    def count_queue(self, port: str, forwarding_class: str, sent: Packets, dropped_packets: int = 0) -> None:
        """Sets what a queue of a port, or of a unit, sent and dropped."""
        self._call(lambda: self.machine.counters.set_queue(port, forwarding_class, sent, dropped_packets))

    def clear_counters(self) -> None:
        """As an operator's `clear firewall all` and `clear interfaces statistics all`."""
        self._call(self.machine.counters.clear)

    def expire(self) -> None:
        """The time of a commit that waits is over."""
        self._call(self.machine.take_back)

    def drop_sessions(self) -> None:
        """All connections end without a word."""
        self._call(self._abort)

    def _abort(self) -> None:
        for connection in tuple(self._connections):
            connection.abort()

    def call(self, action: Callable[[Machine], _T]) -> _T:
        """Run something on the machine between two requests."""
        return self._call(lambda: action(self.machine))

    # -- in the loop ---------------------------------------------------------------------------------------------------

    def open_session(self, channel: _Channel, user: str) -> Session:
        number = next(self._numbers)
        self._sessions[number] = channel
        return Session(self.machine, number, user, yang_compliant=self._yang_compliant, kill=self._kill)

    def end_session(self, session: Session) -> None:
        if self._sessions.pop(session.number, None) is not None:
            self.machine.end(session.number)

    def lets_in(self, user: str, password: str | None, key: asyncssh.SSHKey | None) -> bool:
        if user != self.user:
            return False
        if key is not None:
            given = key.export_public_key().decode().split()[:2]
            return given in [each.split()[:2] for each in self._keys]
        return password == self.password

    def _kill(self, number: int) -> bool:
        channel = self._sessions.get(number)
        if channel is None:
            return False
        channel.abort()
        return True

    async def _listen(self) -> None:
        self._acceptor = await asyncssh.create_server(
            lambda: _Door(self, self._connections), self.address, self.port, server_host_keys=[self._key], encoding=None,
            kbdint_auth=False, gss_host=None, compression_algs=None,
        )  # fmt: skip
        self.port = self._acceptor.get_port()

    async def _close(self) -> None:
        assert self._acceptor is not None
        self._acceptor.close()
        self._abort()
        await self._acceptor.wait_closed()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_S)

    def _call(self, action: Callable[[], _T]) -> _T:
        done: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def step() -> None:
            try:
                done.set_result(action())
            except Exception as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(step)
        return done.result(HANG_S)


class _Door(asyncssh.SSHServer):
    """One connection: who may come in."""

    def __init__(self, router: JunosRouter, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._router, self._connections = router, connections
        self._user = ""
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection:
            self._connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        self._user = username
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return self._router.lets_in(username, password, None)

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return self._router.lets_in(username, None, key)

    def session_requested(self) -> _Channel:
        return _Channel(self._router, self._user)


class _Channel(asyncssh.SSHServerSession[bytes]):
    """The subsystem `netconf` of one connection."""

    def __init__(self, router: JunosRouter, user: str) -> None:
        self._router, self._user = router, user
        self._buffer = b""
        self._session: Session | None = None

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def subsystem_requested(self, subsystem: str) -> bool:
        return subsystem == "netconf"

    def session_started(self) -> None:
        self._session = self._router.open_session(self, self._user)
        self._send(self._session.hello())

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self._buffer += data
        while END in self._buffer and self._session and not self._session.is_closing:
            text, _, self._buffer = self._buffer.partition(END)
            if _root(text) != "hello":
                self._answer(self._session, text)
        if self._session and self._session.is_closing:
            self._channel.exit(0)

    def _answer(self, session: Session, text: bytes) -> None:
        try:
            self._router.requests.append((session.number, _operation(text)))
            self._send(session.answer(text))
        except Exception as error:
            # Of the emulator itself: who waits for an answer must not wait for ever.
            self._router.faults.append(error)
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._session:
            self._router.end_session(self._session)

    def abort(self) -> None:
        if self._session:
            self._router.end_session(self._session)
        self._channel.abort()

    def _send(self, text: str) -> None:
        data = text.encode() + b"\n" + END + b"\n"
        size = self._router._piece_bytes
        for at in range(0, len(data), size):
            self._channel.write(data[at : at + size])


def _root(text: bytes) -> str:
    return _name(text, lambda root: root)


def _operation(text: bytes) -> str:
    return _name(text, lambda root: next(iter(root), None))


def _name(text: bytes, chosen: Callable[[Element], Element | None]) -> str:
    try:
        element = chosen(etree.fromstring(text.strip()))
    except etree.XMLSyntaxError:
        return "?"
    return "?" if element is None else str(etree.QName(element).localname)


def _printed(root: Element) -> str:
    return str(etree.tostring(root, encoding="unicode", pretty_print=True))
