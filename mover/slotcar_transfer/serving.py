"""`slotcar transfer serve`: a folder of this host, for the ends that are known here."""

from __future__ import annotations

import errno
import logging
import secrets
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slotcar_transfer import proving
from slotcar_transfer.calling import Caller, check_version, free_port, hello, program
from slotcar_transfer.counting import Count
from slotcar_transfer.errors import BadName, Broken, NotAllowed, Stopped, TransferError, WrongPeer
from slotcar_transfer.fireflies import Fireflies, scitag_of
from slotcar_transfer.gathering import Gathering
from slotcar_transfer.handshakes import Handshakes
from slotcar_transfer.identity import Identity
from slotcar_transfer.lanes import Steering, Ticker
from slotcar_transfer.manifest import block_bytes_in, checked_path, listed
from slotcar_transfer.moving import Job, push
from slotcar_transfer.places import deadline_of
from slotcar_transfer.receiving import Receiver, Wanted
from slotcar_transfer.sending import Sender
from slotcar_transfer.staging import Tree
from slotcar_transfer.wire import Channel

log = logging.getLogger("slotcar_transfer")
#: A session that is taken up again waits so long for the one before to end.
SUPERSEDE_S = 20.0
#: Connections of ends that are known.
MOST_CONNECTIONS = 256
#: Without a descriptor or memory for one more connection it is tried again so soon.
AGAIN_S = 0.1


#: Of `accept`: the other end went away, or there is no descriptor or memory now.
_PASSING = (errno.ECONNABORTED, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPROTO)


@dataclass(frozen=True, slots=True)
class Rights:
    """What the ends that are known may do."""

    read: bool = True
    write: bool = True


@dataclass
class _Session:
    worker: Sender | Receiver
    peer: str
    key: tuple[str, ...]
    over: threading.Event = field(default_factory=threading.Event)


