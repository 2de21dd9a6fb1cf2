"""GARA's enquire: what is free over a window, each way and both ways at once: the highest rate, and steps over time.

Nothing is held by it. An enquiry about a reservation that there is says what could be added to it (GARA, Figure 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import cast

from slotcar.admission import ResourceId, SlotTables, demands, enquire
from slotcar.admission.model import Demand
from slotcar.base.timebase import Window, from_us, iso
from slotcar.base.vocabulary import Direction
from slotcar.book.model import OCCUPYING, Entry
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.planning.errors import NotPossible
from slotcar.reservation.model import Reservation, constant_slots
from slotcar.views.documents import window_document
from slotcar_client.wire import documents

#: An answer has no more steps each way; where more would be exact, it tells the least rate of longer parts of the time.
MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class FreeStep:
    """A payload rate that is free throughout a part of the time."""

    window: Window
    rate_bps: int


@dataclass(frozen=True, slots=True)
class FreeRates:
    """What is free over time, in order.

    Attributes:
        rounded: somewhere more is free than the steps say, or they are of the first `MOST_STEPS` windows only. Nowhere
            is less free.
    """

    steps: tuple[FreeStep, ...]
    rounded: bool = False


@dataclass(frozen=True, slots=True)
class Highest:
    """The highest payload rate one way; `limited_by` is the resource that runs out first.

    Attributes:
        routers: those of its path, in order.
        is_limited_behind: a domain behind this one, with a controller of its own, has less.
    """

    direction: Direction
    rate_bps: int
    limited_by: ResourceId | None
    routers: tuple[str, ...]
    free: FreeRates
    is_limited_behind: bool = False


@dataclass(frozen=True, slots=True)
class EnquiryAnswer:
    """Attributes:
    together: the rates that all of the directions may have at once, each of them.
    adds_to: handle of the reservation that all of this may be added to.
    unknown_beyond: domains behind which others are that tell nothing: there may be less.
    """

    windows: tuple[Window, ...]
    directions: tuple[Highest, ...]
    together: FreeRates
    adds_to: str | None = None
    unknown_beyond: tuple[str, ...] = ()


def ask_tables(
    reservation: Reservation, ways: Sequence[Sequence[Path]], network: Network, tables: SlotTables
) -> EnquiryAnswer:
    """What the reservation could have; its own rate does not matter. Of several ways, that with the highest rate is given.

    Args:
        ways: the paths that it may take, each as `find_paths` gives them.
    """
    return max(
        (_on_paths(reservation, paths, network, tables) for paths in ways),
        key=lambda answer: min(one.rate_bps for one in answer.directions),
    )


def ask_to_add(entry: Entry, network: Network, tables: SlotTables, now: datetime) -> EnquiryAnswer:
    """What could be added to a reservation from `now` to its end, on its own path.

    Raises:
        NotPossible: it is over, it is no flow, its rates are admission's to find, or the inventory lacks a part of its
            path.
    """
    reservation = entry.reservation
    probe = reservation.model_copy(update={"slots": constant_slots(_coming(entry, now), 1, reservation.direction)})
    try:
        if entry.proposed is not None:  # it is there beside what is in force, and what is added would take its place
            tables = tables.excerpt(demand.resource for demand in entry.occupied.demands)
            tables.remove(entry.occupied.demands, entry.occupied.windows)
            tables.add(entry.demands, reservation.slots)
        answer = _on_paths(probe, entry.paths, network, tables)
    except KeyError:
        words = f"the inventory no longer has the path of {'/'.join(reservation.key)}: cancel it, and reserve anew"
        raise NotPossible(words) from None
    return EnquiryAnswer(answer.windows, answer.directions, answer.together, entry.handle)


def _coming(entry: Entry, now: datetime) -> list[Window]:
    """The part of the reservation's windows that is to come."""
    reservation, name = entry.reservation, "/".join(entry.reservation.key)
    if entry.state not in OCCUPYING:
        raise NotPossible(f"{name} is {entry.state.value}: nothing can be added to it")
    if reservation.claim is not None:
        raise NotPossible(f"{name} reserves {reservation.claim.kind}, which has no rate that could be added to")
    if reservation.need is not None or reservation.share is not None:
        raise NotPossible(f"the rates of {name} are found by admission; only to a fixed rate can something be added")
    coming = [Window(max(now, one.start), one.end) for one in reservation.windows if one.end > now]
    if not coming:
        raise NotPossible(f"{name} ended at {iso(reservation.end)}: nothing can be added to it any more")
    return coming


