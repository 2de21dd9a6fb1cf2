"""NSI's messages as values, without XML."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from slotcar.domains.nsi.names import PROVIDER_VERSION, REQUESTER_VERSION, Fault
from slotcar.domains.nsi.states import LifecycleState, ProvisionState, ReservationState

#: `provision` and the like, which say a connection and no more.
ON_CONNECTION = ("reserveCommit", "reserveAbort", "provision", "release", "terminate")
CONFIRMED = tuple(f"{name}Confirmed" for name in ON_CONNECTION)
SIMPLE = frozenset({*ON_CONNECTION, *CONFIRMED, "reserveResponse"})
FAILURES = frozenset({"reserveFailed", "reserveCommitFailed"})
QUERIES = frozenset({"querySummary", "querySummarySync", "queryRecursive"})
ANSWERS_OF_QUERIES = frozenset({"querySummaryConfirmed", "querySummarySyncConfirmed", "queryRecursiveConfirmed"})
NOTIFICATION_QUERIES = frozenset({"queryNotification", "queryNotificationSync"})
RESULT_QUERIES = frozenset({"queryResult", "queryResultSync"})
NOTIFICATIONS = frozenset({"errorEvent", "reserveTimeout", "dataPlaneStateChange", "messageDeliveryTimeout"})


@dataclass(frozen=True, slots=True)
class Header:
    """`reply_to`: where callbacks go; empty where there are to be none."""

    correlation_id: str
    requester: str
    provider: str
    reply_to: str = ""
    protocol_version: str = PROVIDER_VERSION

    @property
    def answering(self) -> Header:
        """Of an answer, or of a callback."""
        return replace(self, reply_to="", protocol_version=REQUESTER_VERSION)


@dataclass(frozen=True, slots=True)
class NsiSchedule:
    """None: left out, or nil."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class PointToPoint:
    """`parameters`: their types and values, in order."""

    capacity_mbps: int
    source: str
    destination: str
    bidirectional: bool = True
    symmetric: bool = False
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """A segment that another agent provides."""

    connection: str
    provider: str
    states: States | None = None


@dataclass(frozen=True, slots=True)
class Criteria:
    """`service`: None in a modification that leaves it as it is; `capacity_mbps`: what one says in its place."""

    version: int | None
    schedule: NsiSchedule
    service: PointToPoint | None = None
    service_type: str = ""
    capacity_mbps: int | None = None
    children: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True)
class States:
    """`version`: of what is on the data plane."""

    reservation: ReservationState
    provision: ProvisionState
    lifecycle: LifecycleState
    active: bool
    version: int
    consistent: bool = True


@dataclass(frozen=True, slots=True)
class ServiceException:
    nsa: str
    error: str
    text: str
    connection: str = ""
    children: tuple[ServiceException, ...] = ()


# -- bodies --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Acknowledgment:
    """Heard."""


@dataclass(frozen=True, slots=True)
class Simple:
    """`kind`: of `SIMPLE`."""

    kind: str
    connection: str


@dataclass(frozen=True, slots=True)
class Reserve:
    """`connection`: empty where a new one is asked for. `confirmed`: it is the answer."""

    criteria: Criteria
    connection: str = ""
    global_id: str = ""
    description: str = ""
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """`kind`: of `FAILURES`."""

    kind: str
    connection: str
    states: States
    exception: ServiceException


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """What came of a request that has no failure of its own."""

    exception: ServiceException


@dataclass(frozen=True, slots=True)
class Query:
    """`kind`: of `QUERIES`. With neither connections nor global identifiers it asks for all."""

    kind: str
    connections: tuple[str, ...] = ()
    global_ids: tuple[str, ...] = ()
    modified_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    connection: str
    requester: str
    states: States
    criteria: tuple[Criteria, ...] = ()
    global_id: str = ""
    description: str = ""
    notification_id: int | None = None
    result_id: int | None = None


@dataclass(frozen=True, slots=True)
class NsiSummaries:
    """`kind`: of `ANSWERS_OF_QUERIES`."""

    kind: str
    reservations: tuple[Summary, ...]
    last_modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """`queryNotification` and `queryResult`, and their synchronous forms: numbers from `first` to `last`, both included."""

    kind: str
    connection: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """`kind`: of `NOTIFICATIONS`; the fields that a kind has no use for are as they are by default.

    Attributes:
        event: of an `errorEvent`. text: why, in words. timeout_s: of a `reserveTimeout`.
        active, version, consistent: of a `dataPlaneStateChange`. correlation_id: of a `messageDeliveryTimeout`.
    """

    kind: str
    connection: str
    number: int
    at: datetime
    event: str = ""
    text: str = ""
    timeout_s: int = 0
    active: bool = False
    version: int = 0
    consistent: bool = True
    correlation_id: str = ""
    nsa: str = ""


@dataclass(frozen=True, slots=True)
class Notifications:
    kind: str
    items: tuple[Notification, ...]


@dataclass(frozen=True, slots=True)
class NsiResult:
    """What came of a request: `queryResult` tells it again."""

    number: int
    correlation_id: str
    at: datetime
    body: Reserve | Simple | Failed | ErrorMessage


@dataclass(frozen=True, slots=True)
class Results:
    kind: str
    items: tuple[NsiResult, ...]


@dataclass(frozen=True, slots=True)
class SoapFault:
    """What is answered in the place of an acknowledgment."""

    text: str
    exception: ServiceException | None = None


Body: TypeAlias = (
    Acknowledgment
    | Simple
    | Reserve
    | Failed
    | ErrorMessage
    | Query
    | NsiSummaries
    | Range
    | Notification
    | Notifications
    | Results
    | SoapFault
)


@dataclass(frozen=True, slots=True)
class NsiMessage:
    """`header`: None of a fault whose request had none that could be read."""

    header: Header | None
    body: Body


def exception_of(nsa: str, fault: Fault, text: str, connection: str = "") -> ServiceException:
    return ServiceException(nsa, fault.value, text, connection)
