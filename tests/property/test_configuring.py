"""What a controller remembers of devices' configurations shows in its speed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import Entry
from slotcar.book.timeline import Active
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.reservation.model import Endpoint, Reservation, Slot
from slotcar.rollout.configuring import Configuring
from tests.support.examples import examples

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
WINDOW = Window(NOW, NOW + 4 * HOUR)
SERVICES = (Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS)


def with_an_sls_that_ends(network: Network) -> Network:
    name = min(network.sls)
    sls = network.sls[name].model_copy(update={"validity": Window(NOW - HOUR, NOW + HOUR)})
    return network.model_copy(update={"sls": network.sls | {name: sls}})


def flows(network: Network) -> list[Active]:
    """A reservation between each two hosts that have one, its service in turn; and each once more, at another rate."""
    entries: list[Active] = []
    for source, destination in permutations(sorted(network.hosts), 2):
        for rate_bps in (1_000_000, 2_000_000):
            request = Reservation.constant(
                name=f"{source}-{destination}", owner="o", source=Endpoint(host=source),
                destination=Endpoint(host=destination, port=5001), protocol=Protocol.UDP,
                service=SERVICES[len(entries) // 2 % 3], rate_bps=rate_bps, windows=(WINDOW,),
            )  # fmt: skip
            try:
                (entry,) = entries_of([request], network, NOW)
            except SlotcarError:
                break
            entries.append(Active(replace(entry, number=len(entries) // 2), 0))
    return entries


def of_two_rates(entry: Entry) -> Entry:
    """The second half of its slot at a tenth of the rate."""
    (slot,) = entry.reservation.slots
    halves = (replace(slot, end=NOW + 2 * HOUR), Slot(NOW + 2 * HOUR, slot.end, slot.forward_bps // 10, 0))
    return replace(entry, reservation=entry.reservation.model_copy(update={"slots": halves}))


NETWORKS = {name: with_an_sls_that_ends(load_network(ROOT / "inventories" / name)) for name in ("garnet", "datagrid")}
FLOWS = {name: flows(network) for name, network in NETWORKS.items()}
#: The same as schedules of two slots with a rate each, in the one or in the other.
SCHEDULES = {
    name: [Active(of_two_rates(one.entry), slot) for one in held for slot in (0, 1)] for name, held in FLOWS.items()
}


def test_the_networks_have_flows_to_choose_from() -> None:
    assert all(len(active) >= 8 for active in FLOWS.values())


@pytest.mark.parametrize("name", NETWORKS)
@examples(10, 40)
@given(data=st.data())
def test_one_who_remembers_says_what_one_who_was_never_asked_before_says(name: str, data: st.DataObject) -> None:
    network = NETWORKS[name]
    choice = st.lists(st.sampled_from(SCHEDULES[name]), max_size=5, unique_by=lambda one: one.entry.number)
    questions: Sequence[tuple[list[Active], int]] = data.draw(
        st.lists(st.tuples(choice, st.integers(0, 2)), max_size=6)
    )
    remembers = Configuring(network)
    for active, hours in questions:
        at = NOW + hours * HOUR
        assert remembers(active, at) == Configuring(network)(active, at)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_change_of_rate_reaches_the_device_that_polices_the_flow(name: str) -> None:
    remembers, changed = Configuring(NETWORKS[name]), 0
    for first, second in pairwise(SCHEDULES[name][:12]):
        before, after = (remembers([one], NOW + one.slot_number * 2 * HOUR) for one in (first, second))
        assert after == Configuring(NETWORKS[name])([second], NOW + second.slot_number * 2 * HOUR)
        changed += first.entry.number == second.entry.number and before != after
    assert changed
