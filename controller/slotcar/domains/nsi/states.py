"""The state machines of a connection in NSI CS 2.1 (GFD.237, "NSI State Machines"): reservation, provision, life cycle.

Each is a table from a state and what happens to the next state; what is not in it is no transition. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar


class ReservationState(Enum):
    START = "ReserveStart"
    CHECKING = "ReserveChecking"
    FAILED = "ReserveFailed"
    ABORTING = "ReserveAborting"
    HELD = "ReserveHeld"
    COMMITTING = "ReserveCommitting"
    TIMEOUT = "ReserveTimeout"


class ProvisionState(Enum):
    RELEASED = "Released"
    PROVISIONING = "Provisioning"
    PROVISIONED = "Provisioned"
    RELEASING = "Releasing"


class LifecycleState(Enum):
    CREATED = "Created"
    FAILED = "Failed"
    PASSED_END_TIME = "PassedEndTime"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"


class Happening(Enum):
    """What a requester asks for, and what comes of it."""

    RESERVE = "reserve"
    CONFIRMED = "reserveConfirmed"
    FAILED = "reserveFailed"
    TIMEOUT = "reserveTimeout"
    COMMIT = "reserveCommit"
    COMMITTED = "reserveCommitConfirmed"
    COMMIT_FAILED = "reserveCommitFailed"
    ABORT = "reserveAbort"
    ABORTED = "reserveAbortConfirmed"
    PROVISION = "provision"
    PROVISIONED = "provisionConfirmed"
    RELEASE = "release"
    RELEASED = "releaseConfirmed"
    TERMINATE = "terminate"
    TERMINATED = "terminateConfirmed"
    FORCED_END = "forcedEnd"
    END_TIME = "the end of the window"


_R, _P, _L, _H = ReservationState, ProvisionState, LifecycleState, Happening
RESERVATION: Mapping[tuple[ReservationState, Happening], ReservationState] = {
    (_R.START, _H.RESERVE): _R.CHECKING,
    (_R.CHECKING, _H.CONFIRMED): _R.HELD,
    (_R.CHECKING, _H.FAILED): _R.FAILED,
    (_R.FAILED, _H.ABORT): _R.ABORTING,
    (_R.HELD, _H.COMMIT): _R.COMMITTING,
    (_R.HELD, _H.ABORT): _R.ABORTING,
    (_R.HELD, _H.TIMEOUT): _R.TIMEOUT,
    # The hold is over: what comes of it is that it failed, unless the commit was on its way before.
    (_R.TIMEOUT, _H.COMMIT): _R.COMMITTING,
    (_R.TIMEOUT, _H.ABORT): _R.ABORTING,
    (_R.COMMITTING, _H.COMMITTED): _R.START,
    (_R.COMMITTING, _H.COMMIT_FAILED): _R.START,
    (_R.ABORTING, _H.ABORTED): _R.START,
}
PROVISION: Mapping[tuple[ProvisionState, Happening], ProvisionState] = {
    (_P.RELEASED, _H.PROVISION): _P.PROVISIONING,
    (_P.PROVISIONING, _H.PROVISIONED): _P.PROVISIONED,
    (_P.PROVISIONED, _H.RELEASE): _P.RELEASING,
    (_P.RELEASING, _H.RELEASED): _P.RELEASED,
}
LIFECYCLE: Mapping[tuple[LifecycleState, Happening], LifecycleState] = {
    (_L.CREATED, _H.FORCED_END): _L.FAILED,
    (_L.CREATED, _H.END_TIME): _L.PASSED_END_TIME,
    (_L.CREATED, _H.TERMINATE): _L.TERMINATING,
    (_L.FAILED, _H.TERMINATE): _L.TERMINATING,
    (_L.PASSED_END_TIME, _H.TERMINATE): _L.TERMINATING,
    (_L.TERMINATING, _H.TERMINATED): _L.TERMINATED,
}

S = TypeVar("S", bound=Enum)


def after(table: Mapping[tuple[S, Happening], S], state: S, happening: Happening) -> S | None:
    """The next state; None where it is no transition."""
    return table.get((state, happening))
