"""What every device must do at an instant: a pure function of who is active and of the network."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Service
from slotcar.book.timeline import Active
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.platforms.intent import QosIntent, intents_at
from slotcar.reservation.model import Endpoint
from tests.support.networks import line_network
from tests.support.requests import T0, at, reservation
from tests.unit.platforms import worlds

NETWORK = line_network()
LINK_BPS = 100_000_000


def active(*changes: dict[str, Any], network: Network = NETWORK) -> list[Active]:
    wanted = [reservation(f"n{number}", **{"rate_bps": 1_000_000, **keys}) for number, keys in enumerate(changes, 1)]
    return [Active(entry, 0) for entry in entries_of(wanted, network, T0)]


def intents(*changes: dict[str, Any]) -> dict[str, QosIntent]:
    return intents_at(active(*changes), NETWORK, T0)


asks = st.lists(
    st.fixed_dictionaries(
        {
            "rate_bps": st.integers(1_000, 2_000_000),
            "service": st.sampled_from([Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS, Service.BEST_EFFORT]),
            "direction": st.sampled_from(Direction),
            "destination": st.builds(Endpoint, host=st.just("dst"), port=st.sampled_from([None, 5001, 5002])),
        }
    ),
    max_size=6,
)


@given(asks, st.randoms())
def test_the_order_of_the_active_does_not_matter(changes: list[dict[str, Any]], random: Any) -> None:
    some = active(*changes)
    shuffled = list(some)
    random.shuffle(shuffled)
    assert intents_at(some, NETWORK, T0) == intents_at(shuffled, NETWORK, T0)


@given(asks)
def test_guarantees_fit_the_link_and_its_shares(changes: list[dict[str, Any]]) -> None:
    for intent in intents_at(active(*changes), NETWORK, T0).values():
        for egress in intent.egress:
            rates = {queue.service: queue.rate_bps for queue in egress.queues}
            assert sum(rates.values()) == LINK_BPS
            assert rates[Service.QBSS] >= LINK_BPS // 100, "D7.3 §8.1.3"
            for queue in egress.queues:
                if queue.service in (Service.IP_PREMIUM, Service.ASSURED_RATE):
                    assert queue.rate_bps <= LINK_BPS * queue.share_ppm // 1_000_000
                assert queue.rate_bps <= queue.ceiling_bps
            assert [queue.rank for queue in egress.queues] == [0, 1, 2, 3]


@given(asks)
def test_no_two_flows_of_an_interface_match_the_same_packets(changes: list[dict[str, Any]]) -> None:
    for intent in intents_at(active(*changes), NETWORK, T0).values():
        matches = [(flow.interface, flow.match) for flow in intent.flows]
        assert len(set(matches)) == len(matches)


def test_with_nothing_active_every_device_has_its_baseline() -> None:
    wanted = intents()
    assert set(wanted) == set(NETWORK.devices)
    assert all(intent.flows == () and len(intent.egress) == 2 for intent in wanted.values())
    assert [str(one) for one in wanted["r1"].untrusted] != []


def test_a_flow_is_policed_where_it_enters_and_nowhere_else() -> None:
    wanted = intents({"direction": Direction.BOTH, "destination": Endpoint(host="dst", port=5001)})
    (forward,), (reverse,) = wanted["r1"].flows, wanted["r3"].flows
    assert wanted["r2"].flows == ()
    assert (forward.number, reverse.number) == (2, 3), "ledger number and direction bit"
    assert (forward.match.source_port, forward.match.destination_port) == (None, 5001)
    assert (reverse.match.source_port, reverse.match.destination_port) == (5001, None)
    assert forward.match.source_address == reverse.match.destination_address == "10.0.0.2"


def test_headers_are_counted_in_the_policers_rate() -> None:
    (flow,) = intents({"rate_bps": 1_472_000})["r1"].flows
    assert flow.cir_bps == 1_500_000, "1472 bytes of payload in packets of 1500 (GARA §5.1)"
    assert (flow.pir_bps, flow.pbs_bytes) == (flow.cir_bps, flow.cbs_bytes)


def test_an_assured_rate_has_a_peak_of_twice_its_commitment() -> None:
    (flow,) = intents({"service": Service.ASSURED_RATE})["r1"].flows
    assert flow.pir_bps == 2 * flow.cir_bps


def test_reservations_that_cannot_be_told_apart_share_a_policer() -> None:
    (both,), (first,), (second,) = (
        intents(*changes)["r1"].flows for changes in ([{}, {"rate_bps": 2_000_000}], [{}], [{"rate_bps": 2_000_000}])
    )
    assert both.cir_bps == first.cir_bps + second.cir_bps
    assert both.number == first.number


def test_of_two_services_for_the_same_packets_the_higher_has_them() -> None:
    (flow,) = intents({"service": Service.QBSS}, {"service": Service.IP_PREMIUM})["r1"].flows
    assert (flow.service, flow.number) == (Service.IP_PREMIUM, 4)


def test_an_sls_is_policed_while_it_is_valid() -> None:
    name = "alpha-transit-ip-premium"
    valid = NETWORK.sls[name].model_copy(update={"validity": Window(at(0), at(60))})
    network = NETWORK.model_copy(update={"sls": NETWORK.sls | {name: valid}})

    def policed(minute: int) -> bool:
        return any(one.sls == name for one in intents_at((), network, at(minute))["r2"].aggregates)

    assert [policed(minute) for minute in (-1, 0, 59, 60)] == [False, True, True, False]
    assert not policed(60)
    assert intents_at((), network, at(60) - timedelta(microseconds=1))["r2"].aggregates


def test_an_over_provisioned_domain_is_told_nothing() -> None:
    quiet = NETWORK.domains["transit"].model_copy(update={"over_provisioned": True})
    network = NETWORK.model_copy(update={"domains": NETWORK.domains | {"transit": quiet}})
    assert set(intents_at((), network, T0)) == {"r1", "r3"}


def test_equal_intents_are_equal_objects_and_others_are_not() -> None:
    one = intents({})["r1"]
    assert one == intents({})["r1"]
    assert one != replace(one, flows=())


def test_a_multicast_flow_is_policed_once_and_its_burst_waits_once_on_each_link() -> None:
    """Two receivers behind one router and one on the way: the tree's links are those of the farthest alone."""
    datagrid = load_network(Path(__file__).parents[3] / "inventories" / "datagrid")
    group = Endpoint(host="239.1.2.3", port=1044)
    ends: dict[str, Any] = {"source": Endpoint(host="cern-se"), "destination": group, "rate_bps": 20_000_000}
    many = worlds.entry(datagrid, receivers=("frascati-se", "matera", "infn-se"), **ends)
    one = worlds.entry(datagrid, receivers=("infn-se",), **ends)
    to_many, to_one = worlds.intents(datagrid, many), worlds.intents(datagrid, one)
    assert [intent.flows for intent in to_many.values()] == [intent.flows for intent in to_one.values()]
    changed = {name for name, intent in to_many.items() if intent != to_one[name]}
    assert changed == {"garr-bo"}
    guaranteed = [one.queues[0].rate_bps for one in to_many["garr-bo"].egress if one.queues[0].rate_bps]
    assert len(guaranteed) == 3
    assert len(set(guaranteed)) == 1
