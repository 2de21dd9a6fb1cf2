"""What is free, and why a request was refused."""

from __future__ import annotations

from typing import Literal, TypedDict

from slotcar_client.answers.reservations import Window


class FreeStep(Window):
    """A payload rate that is free throughout."""

    rate_bps: int


class Highest(TypedDict):
    """`routers`: those of the path. `steps`: what is free over time; `rounded`: somewhere more is."""

    direction: Literal["forward", "reverse"]
    highest_rate_bps: int
    limited_by: str | None
    routers: list[str]
    steps: list[FreeStep]
    rounded: bool


class Enquiry(TypedDict):
    """`steps` are what all directions may have at once, `adds_to` the reservation that it may be added to."""

    windows: list[Window]
    adds_to: str | None
    directions: list[Highest]
    steps: list[FreeStep]
    rounded: bool


class Shortfall(TypedDict):
    """The amounts are in `unit`, such as `bps` or `millicores`."""

    resource: str
    place: str
    window: Window
    unit: str
    requested_bps: int
    free_bps: int
    capacity_bps: int


class TransferRefusal(TypedDict):
    """Why a volume cannot be moved by its deadline, and what would fit."""

    asked_bytes: int
    deadline: str
    most_bytes: int
    earliest_deadline: str | None
    tightest: str | None
    place: str | None
    tightest_bytes: int
    horizon: str


class Refusal(TypedDict):
    """`highest_rate_bps` is a flow's payload rate; of another resource it is in the `unit` of the shortfalls."""

    reason: str
    shortfalls: list[Shortfall]
    nearest_window: Window | None
    highest_rate_bps: int | None
    highest_share_permille: int | None
    transfer: TransferRefusal | None
    horizon: str | None
    paths_tried: int
    path: list[str]