def _on_paths(reservation: Reservation, paths: Sequence[Path], network: Network, tables: SlotTables) -> EnquiryAnswer:
    windows, directions = reservation.windows, []
    if reservation.receivers:
        slots = constant_slots(windows, 1, Direction.FORWARD)
        wanted = demands(reservation.model_copy(update={"slots": slots}), paths, network)
        answer, free = enquire(tables, wanted, slots, sls=network.sls), _free_rates(tables, wanted, windows, network)
        routers = tuple(dict.fromkeys(hop.device for path in paths for hop in path.hops))
        highest = Highest(Direction.FORWARD, answer.rate_bps, answer.limited_by, routers, free)
        return EnquiryAnswer(windows, (highest,), free)
    for way, path in zip(reservation.direction.ways, paths, strict=True):
        slots = constant_slots(windows, 1, way)
        wanted = demands(reservation.model_copy(update={"direction": way, "slots": slots}), [path], network)
        answer = enquire(tables, wanted, slots, sls=network.sls)
        routers = tuple(hop.device for hop in path.hops)
        free = _free_rates(tables, wanted, windows, network)
        directions.append(Highest(way, answer.rate_bps, answer.limited_by, routers, free))
    if len(directions) == 1:
        return EnquiryAnswer(windows, tuple(directions), directions[0].free)
    slots = constant_slots(windows, 1, reservation.direction)
    wanted = demands(reservation.model_copy(update={"slots": slots}), paths, network)
    return EnquiryAnswer(windows, tuple(directions), _free_rates(tables, wanted, windows, network))


def _free_rates(
    tables: SlotTables, wanted: Sequence[Demand], windows: Sequence[Window], network: Network
) -> FreeRates:
    """Steps of each window by itself, at least one; nothing is promised where nothing is asked of any resource."""
    from slotcar.admission.free import free_in
    from slotcar.admission.rates import Crossing
    from slotcar.admission.steady import coarse

    if not wanted:
        return FreeRates(tuple(FreeStep(window, 0) for window in windows[:MOST_STEPS]), len(windows) > MOST_STEPS)
    first_windows = list(islice(windows, MOST_STEPS))
    crossings, each = tuple(map(Crossing.of, wanted)), MOST_STEPS // len(first_windows)
    steps: list[FreeStep] = []
    rounded = len(first_windows) < len(windows)
    for window in first_windows:
        exact = free_in(tables, crossings, window, network.sls)
        rounded_steps = coarse(exact, each)
        rounded |= len(rounded_steps.starts_us) < len(exact.starts_us)
        steps += [FreeStep(Window(from_us(start), from_us(end)), rate) for start, end, rate in rounded_steps.profile()]
    return FreeRates(tuple(steps), rounded)


def enquiry_document(answer: EnquiryAnswer) -> documents.Enquiry:
    return {
        **_free_document(answer.together),
        "windows": [window_document(window) for window in answer.windows],
        "adds_to": answer.adds_to,
        "unknown_beyond": list(answer.unknown_beyond),
        "directions": [
            {
                **_free_document(one.free),
                "direction": cast(documents.Way, one.direction.value),
                "highest_rate_bps": one.rate_bps,
                "limited_by": str(one.limited_by) if one.limited_by else None,
                "is_limited_behind": one.is_limited_behind,
                "routers": list(one.routers),
            }
            for one in answer.directions
        ],
    }


def _free_document(free: FreeRates) -> documents.Free:
    steps: list[documents.FreeStep] = [{**window_document(one.window), "rate_bps": one.rate_bps} for one in free.steps]
    return {"steps": steps, "rounded": free.rounded}
