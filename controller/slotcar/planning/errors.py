"""What can go wrong between a wish and the ledger, each a sentence that says what would be right."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.admission.model import Refused
from slotcar.base.problems import SlotcarError
from slotcar.platforms.model import Unrenderable
from slotcar.reservation.model import Reservation
from slotcar.views.explain import refusal_sentences


class RefusedByAdmission(SlotcarError):
    """The network has no room for the request; `refused` has the numbers (docs/design.md rule 5)."""

    def __init__(self, reservation: Reservation, refused: Refused) -> None:
        self.reservation = reservation
        self.refused = refused
        super().__init__("\n".join(refusal_sentences(reservation, refused)))


class CannotExpress(Unrenderable):
    """A platform on the path cannot express the reservation, by itself or beside the others; the message says which."""


class NotPossible(SlotcarError):
    """What the caller asks, of a reservation or of a device, makes no sense; the message says what would."""


class LeavesTheDomain(NotPossible):
    """Its way crosses domains that have a controller each, which only a reservation over domains asks."""


class StalePlan(SlotcarError):
    """The plan cannot be applied any more: the inventory changed, or it was made without the ledger."""


class PlanRefused(SlotcarError):
    """A plan that holds a refusal is not applied, whole."""


def require_no_refusal(names: Iterable[str]) -> None:
    """
    Raises:
        PlanRefused: there are refused steps; these are their reservations.
    """
    if refused := list(names):
        raise PlanRefused(f"the plan holds refusals, so none of it is applied: {', '.join(refused)}")
