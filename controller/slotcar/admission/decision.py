"""The decision: does a request fit, and if it does not, what, where, when and how much (docs/design.md rules 3 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from slotcar.admission.arithmetic import payload_rate_bps, scaled_up
from slotcar.admission.kernels import FOREVER
from slotcar.admission.model import PERMILLE, Admitted, Demand, Enquiry, Refused, Shortfall
from slotcar.admission.resource_id import SLS, sls_resource
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window, from_us, to_us
from slotcar.network.model import Sls

#: The last moment that a `datetime` can tell.
LAST_US = to_us(datetime.fromisoformat("9999-12-31T23:59:59.999999+00:00"))


def decide(
    tables: SlotTables,
    demands: Sequence[Demand],
    windows: Sequence[Window],
    *,
    sls: Mapping[str, Sls] | None = None,
    horizon: datetime | None = None,
    without: Sequence[Admitted] = (),
    one_rate: bool = True,
) -> Admitted | Refused:
    """Whether the demands fit over all windows together. Changes nothing: the caller adds what is admitted.

    Args:
        sls: the network's SLSs, by name; one that is demanded must be valid over every window.
        horizon: a nearest window ends by then at the latest.
        without: what counts as absent: the old form of a reservation that is being modified. Admitted, the caller
            removes it from the tables before adding the new; refused, nothing has changed and the old stands.
        one_rate: the demands are those of one payload rate in all windows and directions: a refusal names the highest
            such rate. Else it names the share of all the rates that fits.

    Raises:
        ValueError: a rate that no sane network has, or something in `without` that the tables do not hold.
    """
    if without:
        with absent(tables, demands, without):
            return decide(tables, demands, windows, sls=sls, horizon=horizon, one_rate=one_rate)
    nonzero: Sequence[Demand] = [demand for demand in demands if any(demand.amounts)]
    if len(nonzero) == len(demands):
        nonzero = demands  # the same object: the tables keep the arrays of their latest request
    invalid = _invalid(nonzero, windows, sls) if sls else []
    if not invalid and tables.fits(nonzero, windows):
        return Admitted(tuple(demands), tuple(windows))
    return Refused(
        shortfalls=_shortfalls(tables, nonzero, windows),
        nearest_window=_nearest(tables, nonzero, windows, sls or {}, horizon),
        highest_rate_bps=(0 if invalid else _highest(tables, nonzero, windows).rate_bps) if one_rate else None,
        highest_share_permille=None if one_rate else 0 if invalid else _highest_share(tables, nonzero, windows),
        reason="; ".join(_not_valid(agreement, window) for agreement, window in invalid),
        horizon=horizon,
    )


def enquire(
    tables: SlotTables,
    demands: Sequence[Demand],
    windows: Sequence[Window],
    *,
    sls: Mapping[str, Sls] | None = None,
    without: Sequence[Admitted] = (),
) -> Enquiry:
    """The highest payload rate that fits over all windows, and what limits it (GARA's enquire).

    The demands' own rates do not matter, only their resources and header ratios: they may be 0.
    """
    for agreement, _ in _invalid(demands, windows, sls or {}):
        return Enquiry(0, sls_resource(agreement.name))
    with absent(tables, demands, without):
        return _highest(tables, demands, windows)


@contextmanager
def absent(tables: SlotTables, demands: Sequence[Demand], without: Sequence[Admitted]) -> Iterator[None]:
    """Some reservations taken out of the demanded resources, and put back whatever happens.

    A copy of six resources takes 20 ms at a million live; this, 40 us. Equal tables have equal steps, so nobody can
    tell afterwards.

    Raises:
        ValueError: one of them was never added.
    """
    names, removed = {demand.resource for demand in demands} if without else set(), []
    try:
        for old in without:
            old_demands = [demand for demand in old.demands if demand.resource in names]
            tables.remove(old_demands, old.windows)
            removed.append((old_demands, old.windows))
        yield
    finally:
        for old_demands, windows in removed:
            tables.add(old_demands, windows)


def _invalid(demands: Sequence[Demand], windows: Sequence[Window], sls: Mapping[str, Sls]) -> list[tuple[Sls, Window]]:
    """Demanded SLSs that do not hold over some window, with the first such window."""
    outside = []
    for agreement in _demanded(demands, sls):
        window = next((window for window in windows if not agreement.valid_over(window)), None)
        if window:
            outside.append((agreement, window))
    return outside


def _demanded(demands: Sequence[Demand], sls: Mapping[str, Sls]) -> list[Sls]:
    names = (demand.resource.place for demand in demands if demand.resource.kind == SLS)
    return [sls[name] for name in names if name in sls]


def _not_valid(agreement: Sls, window: Window) -> str:
    return f"SLS {agreement.name} is not valid over {window}: it holds {agreement.validity}"


def _shortfalls(tables: SlotTables, demands: Sequence[Demand], windows: Sequence[Window]) -> tuple[Shortfall, ...]:
    """Every short resource at its worst moment of all windows, the first of equals."""
    shortfalls = []
    for demand in demands:
        cases = [
            (case[0] + amount, case, amount)
            for window, amount in zip(windows, demand.over(len(windows)), strict=True)
            if (case := tables.worst(demand.resource, window, amount))
        ]
        if cases:
            _, (peak, window), amount = max(cases, key=lambda case: case[0])
            capacity = tables.capacity(demand.resource)
            shortfalls.append(Shortfall(demand.resource, window, amount, max(0, capacity - peak), capacity))
    return tuple(shortfalls)


def _highest(tables: SlotTables, demands: Sequence[Demand], windows: Sequence[Window]) -> Enquiry:
    best: Enquiry | None = None
    for demand in demands:
        free = tables.capacity(demand.resource) - max(tables.peak(demand.resource, window) for window in windows)
        rate = payload_rate_bps(free, demand.wire_bytes, demand.payload_bytes)
        if best is None or rate < best.rate_bps:
            best = Enquiry(rate, demand.resource)
    return best or Enquiry(0)


def _highest_share(tables: SlotTables, demands: Sequence[Demand], windows: Sequence[Window]) -> int:
    """The highest share of all amounts, in thousandths, that fits in every window at once."""
    low, high = 0, PERMILLE  # the whole does not fit, nothing does
    while high - low > 1:
        middle = (low + high) // 2
        part = [
            replace(one, amounts=tuple(scaled_up(amount, middle, PERMILLE) for amount in one.amounts))
            for one in demands
        ]
        low, high = (middle, high) if tables.fits(part, windows) else (low, middle)
    return low


def _nearest(
    tables: SlotTables,
    demands: Sequence[Demand],
    windows: Sequence[Window],
    sls: Mapping[str, Sls],
    horizon: datetime | None,
) -> Window | None:
    """The first occurrence, all occurrences shifted together by the least time that makes everything fit."""
    first, last = windows[0].start_us, windows[-1].end_us
    least, most = 0, (to_us(horizon) if horizon else LAST_US) - last
    for agreement in _demanded(demands, sls):
        if agreement.validity:
            least = max(least, agreement.validity.start_us - first)
            most = min(most, agreement.validity.end_us - last)
    shift = tables.nearest_shift_us(demands, windows, least, min(most, FOREVER - last - 1))
    if shift is None:
        return None
    return Window(from_us(first + shift), from_us(windows[0].end_us + shift))
