"""What a plan's reservations do to the delays that are promised, their own and others'. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slotcar.book.model import OCCUPYING, Entry
from slotcar.network.model import Network
from slotcar.planning.delay_bounds import DelayBounds
from slotcar.planning.errors import RefusedByAdmission
from slotcar.planning.step import Action, PlanStep


def with_promised_delays(steps: Sequence[PlanStep], after: Sequence[Entry], network: Network) -> tuple[PlanStep, ...]:
    """The steps, each as the ledger decides it beside all that is there after the plan: refused where a promised delay
    would not hold, else with what its own worst delays are.

    Args:
        after: the entries as the ledger would hold them.
    """
    bounds = DelayBounds(network)
    live = {one.reservation.key: one for one in after if one.state in OCCUPYING}
    decided = []
    for step in steps:
        entry = live.get(step.key)
        if entry is None or step.refusal or step.action not in (Action.CREATE, Action.CHANGE):
            decided.append(step)
            continue
        others = [one for one in live.values() if one is not entry]
        try:
            bounds.check(entry, others)
        except RefusedByAdmission as error:
            decided.append(replace(step, refusal=error.refused))
        else:
            decided.append(replace(step, notes=(*step.notes, *bounds.notes(entry, others))))
    return tuple(decided)
