"""GARA's enquire: the highest payload rate over a window, each way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.admission import SlotTables, demands, enquire
from controller.network.model import Network
from controller.path import find_paths
from controller.reservation.model import Reservation
from controller.timebase import Window
from controller.vocabulary import Direction


@dataclass(frozen=True, slots=True)
class Highest:
    """The highest payload rate one way; `limited_by` is the resource that runs out first, or the reason for 0."""

    direction: Direction
    rate_bps: int
    limited_by: str


@dataclass(frozen=True, slots=True)
class EnquiryAnswer:
    windows: tuple[Window, ...]
    directions: tuple[Highest, ...]


def ask_tables(asked: Reservation, network: Network, tables: SlotTables) -> EnquiryAnswer:
    """Each way of `asked` by itself; its own rate does not matter.

    Raises:
        NoPath: the endpoints are not connected, or not known.
    """
    ways: Sequence[Direction] = (
        (Direction.FORWARD, Direction.REVERSE) if asked.direction is Direction.BOTH else (asked.direction,)
    )
    paths = find_paths(asked, network)
    found = []
    for way, path in zip(ways, paths, strict=True):
        wanted = demands(asked, [path], network)
        answer = enquire(tables, wanted, asked.windows, sls=network.sls)
        found.append(Highest(way, answer.rate_bps, answer.limited_by))
    return EnquiryAnswer(asked.windows, tuple(found))