class Server:
    """Serves from its making until `close`.

    Attributes:
        port: that it listens on.

    Raises:
        TransferError: the folder cannot be opened, or the port is taken.
    """

    def __init__(
        self,
        root: Path,
        identity: Identity,
        address: str = "",
        port: int = 0,
        rights: Rights | None = None,
        gathering: Gathering | None = None,
    ) -> None:
        self._gathering = gathering
        self._root, self._identity, self._rights = root.resolve(), identity, rights or Rights()
        self._tree_check = Tree(self._root)
        self._tree_check.close()
        identity.make()
        try:
            self._listening = socket.create_server((address, port), backlog=64)
        except OSError as error:
            raise TransferError(f"cannot listen on {address or 'any address'}:{port}: {error.strerror}") from error
        self.port: int = self._listening.getsockname()[1]
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()
        self._handshakes = Handshakes()
        self._known = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._over = False

    def serve(self) -> None:
        """Until `close`."""
        while not self._over:
            try:
                connection, place = self._listening.accept()
            except OSError as error:
                if self._over:
                    return
                if error.errno not in _PASSING:
                    raise
                self._wait_for_room(error)
                continue
            try:
                number = self._handshakes.begin(connection, place[0])
                threading.Thread(target=self._serve_one, args=(connection, place[0], number), daemon=True).start()
            except (OSError, RuntimeError) as error:  # no descriptor, no thread
                connection.close()
                self._wait_for_room(error)

    def _wait_for_room(self, error: Exception) -> None:
        log.warning("a connection cannot be taken now: %s", error)
        self._handshakes.end_oldest()
        time.sleep(AGAIN_S)

    def close(self) -> None:
        """Ends what is under way; it can be taken up again."""
        self._over = True
        if self._gathering is not None:
            self._gathering.close()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            sessions = list(self._sessions.values())
        for one in sessions:
            one.worker.fail(Broken("the server is being stopped"))
        for one in sessions:
            one.over.wait(5)

    # -- one connection --------------------------------------------------------------------------------------------

    def _serve_one(self, connection: socket.socket, address: str, number: int) -> None:
        channel: Channel | None = None
        try:
            try:
                channel = self._identity.accept(connection)
            finally:
                self._handshakes.over(number)
            self._serve_known(channel)
        except WrongPeer as error:
            log.warning("%s: %s", address, error)
            connection.close()
        except TransferError as error:
            log.info("%s (%s): %s", channel.peer if channel else "?", address, error)
            if channel is not None:
                self._refuse(channel, error)
        except Exception:
            log.exception("%s: a fault in slotcar-transfer", address)
            if channel is not None:
                channel.close()

    def _serve_known(self, channel: Channel) -> None:
        """
        Raises:
            Broken: there are too many; the other end tries again.
        """
        if not self._known.acquire(blocking=False):
            raise Broken(f"{MOST_CONNECTIONS} connections are open, and no more may be")
        try:
            self._answer(channel, channel.receive_message())
        finally:
            self._known.release()

    def _refuse(self, channel: Channel, error: TransferError) -> None:
        with suppress(TransferError):
            if not isinstance(error, Broken):
                channel.send_message(hello(error=error.kind, words=str(error)))
        channel.finish()

    def _answer(self, channel: Channel, message: dict[str, Any]) -> None:
        check_version(message, channel.peer)
        verbs = {
            "receive": self._receive, "send": self._send, "relay": self._relay, "data": self._data, "about": self._about,
            "prove": self._prove, "ask": self._ask,
        }  # fmt: skip
        verb = verbs.get(str(message.get("verb")))
        if verb is None:
            raise TransferError(f"there is no verb {message.get('verb')}")
        verb(channel, message)

    # -- verbs -----------------------------------------------------------------------------------------------------

    def _about(self, channel: Channel, message: dict[str, Any]) -> None:
        """A port that is free here, for a transfer that this end is to send."""
        channel.send_message(hello(free_port=free_port()))
        channel.finish()

    def _prove(self, channel: Channel, message: dict[str, Any]) -> None:
        """The digests of files that came by multicast."""
        proving.answer(channel, self._root, message)

    def _ask(self, channel: Channel, message: dict[str, Any]) -> None:
        """A file by multicast, with all others who ask for it in the same time."""
        if self._gathering is None:
            raise NotAllowed("this server gathers no requests (serve --gather)")
        file, by = self._source(str(message.get("file", ""))), message.get("by")
        deadline = deadline_of(by, datetime.now(UTC)) if isinstance(by, str) else None
        became = self._gathering.ask(file, self._identity.peer(channel.peer), deadline)
        channel.send_message(hello(became=dict(became)))
        channel.finish()

    def _receive(self, channel: Channel, message: dict[str, Any]) -> None:
        if not self._rights.write:
            raise NotAllowed("this server is for reading only")
        destination, job = str(message.get("destination", "")), str(message.get("job", ""))
        key = (channel.peer, destination, job)
        self._supersede(key)
        tree = Tree(self._root)
        worker = Receiver(channel, tree, Wanted(_relative(destination), f"{channel.peer} {job}"), Count())
        try:
            self._run(channel, worker, key, f"receives {destination}")
        finally:
            tree.close()

    def _send(self, channel: Channel, message: dict[str, Any]) -> None:
        source = self._source(str(message.get("source", "")))
        files = listed(source)
        block_bytes = block_bytes_in(sum(one.size_bytes for one in files), _seconds(message))
        worker = Sender(channel, source, files, block_bytes, Steering(known=False), Count())
        self._run(channel, worker, (), f"sends {source}")

    def _run(self, channel: Channel, worker: Sender | Receiver, key: tuple[str, ...], words: str) -> None:
        name = secrets.token_hex(16)
        session = _Session(worker, channel.peer, key)
        with self._lock:
            self._sessions[name] = session
        channel.send_message(hello(session=name))
        log.info("%s: %s", channel.peer, words)
        try:
            result = worker.run()
            log.info("%s: %s: done, %s files, %s bytes", channel.peer, words, result["files"], result["bytes"])
        except TransferError as error:
            log.warning("%s: %s: %s", channel.peer, words, error)
        finally:
            with self._lock:
                del self._sessions[name]
            session.over.set()
            channel.finish()

    def _supersede(self, key: tuple[str, ...]) -> None:
        """Whoever comes again for the same has lost the session before."""
        with self._lock:
            earlier = [one for one in self._sessions.values() if one.key == key]
        for one in earlier:
            one.worker.fail(Broken("the same transfer was begun again"))
            one.over.wait(SUPERSEDE_S)

    def _data(self, channel: Channel, message: dict[str, Any]) -> None:
        with self._lock:
            session = self._sessions.get(str(message.get("session")))
        if session is None or session.peer != channel.peer:
            raise Stopped("there is no such session")
        channel.send_message(hello(ok=True))
        session.worker.attach(str(message.get("lane")), channel)

    def _relay(self, channel: Channel, message: dict[str, Any]) -> None:
        source = self._source(str(message.get("source", "")))
        peer = self._identity.peer(str(message.get("peer", "")))
        go = threading.Event()
        port = message.get("base_port")
        base_port = port if isinstance(port, int) else None
        name = f"{channel.peer} {source}"
        job = Job(self._identity, name, base_port=base_port, seconds=_seconds(message), fireflies=_fireflies(message))

        def ready(_control: Channel | None) -> None:
            channel.send_message({"count": job.count.document(), "begun": True})
            while not go.wait(0.5) and not failed:
                channel.send_message({"count": job.count.document()})
            if failed:
                raise failed[0]

        failed: list[TransferError] = []

        def listen() -> None:
            try:
                while True:
                    message = channel.receive_message()
                    if "steer" in message:
                        job.steering.take(message["steer"])
                    if message.get("go"):
                        go.set()
            except TransferError as error:
                failed.append(error if not isinstance(error, Broken) else Stopped("whoever asked for it is gone"))
                job.stop(failed[0])

        job.ready = ready
        channel.send_message(hello(ok=True))
        threading.Thread(target=listen, daemon=True).start()
        count = Ticker(lambda: _quietly(channel, {"count": job.count.document()}))
        try:
            result = push(job, source, Caller(self._identity, peer), str(message.get("destination", "")))
            channel.send_message({"count": job.count.document(), "finished": result})
        except TransferError as error:
            _quietly(channel, {"error": error.kind, "words": f"{error}"})
        finally:
            count.close()
            channel.finish()

    def _source(self, path: str) -> Path:
        """
        Raises:
            BadName: it leads out of the folder. NotAllowed: it is not there, or nothing is for reading.
        """
        if not self._rights.read:
            raise NotAllowed("this server is for writing only")
        relative = _relative(path)
        place = (self._root / relative).resolve()
        if not place.is_relative_to(self._root):
            raise BadName(f"{path} leads out of the folder that is served")
        if not place.exists():
            raise NotAllowed(f"there is no {path} in the folder that is served")
        return place


def _relative(path: str) -> str:
    path = path.lstrip("/")
    return checked_path(path) if path.strip("/.") else ""


def _seconds(message: dict[str, Any]) -> float | None:
    seconds = message.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def _fireflies(message: dict[str, Any]) -> Fireflies | None:
    match message.get("scitag"):
        case [int(experiment), int(activity)]:
            return Fireflies(scitag_of(f"{experiment}:{activity}"), program())
    return None


def _quietly(channel: Channel, message: dict[str, Any]) -> None:
    with suppress(TransferError):
        channel.send_message(message)
