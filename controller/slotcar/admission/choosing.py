"""Which of several paths a request takes: the first that has room for it (ADR 25)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from slotcar.admission.component import PlacedTransfer
from slotcar.admission.model import Admitted, Demand, Refused
from slotcar.admission.placing import NOTHING_DONE, Done, Placement, Rules, place
from slotcar.admission.tables import SlotTables
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation


def place_on_first(
    tables: SlotTables,
    reservation: Reservation,
    choices: Sequence[tuple[Sequence[Path], Sequence[Demand]]],
    rules: Rules,
    *,
    without: Sequence[Admitted] = (),
    movable: Callable[[], Sequence[PlacedTransfer]] = tuple,
    done: Done = NOTHING_DONE,
    changes: bool = False,
) -> Placement | Refused:
    """The request on the first path that has room as things stand, else on the first for which others can move.

    Nobody moves while another path has room. Else as `place`; a refusal is that of the path with the most room.

    Args:
        choices: its paths with their demands, one choice at least.
    """

    def placed(demands: Sequence[Demand], others: Callable[[], Sequence[PlacedTransfer]]) -> Placement | Refused:
        return place(tables, reservation, demands, rules, without=without, movable=others, done=done, changes=changes)

    refusals: list[Refused] = []
    for others in (movable,) if len(choices) == 1 else (tuple, movable):
        refusals = []
        for number, (_, demands) in enumerate(choices):
            answer = placed(demands, others)
            if isinstance(answer, Placement):
                return replace(answer, path_number=number) if number else answer
            refusals.append(answer)
    if len(choices) == 1:
        return refusals[0]
    best = max(range(len(choices)), key=lambda number: refusals[number].merit)
    routers = tuple(hop.device for hop in choices[best][0][0].hops)
    return replace(refusals[best], paths_tried=len(choices), path=routers)
