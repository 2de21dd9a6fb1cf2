"""Requests of many for one file, gathered into one session to all of them (D7.3 §4.1.1, pull mode with synchronisation).

The first request for a file opens a session, which begins some time later, or as soon as so many have asked as are waited
for: whoever asks for the same file until then gets it by the same session. Who asks later is of the next. One session is
sent at a time, since all have one group.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from slotcar_transfer.errors import TransferError
from slotcar_transfer.identity import Identity, Peer
from slotcar_transfer.reporting import Display
from slotcar_transfer.spreading import Options, Spread

log = logging.getLogger("slotcar_transfer")


class Logged(Display):
    """A session's words in the server's log."""

    def say(self, words: str) -> None:
        log.info("multicast: %s", words)

    def end(self, document: Mapping[str, Any], words: str) -> None:
        log.info("multicast: %s", words)


@dataclass
class _Session:
    """Attributes: peers: who asked, by name. by: the earliest of their deadlines. due: it begins, whatever the time."""

    peers: dict[str, Peer] = field(default_factory=dict)
    by: datetime | None = None
    due: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    receivers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    failed: TransferError | None = None


@dataclass
class Gathering:
    """
    Attributes:
        within_s: a session begins so long after the first request for its file.
        options: of each session; `by` is that of whoever asks.
        enough: it begins as soon as so many have asked; 0: at its time alone.
    """

    identity: Identity
    options: Options
    within_s: float
    enough: int = 0
    _closing: bool = False
    _sessions: dict[Path, _Session] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, file: Path, peer: Peer, by: datetime | None) -> Mapping[str, Any]:
        """What became of the file at the peer, once the session is over.

        Raises:
            TransferError: nothing was sent; the same for all who asked.
        """
        with self._lock:
            session = self._sessions.get(file)
            is_first = session is None
            session = self._sessions.setdefault(file, session or _Session())
            session.peers[peer.name] = peer
            session.by = min(filter(None, (session.by, by)), default=None)
            if self._closing or len(session.peers) == self.enough:
                session.due.set()
        if is_first:
            self._send(file, session)
        session.over.wait()
        if session.failed is not None:
            raise session.failed
        return session.receivers[peer.name]

    def close(self) -> None:
        """Ends the waiting: nothing more is sent."""
        with self._lock:
            self._closing = True
            for session in self._sessions.values():
                session.due.set()

    def _send(self, file: Path, session: _Session) -> None:
        """After the time of gathering, and the sessions before it: while these are sent, more may ask."""
        session.due.wait(self.within_s)
        with self._sending:
            with self._lock:
                del self._sessions[file]
                peers = list(session.peers.values())
            log.info("multicast: %s for %s", file, ", ".join(session.peers))
            options = replace(self.options, by=session.by if self.options.slotcar is not None else None)
            try:
                if self._closing:
                    raise TransferError("the server is being stopped")
                spread = Spread([file], peers, self.identity, options, Logged(), self.identity.folder / "spread")
                done = spread.run()
                session.receivers.update({one["receiver"]: one for one in done["receivers"]})
            except TransferError as error:
                session.failed = error
            except Exception:
                session.failed = TransferError("a fault at the other end; its log has it")
                raise
            finally:
                session.over.set()
