"""`PlanStep`: one reservation's outcome, the same from the matching of files to the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slotcar.admission.model import Refused
from slotcar.book.model import Entry
from slotcar.network.path.model import Hop
from slotcar.planning.routing import RoutedReservation
from slotcar.reservation.fingerprint import fingerprint_of
from slotcar.reservation.model import Reservation
from slotcar.views.documents import DERIVED_KEYS, reservation_document


class Action(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    CANCEL = "cancel"
    NO_OP = "no-op"


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """One key of a reservation that the files want otherwise."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What becomes of one reservation.

    Attributes:
        key: owner and name.
        reservation: as it is wanted; None for a cancel.
        handle, expected_version: of the ledger's entry, as the plan saw it; None for a create.
        entry: that entry; None also in a plan that was read from a document.
        cancelled: of a plan that was read to be shown, the reservation that it cancels.
        routed: the reservation with its paths and demands; None until it is admitted, and in a plan that was read.
        paths: of a plan that was read, what each direction's path crosses; None where it says nothing of that.
        refusal: the numbers, where there is no room for it.
        waits: whether it will wait for an operator's approval.
        seen: a digest of the entry as the plan saw it, without what other reservations and time may change.
        note: explains a no-op.
        notes: what whoever asks for it should know.
    """

    action: Action
    key: tuple[str, str]
    reservation: Reservation | None = None
    handle: str | None = None
    expected_version: int | None = None
    entry: Entry | None = None
    cancelled: Reservation | None = None
    routed: RoutedReservation | None = None
    paths: tuple[tuple[Hop, ...], ...] | None = None
    differences: tuple[KeyDifference, ...] = ()
    refusal: Refused | None = None
    waits: bool = False
    seen: str = ""
    note: str = ""
    notes: tuple[str, ...] = ()

    @property
    def before(self) -> Reservation | None:
        """What is there already, as far as it is known."""
        return self.entry.reservation if self.entry else self.cancelled

    @classmethod
    def about(cls, action: Action, entry: Entry, **fields: Any) -> PlanStep:
        """A step that concerns an entry of the ledger."""
        key = entry.reservation.key
        version, digest = entry.version, seen_of(entry)
        return cls(action, key, handle=entry.handle, expected_version=version, entry=entry, seen=digest, **fields)


def seen_of(entry: Entry) -> str:
    """A digest of what the plan saw of an entry. Of a deadline transfer it leaves out rates, which other requests move, and
    progress, which goes on by itself."""
    document: Mapping[str, object] = reservation_document(entry.latest)
    if entry.latest.need is not None:
        document = {key: value for key, value in document.items() if key not in {"slots", *DERIVED_KEYS}}
    return fingerprint_of({"state": entry.state.value, "proposed": entry.proposed is not None, "asked": document})
