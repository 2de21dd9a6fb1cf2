"""GARA's enquire: the highest payload rate over a window, each way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.admission import ResourceId, SlotTables, demands, enquire
from controller.network.model import Network
from controller.path import find_paths
from controller.reservation.model import Reservation, constant_slots
from controller.timebase import Window
from controller.views.documents import window_document
from controller.vocabulary import Direction


@dataclass(frozen=True, slots=True)
class Highest:
    """The highest payload rate one way; `limited_by` is the resource that runs out first."""

    direction: Direction
    rate_bps: int
    limited_by: ResourceId | None


@dataclass(frozen=True, slots=True)
class EnquiryAnswer:
    windows: tuple[Window, ...]
    directions: tuple[Highest, ...]


def ask_tables(asked: Reservation, network: Network, tables: SlotTables) -> EnquiryAnswer:
    """Each way of `asked` by itself; its own rate does not matter.

    Raises:
        NoPath: the endpoints are not connected, or not known.
    """
    paths = find_paths(asked, network)
    directions = []
    for way, path in zip(asked.direction.ways, paths, strict=True):
        slots = constant_slots(asked.windows, 1, way)
        wanted = demands(asked.model_copy(update={"direction": way, "slots": slots}), [path], network)
        answer = enquire(tables, wanted, slots, sls=network.sls)
        directions.append(Highest(way, answer.rate_bps, answer.limited_by))
    return EnquiryAnswer(asked.windows, tuple(directions))


def enquiry_document(answer: EnquiryAnswer) -> dict[str, Any]:
    return {
        "windows": [window_document(window) for window in answer.windows],
        "directions": [
            {
                "direction": one.direction.value,
                "highest_rate_bps": one.rate_bps,
                "limited_by": str(one.limited_by) if one.limited_by else None,
            }
            for one in answer.directions
        ],
    }
