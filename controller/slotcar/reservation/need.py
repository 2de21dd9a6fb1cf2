"""What is asked by need and not by rate: a volume of payload to be moved by a deadline."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from slotcar.base.timebase import Window
from slotcar.base.units import MAX_RATE_BPS, MAX_SIZE_BYTES
from slotcar.base.vocabulary import Shape

MICROBITS_PER_BYTE = 8_000_000
_Instant = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
_Rate = Annotated[int, Field(ge=0, le=MAX_RATE_BPS)]


class VolumeByDeadline(BaseModel):
    """A deadline transfer: admission finds the rates over time that move the volume by the deadline (ADR 23)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    volume_bytes: int = Field(ge=1, le=MAX_SIZE_BYTES, description="Payload, moved each reserved way.")
    by: _Instant = Field(description="The deadline.")
    start: _Instant | None = Field(default=None, description="Nothing is moved before; at once where it is null.")
    at_most_bps: _Rate | None = Field(default=None, description="No rate is above this one.")
    at_least_bps: _Rate = Field(default=0, description="No rate is below this one; the transfer pauses instead.")
    shape: Shape = Field(default=Shape.STEADY, description="Which profile is wanted where there is a choice.")

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if self.start is not None and self.start >= self.by:
            raise ValueError("the deadline is not after the start")
        if self.at_most_bps is not None and self.at_most_bps < max(1, self.at_least_bps):
            raise ValueError("at_least is above at_most, or at_most is 0")
        return self

    @property
    def highest_bps(self) -> int:
        return MAX_RATE_BPS if self.at_most_bps is None else self.at_most_bps

    def window_from(self, now: datetime) -> Window:
        """The time that is left at `now`, which is before the deadline."""
        return Window(max(self.start or now, now), self.by)

    def needed_bps(self, window: Window) -> int:
        """Volume / time, rounded up: the constant rate that moves all of it in the window."""
        return -(-self.volume_bytes * MICROBITS_PER_BYTE // (window.end_us - window.start_us))


def most_bytes(rate_bps: int, window: Window) -> int:
    """The volume that a constant rate moves in a window, rounded down."""
    return rate_bps * (window.end_us - window.start_us) // MICROBITS_PER_BYTE
