"""A joint plan in whole bits per second: what a solver proposes, as the exact slot tables carry it.

Rounding leaves a proposed profile short by bytes, and a rate below what the transfer may have is no step. Whoever is
short by that takes what is free: first where it has a step already, then in blocks where it has none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from slotcar.admission.free import Free, free_in, profile_columns
from slotcar.admission.program import (
    FEW_BLOCKS,
    MOST_BLOCKS,
    LinearSolver,
    Movable,
    ProposedProfile,
    joint_profiles,
)
from slotcar.admission.rates import Profile, RateStep, excess, merged, microbits
from slotcar.admission.tables import SlotTables
from slotcar.network.model import Sls

#: Of a volume: what is less is an error of floating point.
_NOTHING = 1e-6
#: Who has over one in so many parts more than its volume has less.
_MUCH = 1_000


def jointly_placed(
    tables: SlotTables, movables: Sequence[Movable], solver: LinearSolver, sls: Mapping[str, Sls] | None
) -> list[Profile] | None:
    """A profile for each that moves its volume beside all others, with no more steps than there may be; None where none
    were found.

    The solver is asked once, and once more where its rates make too many steps, or no steps at all.

    Args:
        tables: they hold nothing of what is movable. Not changed.
    """
    proposed = joint_profiles(tables, movables, solver, sls)
    placed = None if proposed is None else packed(tables, movables, proposed, sls)
    if proposed is None or (placed is not None and max(map(len, placed)) <= FEW_BLOCKS):
        return placed
    few = len(placed or ()) > 0
    barred = [one._replace(barred=_too_slow(one, proposal)) for one, proposal in zip(movables, proposed, strict=True)]
    again = joint_profiles(tables, barred, solver, sls, FEW_BLOCKS if few else MOST_BLOCKS)
    return placed if again is None else packed(tables, movables, again, sls) or placed


def _too_slow(one: Movable, proposal: ProposedProfile) -> Profile:
    """The blocks in which a transfer would have less than the least rate that it may have."""
    return tuple(step for step in proposal.blocks if 0 < step.rate_bps < one.transfer.at_least_bps)


def packed(
    tables: SlotTables, movables: Sequence[Movable], proposed: Sequence[ProposedProfile], sls: Mapping[str, Sls] | None
) -> list[Profile] | None:
    """A profile for each that moves its volume, in the blocks of the proposed one; None where one stays short.

    Whoever stays where it is by the proposal does so, if that works out; of the others, whoever must be done first is
    placed first. `tables` hold nothing of what is movable. Not changed.
    """
    stay = {number for number, one in enumerate(proposed) if movables[number].present and one.moved_share < _NOTHING}
    profiles = _packed(tables.copy(), movables, proposed, sls, stay)
    return _packed(tables.copy(), movables, proposed, sls, ()) if profiles is None and stay else profiles


def _packed(
    tables: SlotTables,
    movables: Sequence[Movable],
    proposed: Sequence[ProposedProfile],
    sls: Mapping[str, Sls] | None,
    staying: Collection[int],
) -> list[Profile] | None:
    """As `packed`; the tables hold the profiles then."""
    order = sorted(range(len(movables)), key=lambda number: (number not in staying, movables[number].window.end_us))
    blocks: list[Profile] = [()] * len(movables)
    others = []
    for number in order:
        one, proposal = movables[number], proposed[number].blocks
        usable = usable_by(tables, one, sls)
        if number in staying and not excess(one.present, usable.profile()):
            blocks[number] = one.present
        else:
            blocks[number] = _carried(proposal, usable, one.transfer.at_least_bps)
            others.append(number)
        occupy(tables, one, blocks[number])
    for place, number in enumerate(others):
        one, needed = movables[number], movables[number].transfer.microbits
        spare = microbits(blocks[number]) - needed
        if 0 <= spare * _MUCH <= needed:
            continue
        occupy(tables, one, blocks[number], sign=-1)
        if spare < 0:
            blocks[number] = raised(blocks[number], usable_by(tables, one, sls), needed, one.transfer.at_least_bps)
            _raise_before(tables, movables, blocks, number, others[place + 1 :], sls)
        if microbits(blocks[number]) < needed:
            return None
        blocks[number] = lowered(blocks[number], needed, one.transfer.at_least_bps)
        occupy(tables, one, blocks[number])
    return [merged(one) for one in blocks]


def _raise_before(
    tables: SlotTables,
    movables: Sequence[Movable],
    blocks: list[Profile],
    number: int,
    later: Sequence[int],
    sls: Mapping[str, Sls] | None,
) -> None:
    """Gives a transfer, where it is short, what those that are placed later have, the latest first, until it is not.

    A later one has more of its window left to make that up. `blocks` are changed, and the tables, which hold nothing of
    the transfer before and after.
    """
    one, needed = movables[number], movables[number].transfer.microbits
    for place in reversed(later):
        if microbits(blocks[number]) >= needed:
            return
        other = movables[place]
        occupy(tables, other, blocks[place], sign=-1)
        blocks[number] = raised(blocks[number], usable_by(tables, one, sls), needed, one.transfer.at_least_bps)
        occupy(tables, one, blocks[number])
        blocks[place] = _carried(blocks[place], usable_by(tables, other, sls), other.transfer.at_least_bps)
        occupy(tables, one, blocks[number], sign=-1)
        occupy(tables, other, blocks[place])


def usable_by(tables: SlotTables, one: Movable, sls: Mapping[str, Sls] | None) -> Free:
    """What a movable volume can use of what the tables leave in its window."""
    return one.transfer.usable(free_in(tables, one.transfer.crossings, one.window, sls))


def occupy(tables: SlotTables, one: Movable, profile: Profile, sign: int = 1) -> None:
    """Puts a profile into the tables, or takes it out; steps of rate 0 too."""
    steps = merged(profile)
    if steps and one.transfer.crossings:
        tables.add_columns(profile_columns(one.transfer.crossings, steps), sign=sign)


def _carried(proposed: Profile, usable: Free, at_least_bps: int) -> Profile:
    """The blocks with what is usable throughout each of them."""
    rates = (
        min(block.rate_bps, rate_bps) for block, rate_bps in zip(proposed, _throughout(proposed, usable), strict=True)
    )
    return tuple(
        RateStep(block.start_us, block.end_us, rate_bps if rate_bps >= at_least_bps else 0)
        for block, rate_bps in zip(proposed, rates, strict=True)
    )


def _throughout(blocks: Profile, usable: Free) -> list[int]:
    """What is usable throughout each block; the blocks have no gap between them."""
    cuts = np.array([blocks[0].start_us, *(block.end_us for block in blocks)], dtype=np.int64)
    least: list[int] = usable.least_between(cuts).tolist()
    return least


def raised(blocks: Profile, usable: Free, needed_microbits: int, at_least_bps: int) -> Profile:
    """The blocks with higher rates, until they move the volume or all that is usable throughout each.

    Those with a rate first, for they add no border; earliest first. `usable`: without the blocks themselves.
    """
    missing = needed_microbits - microbits(blocks)
    if missing <= 0:
        return blocks
    after, most = list(blocks), _throughout(blocks, usable)
    for number in sorted(range(len(blocks)), key=lambda number: not blocks[number].rate_bps):
        block = blocks[number]
        length_us = block.end_us - block.start_us
        rate_bps = min(max(at_least_bps, block.rate_bps + -(-missing // length_us)), most[number])
        if missing > 0 and rate_bps > block.rate_bps:
            after[number] = block._replace(rate_bps=rate_bps)
            missing -= (rate_bps - block.rate_bps) * length_us
    return tuple(after)


def lowered(blocks: Profile, needed_microbits: int, at_least_bps: int) -> Profile:
    """The blocks with lower rates, latest first, as long as they move the volume."""
    spare = microbits(blocks) - needed_microbits
    if spare <= 0:
        return blocks
    after: list[RateStep] = []
    for block in reversed(blocks):
        length_us = block.end_us - block.start_us
        rate_bps = block.rate_bps
        if rate_bps and block.microbits <= spare:
            rate_bps = 0
        elif rate_bps > at_least_bps:
            rate_bps = max(at_least_bps, rate_bps - max(0, spare) // length_us)
        spare -= (block.rate_bps - rate_bps) * length_us
        after.append(block._replace(rate_bps=rate_bps))
    return tuple(reversed(after))
