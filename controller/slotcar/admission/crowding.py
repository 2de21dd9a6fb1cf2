"""What no plan can do: more volume must lie within some time than is free on a resource then.

Of a transfer with a highest rate, so much must lie within a time as it cannot move before and after it, within its own
window. Summed over all that cross a resource, for each time from one's start to another one's deadline, that is at most
what is free there, or nothing makes room: a solver need not be asked, which takes longest where there is no plan.
That nothing is too much here does not say that there is a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slotcar.admission.deadline import Transfer
from slotcar.admission.free import Free, free_in
from slotcar.admission.rates import Crossing
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.steady import Floats
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window
from slotcar.network.model import Sls

#: Of what is free: what is less may be an error of floating point.
_NOTHING = 1e-9


def must_exceed(
    tables: SlotTables, resource: ResourceId, transfers: Sequence[Transfer], sls: Mapping[str, Sls] | None = None
) -> bool:
    """Whether the transfers that cross the resource need more of it in some time than the tables leave, however they lie.

    Args:
        tables: they hold nothing of the transfers. Not changed.
    """
    crossing = [
        (one, wire_bytes / payload_bytes)
        for one in transfers
        for crossed, wire_bytes, payload_bytes in one.crossings
        if crossed == resource
    ]
    if not crossing:
        return False
    windows = [one.window for one, _ in crossing]
    first_us, last_us = min(one.start_us for one in windows), max(one.end_us for one in windows)
    starts = np.unique(np.array([one.start_us - first_us for one in windows], dtype=np.float64))
    ends = np.unique(np.array([one.end_us - first_us for one in windows], dtype=np.float64))
    free = free_in(tables, [Crossing(resource)], Window.of_us(first_us, last_us), sls)
    available = _before(free, ends)[None, :] - _before(free, starts)[:, None]
    needed = np.zeros_like(available)
    for transfer, ratio in crossing:
        needed += ratio * _inside(transfer, starts + first_us, ends + first_us)
    within = ends[None, :] > starts[:, None]
    return bool((needed > available + _NOTHING * float(available.max()))[within].any())


def _inside(transfer: Transfer, starts_us: Floats, ends_us: Floats) -> Floats:
    """`[start, end]`: the least of the transfer's microbits that lie from the start to the end."""
    first_us, last_us = transfer.span_us
    before = np.clip(starts_us, first_us, last_us) - first_us
    after = last_us - np.clip(ends_us, first_us, last_us)
    outside = transfer.at_most_bps * (before[:, None] + after[None, :])
    inside: Floats = np.maximum(transfer.microbits - outside, 0)
    return inside


def _before(free: Free, times: Floats) -> Floats:
    """What is free before each of the times, which count from the first one, microbits."""
    starts = (free.starts_us - free.starts_us[0]).astype(np.float64)
    lengths = (free.ends_us - free.starts_us).astype(np.float64)
    sums = np.concatenate(([0.0], np.cumsum(lengths * free.rates_bps)))
    places = np.minimum(np.searchsorted(starts, times, "right") - 1, len(starts) - 1)
    volumes: Floats = sums[places] + (times - starts[places]) * free.rates_bps[places]
    return volumes
