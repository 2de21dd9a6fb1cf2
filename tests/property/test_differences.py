"""What a plan shows of the devices, rendered for those that can differ, is what rendering all of them shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import MICROSECOND
from slotcar.base.vocabulary import Service
from slotcar.book.model import Entry, State
from slotcar.book.timeline import active_at
from slotcar.network.model import Network
from slotcar.platforms.model import Configuration
from slotcar.reservation.model import Slot
from slotcar.views.configurations import DeviceDiff, Differences, configurations_at, transitions
from tests.property.test_configuring import FLOWS, HOUR, NETWORKS, NOW, of_two_rates
from tests.support.examples import examples

#: The SLS of both networks that ends does so an hour after `NOW`.
TIMES = [NOW + timedelta(minutes=30) * number for number in range(5)]
STATES = (State.COMMITTED, State.COMMITTED, State.COMMITTED, State.HELD, State.CANCELLED)


def plain(before: dict[str, Configuration], after: dict[str, Configuration]) -> tuple[DeviceDiff, ...]:
    """From the configurations of all devices."""
    return tuple(
        DeviceDiff(name, before[name], after[name], after[name].approximations)
        for name in sorted(after)
        if name in before and before[name].lines != after[name].lines
    )


def plain_at(entries: Sequence[Entry], network: Network, at: datetime) -> tuple[DeviceDiff, ...]:
    before = configurations_at(entries, network, at - MICROSECOND)
    return plain(before, configurations_at(entries, network, at))


@st.composite
def slots(draw: st.DrawFn, most_bps: int) -> tuple[Slot, ...]:
    """One to three, that may touch, with rates of their own."""
    edges = sorted(draw(st.sets(st.integers(0, 4), min_size=2, max_size=4)))
    pairs = pairwise(edges) if draw(st.booleans()) else zip(edges[::2], edges[1::2], strict=False)
    rates = st.sampled_from((most_bps, most_bps // 10))
    return tuple(Slot(TIMES[start], TIMES[end], draw(rates), 0) for start, end in pairs)


@st.composite
def ledgers(draw: st.DrawFn, name: str) -> tuple[Entry, ...]:
    chosen = draw(st.lists(st.sampled_from(FLOWS[name]), max_size=5, unique_by=lambda one: one.entry.number))
    return tuple(
        replace(
            one.entry,
            reservation=one.entry.reservation.model_copy(
                update={"slots": draw(slots(one.entry.reservation.peak_rate_bps))}
            ),
            state=draw(st.sampled_from(STATES)),
        )
        for one in chosen
    )


@pytest.mark.parametrize("name", NETWORKS)
@examples(8, 20)
@given(data=st.data())
def test_each_boundary_shows_what_rendering_every_device_shows(name: str, data: st.DataObject) -> None:
    network, entries = NETWORKS[name], data.draw(ledgers(name))
    boundaries = {one.at: one for one in transitions(entries, TIMES, Differences(network))}
    shown = {at: one.devices for at, one in boundaries.items() if one.devices}
    assert shown == {at: diffs for at in TIMES if (diffs := plain_at(entries, network, at))}
    for at in TIMES:
        wanted = configurations_at(entries, network, at)
        before = {one.entry.number for one in active_at(entries, at - MICROSECOND)}
        begins = [one.entry for one in active_at(entries, at) if one.entry.number not in before]
        crossed = {name for one in begins for name in one.devices}
        approximated = {note for name in crossed & wanted.keys() for note in wanted[name].approximations}
        assert approximated <= set(boundaries[at].approximations if at in boundaries else ())


@pytest.mark.parametrize("name", NETWORKS)
@examples(8, 20)
@given(data=st.data())
def test_two_ledgers_differ_as_rendering_every_device_shows(name: str, data: st.DataObject) -> None:
    network, before, after = NETWORKS[name], data.draw(ledgers(name)), data.draw(ledgers(name))
    differences = Differences(network)
    for at in TIMES:
        shown = differences.between(active_at(before, at), at, active_at(after, at), at)
        assert shown.devices == plain(configurations_at(before, network, at), configurations_at(after, network, at))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_change_of_rate_inside_a_slot_is_shown(name: str) -> None:
    shown = []
    for one in FLOWS[name][:6]:
        changes = tuple(transitions((of_two_rates(one.entry),), (NOW + 2 * HOUR,), Differences(NETWORKS[name])))
        assert changes or one.entry.reservation.service is Service.QBSS
        shown += changes
    assert shown
