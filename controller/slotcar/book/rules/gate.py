"""The operator's gate: which reservations, and which changes of them, wait for an operator's approval."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from slotcar.book.rules.amounts import Amount


@dataclass(frozen=True, slots=True)
class Gate:
    """Reservations above either limit wait for approval; None for no limit.

    Attributes:
        rate_bps: payload rate of one direction; a background reservation's is its `at_most`.
        duration: all slots of the reservation together.
    """

    rate_bps: int | None = None
    duration: timedelta | None = None

    @property
    def limits_something(self) -> bool:
        return self.rate_bps is not None or self.duration is not None

    def is_exceeded_by(self, amount: Amount) -> bool:
        """Whether the amount is above the gate."""
        too_fast = self.rate_bps is not None and amount.rate_bps > self.rate_bps
        too_long = self.duration is not None and amount.open_time > self.duration
        return too_fast or too_long


def needs_approval(gate: Gate, amount: Amount, approved: Amount | None) -> bool:
    """Whether `amount` waits for an operator: it is above the gate, and more than `approved`, which is in force without it.

    However small the step is, a raise above the gate waits: what is in force above the gate was approved as it is.
    """
    return gate.is_exceeded_by(amount) and (approved is None or amount.exceeds(approved))
