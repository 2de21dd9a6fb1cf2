"""What one controller keeps of a connection over several domains, and what goes between them (NSI CS 2.1's words)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

#: More domains than any path has.
MOST_DOMAINS = 64
#: How long a segment is held while the domains behind it are asked.
HOLD = timedelta(seconds=120)
#: How long it is held at most before all of them have answered, however often they say that they are at work.
LONGEST_CHECK = timedelta(minutes=10)


class ConnectionPhase(Enum):
    """How far a connection is in one domain; the names are those of NSI CS 2.1's reservation and lifecycle states.

    `START`: nothing is under way, and what was committed last is in force. `FAILED`: nothing of it ever was.
    """

    CHECKING = "reserve-checking"
    HELD = "reserve-held"
    COMMITTING = "reserve-committing"
    ABORTING = "reserve-aborting"
    START = "reserve-start"
    FAILED = "reserve-failed"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    ENDED = "passed-end-time"


#: In these nothing is left to do.
SETTLED = frozenset({ConnectionPhase.START, ConnectionPhase.FAILED, ConnectionPhase.TERMINATED, ConnectionPhase.ENDED})

#: These are never left.
OVER = frozenset({ConnectionPhase.FAILED, ConnectionPhase.TERMINATED, ConnectionPhase.ENDED})


class Own(Enum):
    """What this domain's ledger has of the attempt. `HELD` ends by itself; `KEPT` ends only by a decision."""

    MISSING = "missing"
    HELD = "held"
    KEPT = "kept"
    COMMITTED = "committed"
    RELEASED = "released"


class NextSays(Enum):
    """What the next domain last said of the attempt. `UNASKED`: it cannot know of it."""

    UNASKED = "unasked"
    NONE = "none"
    HELD = "held"
    COMMITTED = "committed"
    ABORTED = "aborted"
    TERMINATED = "terminated"


class Kind(Enum):
    """What a message says. `PENDING`: the sender is at work on it. `QUERY`: the sender wants to know what was decided.

    `STATES` changes no connection: it brings what every message brings (`slotcar.domains.segment_states`).
    """

    RESERVE = "reserve"
    PENDING = "reservePending"
    CONFIRMED = "reserveConfirmed"
    REFUSED = "reserveFailed"
    COMMIT = "reserveCommit"
    COMMITTED = "reserveCommitConfirmed"
    ABORT = "reserveAbort"
    ABORTED = "reserveAbortConfirmed"
    QUERY = "query"
    TERMINATE = "terminate"
    TERMINATED = "terminateConfirmed"
    STATES = "segmentStates"


@dataclass(frozen=True, slots=True)
class PeerMessage:
    """One domain's word to its neighbour.

    Attributes:
        version: which attempt of the connection it is about; 1 makes it, later ones change it.
        why: of a refusal or an end, the reason in words.
        content: of `RESERVE` the request, of `CONFIRMED` the ticket.
    """

    kind: Kind
    connection: str
    version: int
    sender: str
    receiver: str
    why: str = ""
    content: str = ""


class Deed(Enum):
    """What a domain's own ledger is to do for an attempt. Each may be done again with the same result."""

    HOLD = "hold"
    EXTEND = "extend"
    KEEP = "keep"
    COMMIT = "commit"
    RELEASE = "release"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class DeedResult:
    """What came of an action; `why` is empty where it was done, else why it cannot be."""

    action: Deed
    version: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection as one domain keeps it. Everything that this domain has to do follows from it.

    Attributes:
        id: of all domains; its first domain makes it.
        domain: this one. previous: who asks it; None of the first domain. next: whom it asks; None of the last.
        by_agent: a client asks each domain in turn (GARA §4.1), and brings the next one's ticket.
        waits: the first domain's client says when it commits, or gives the attempt up (NSI CS's `reserveCommit`).
        request: of the present attempt, as it came in. in_force: of what is committed.
        ends: the attempt's last instant.
        began: when the attempt did. until: when its hold runs out; in doubt from then on where others know of it.
        version: the present or last attempt's. committed: the one in force; 0 for none.
        previous_knows: the previous domain knows that the connection is over.
        held_until: until when the ledger holds the segment by itself.
        ticket: what the next domain has signed for the attempt.
        why: why the last attempt failed, or the connection is over.
        members: in the first domain, the connections that are reserved together with this one, which is among them.
        goes_on: there, that the others go on without it, once they are in force.
    """

    id: str
    domain: str
    previous: str | None
    next: str | None
    by_agent: bool
    request: str
    ends: datetime
    began: datetime
    until: datetime
    version: int = 1
    committed: int = 0
    phase: ConnectionPhase = ConnectionPhase.CHECKING
    own: Own = Own.MISSING
    next_says: NextSays = NextSays.UNASKED
    previous_knows: bool = False
    held_until: datetime | None = None
    ticket: str = ""
    in_force: str = ""
    why: str = ""
    waits: bool = False
    members: tuple[str, ...] = ()
    goes_on: bool = False

    @property
    def is_first(self) -> bool:
        return self.previous is None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do here. What was held when its time was over is given back."""
        holds = self.phase is ConnectionPhase.ENDED and self.own in (Own.HELD, Own.KEPT)
        return self.phase in SETTLED and not holds

    @property
    def in_doubt(self) -> bool:
        """Whether others may have decided what this domain does not know."""
        return self.phase is ConnectionPhase.HELD and not self.is_first
