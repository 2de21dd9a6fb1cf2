"""What a provider keeps of a connection that was asked for by NSI, beside what the domains agree on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from slotcar.domains.nsi.messages import Criteria, Notification, NsiResult, States, Summary
from slotcar.domains.nsi.states import LifecycleState, ProvisionState, ReservationState


@dataclass(frozen=True, slots=True)
class Callback:
    """A message that waits to be sent: `envelope` to `url`, after `tries` that failed, not before `due`."""

    number: int
    kind: str
    url: str
    envelope: str
    due: datetime
    tries: int = 0


@dataclass(frozen=True, slots=True)
class NsiConnection:
    """One connection as its requester sees it; `Connection` of the same `id` is what the domains make of it.

    Attributes:
        owner: as this domain's ledger calls it. actor, asker: who asked, as policies see it (`slotcar.policy.recalling`).
        requester: its agent. reply_to: where its callbacks go.
        requested: the criteria that are, or were last, asked for. attempt: which of the domains' attempts that is; 0 of one
            that they do not know of yet.
        in_force: what was committed last; None before.
        reserving, provisioning, ending: the correlation of what is under way in each of the three state machines.
        active: whether the data plane has it; `active_version` the version that it has.
        last_number: of notifications and results, which are counted together.
        outbox: callbacks that were not delivered yet. callbacks: how many there were.
    """

    id: str
    owner: str
    requester: str
    reply_to: str
    requested: Criteria
    changed_at: datetime
    global_id: str = ""
    description: str = ""
    attempt: int = 0
    in_force: Criteria | None = None
    reservation: ReservationState = ReservationState.CHECKING
    provision: ProvisionState = ProvisionState.RELEASED
    lifecycle: LifecycleState = LifecycleState.CREATED
    reserving: str = ""
    provisioning: str = ""
    ending: str = ""
    active: bool = False
    active_version: int = 0
    last_number: int = 0
    notifications: tuple[Notification, ...] = ()
    results: tuple[NsiResult, ...] = ()
    outbox: tuple[Callback, ...] = ()
    callbacks: int = 0
    actor: str = ""
    asker: dict[str, Any] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is under way, or to be told: time alone brings nothing to it."""
        reserving = (ReservationState.CHECKING, ReservationState.COMMITTING, ReservationState.ABORTING)
        is_created = self.lifecycle is LifecycleState.CREATED
        provisioned = is_created and self.provision is not ProvisionState.RELEASED
        return not (
            self.outbox or self.active or provisioned or self.lifecycle is LifecycleState.TERMINATING
            or (is_created and (self.reservation in reserving or self.reservation is ReservationState.HELD))
        )  # fmt: skip

    @property
    def states(self) -> States:
        version = self.in_force.version if self.in_force else 0
        consistent = not self.active or self.active_version == version
        return States(self.reservation, self.provision, self.lifecycle, self.active, self.active_version, consistent)

    @property
    def summary(self) -> Summary:
        """As a query tells it: what is in force, else what is asked for."""
        return Summary(
            self.id,
            self.requester,
            self.states,
            (replace(self.in_force or self.requested, version=(self.in_force or self.requested).version or 0),),
            self.global_id,
            self.description,
            max((each.number for each in self.notifications), default=None),
            max((each.number for each in self.results), default=None),
        )


@cache
def _adapter() -> TypeAdapter[NsiConnection]:
    return TypeAdapter(NsiConnection)


def to_document(connection: NsiConnection) -> dict[str, Any]:
    document: dict[str, Any] = _adapter().dump_python(connection, mode="json")
    return document


def from_document(document: Any) -> NsiConnection:
    return _adapter().validate_python(document)
