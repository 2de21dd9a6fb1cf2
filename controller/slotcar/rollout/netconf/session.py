"""One NETCONF session: ncclient, with the host key checked and its errors turned into sentences. It blocks."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import ncclient.transport.session  # type: ignore[import-untyped]
from ncclient.devices.default import DefaultDeviceHandler  # type: ignore[import-untyped]
from ncclient.manager import Manager  # type: ignore[import-untyped]
from ncclient.operations import RaiseMode, RPCError  # type: ignore[import-untyped]
from ncclient.operations.errors import TimeoutExpiredError  # type: ignore[import-untyped]
from ncclient.transport import SSHSession
from ncclient.transport.errors import (  # type: ignore[import-untyped]
    AuthenticationError,
    SSHUnknownHostError,
    TransportError,
)
from paramiko import HostKeys  # type: ignore[import-untyped]

from slotcar.base.texts import lines_of
from slotcar.rollout.fanout.login import Login
from slotcar.rollout.host_keys import file_of, host_key_words, read_once
from slotcar.rollout.netconf.login import NetconfError
from slotcar.rollout.transport import Unreachable

#: How long ncclient's thread looks for an answer before it looks for a request; its own 0.1 s delays every request.
ncclient.transport.session.TICK = 0.002
#: A peer in the middle of a wait is told that the session lives.
KEEPALIVE_S = 15
#: Between the greeting and the first request. A server of yuma's (netconfd) that reads both at once takes them apart by the
#: framing of NETCONF 1.0 (RFC 6242 §4.1), though they agreed on that of 1.1, and never answers.
GREETING_S = 0.2
#: A subscription only waits: a peer that takes nothing for so long, the keepalives neither, is gone.
GONE_MS = 2 * KEEPALIVE_S * 1000
#: More notifications than these wait at the peer and in the connection, not in this process's memory.
MOST_NOTIFICATIONS = 1000
_BASE = "urn:ietf:params:netconf:capability:"


class Feature(StrEnum):
    """Capabilities that decide how a change is made (RFC 6241 §8), each without its parameters."""

    CANDIDATE = f"{_BASE}candidate:1.0"
    CONFIRMED_COMMIT = f"{_BASE}confirmed-commit:1.1"
    #: RFC 4741 §8.4: without a name for what waits, and without `cancel-commit`. Junos says this one.
    CONFIRMED_COMMIT_1_0 = f"{_BASE}confirmed-commit:1.0"
    VALIDATE = f"{_BASE}validate:1.0"
    VALIDATE_1_1 = f"{_BASE}validate:1.1"
    ROLLBACK_ON_ERROR = f"{_BASE}rollback-on-error:1.0"
    WRITABLE_RUNNING = f"{_BASE}writable-running:1.0"
    NOTIFICATION = f"{_BASE}notification:1.0"
    #: RFC 6470: it tells of changes of its configuration.
    CHANGE_NOTIFICATIONS = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"


class NetconfRefused(NetconfError):
    """The peer answered with an error. `tag` is its error-tag (RFC 6241, appendix A)."""

    def __init__(self, message: str, tag: str) -> None:
        self.tag = tag
        super().__init__(message)


class Rpc(Protocol):
    """A call of ncclient's `Manager`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any: ...


class _CheckedSession(SSHSession):  # type: ignore[misc]
    """Believes the keys that the login's file has of its peer."""

    def __init__(self, login: Login) -> None:
        # ncclient's handler for IOS-XE believes every host key, so it is not used; nothing else of it is needed.
        super().__init__(DefaultDeviceHandler({"name": "default"}))
        self._login = login

    def load_known_hosts(self, filename: str | None = None) -> None:
        """ncclient writes into what it looks up, so that it has keys of its own."""
        if (file := file_of(self._login)) is None:
            return
        known = read_once(HostKeys, file)
        for place in (self._login.host, f"[{self._login.host}]:{self._login.port}"):
            for kind, key in (known.lookup(place) or {}).items():
                self._host_keys.add(place, kind, key)


class NetconfSession:
    """Not for concurrent use. Every method raises `NetconfError` where the peer does not do it."""

    def __init__(self, name: str, login: Login) -> None:
        self._name = name
        self._login = login
        self._manager: Any = None

    def open(self) -> None:
        """
        Raises:
            Unreachable: no connection, another host key, refused, or no NETCONF there.
        """
        for last, (key_file, password) in _ways(self._login):
            try:
                self._connect(key_file, password)
                return
            except AuthenticationError:
                if last:
                    raise Unreachable(f"{self._place()} does not let {self._login.user} in") from None

    def _connect(self, key_file: Path | None, password: str | None) -> None:
        login = self._login
        session = _CheckedSession(login)
        search = key_file is None and password is None
        try:
            session.connect(
                host=login.host, port=login.port, username=login.user, password=password,
                key_filename=str(key_file) if key_file else None, timeout=login.answer_s,
                hostkey_verify=True, allow_agent=search, look_for_keys=search, keepalive=KEEPALIVE_S,
            )  # fmt: skip
        except BaseException as error:
            if session.transport is not None:
                session.close()
            if isinstance(error, SSHUnknownHostError):
                raise Unreachable(f"{self._name}: {host_key_words(login)}") from None
            if isinstance(error, Exception) and not isinstance(error, AuthenticationError):
                # ncclient, paramiko and the socket have no common base
                raise Unreachable(f"{self._place()}: {_first_line(error)}") from None
            raise
        # ncclient and paramiko leave Nagle's algorithm on: the end of a request of several segments would wait for the
        # acknowledgement of its beginning, which a peer may put off by 40 ms and more.
        session.transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        time.sleep(GREETING_S)
        # A warning is no refusal (RFC 6241 §4.3): Junos has them for commits that went well.
        self._manager = Manager(session, session._device_handler, timeout=login.answer_s, raise_mode=RaiseMode.ERRORS)

    def _place(self) -> str:
        return f"{self._name}: {self._login.host}:{self._login.port}"

    def close(self) -> None:
        """Ends the session, whatever state it is in."""
        manager, self._manager = self._manager, None
        if manager is None:
            return
        try:
            if manager.connected:
                manager.close_session()
        except Exception:  # it may be gone already
            manager._session.close()

    def has(self, feature: Feature) -> bool:
        """Whether the peer said so in its greeting."""
        capabilities = {str(one).split("?")[0] for one in self._manager.server_capabilities}
        return feature.value in capabilities

    def subscribe(self) -> None:
        """From now on the peer tells of all that it notifies of (RFC 5277 §2.1.1); the session is for nothing else.

        Raises:
            Refused, NetconfError: see `do`.
        """
        session = self._manager._session
        session._notification_q.maxsize = MOST_NOTIFICATIONS
        session.transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE_MS)
        self.do("create_subscription")

    def notification(self, wait_s: float) -> Any:
        """The next notification, as an XML element; None where none comes in time.

        Raises:
            NetconfError: the session ended.
        """
        notification = self._manager.take_notification(block=True, timeout=wait_s)
        if notification is None and not self._manager.connected:
            raise NetconfError(f"{self._name}: the session ended")
        return None if notification is None else notification.notification_ele

    def do(self, what: str, **options: Any) -> Any:
        """Runs one of ncclient's operations by its name, such as `edit_config`.

        Raises:
            Refused: the peer answered with an error.
            NetconfError: no answer in time, or the session ended.
        """
        operation = what.replace("_", "-")
        if self._manager is None:
            raise NetconfError(f"{self._name}: no session is open for `{operation}`")
        call: Rpc = getattr(self._manager, what)
        try:
            return call(**options)
        except RPCError as error:
            raise NetconfRefused(f"{self._name}: `{operation}`: {_sentence(error)}", str(error.tag or "")) from None
        except TimeoutExpiredError:
            raise NetconfError(f"{self._name}: no answer to `{operation}` within {self._login.answer_s:g} s") from None
        except (TransportError, OSError):
            # Its message holds what was read and written until then.
            raise NetconfError(f"{self._name}: the session ended at `{operation}`") from None


def _ways(login: Login) -> Iterator[tuple[bool, tuple[Path | None, str | None]]]:
    """What to log in with, each with whether it is the last. ncclient takes a password for a key's passphrase too, and
    refuses a key that has none where it is told one."""
    if login.key_file and login.password:
        yield False, (login.key_file, None)
    yield True, (login.key_file, login.password)


def _sentence(error: Any) -> str:
    words = " ".join(str(error.message or "").split()) or "it gave no reason"
    where = " ".join(str(error.path or "").split())
    return f"{words[:300]} ({error.tag}{f', at {where[-200:]}' if where else ''})"


def _first_line(error: Exception) -> str:
    return lines_of((str(error) or type(error).__name__).strip())[0]
