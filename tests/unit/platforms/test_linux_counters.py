"""What `tc -s` printed on kernel 6.1, where senders and receivers knew better (`tests/samples/counters`).

Two flows of 986 bytes of IP crossed a router in virtual time: 780 packets of premium at 1.5 times its rate, of which the
policer dropped 268, and 936 of an assured rate in three colours. The root had another number in these recordings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.base.flow_match import FlowMatch
from slotcar.base.vocabulary import Protocol, Scheduler, Service
from slotcar.network.model import Device, Interface, InterfaceId
from slotcar.platforms.counting import Amount, Count, FlowPlace, QueuePlace, counting_of
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.model import Configuration, Unreadable
from tests.support.networks import line_network

SAMPLES = Path(__file__).parents[2] / "samples" / "counters"
CLOSED = "qdisc noqueue 0: root refcnt 2 \n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n"
PACKET_BYTES = 986


def router(scheduler: Scheduler = Scheduler.HTB, overhead_bytes: int = 34) -> Device:
    device = line_network(1).devices["r1"]
    interfaces = {
        name: Interface.model_validate(one.model_dump() | {"scheduler": scheduler, "overhead_bytes": overhead_bytes})
        for name, one in device.interfaces.items()
    }
    return device.model_copy(update={"interfaces": interfaces})


def flow(number: int, service: Service, interface: str = "eth1") -> EdgeFlow:
    match = FlowMatch("10.9.1.2", "10.9.2.2", Protocol.UDP, None, 5001)
    return EdgeFlow(InterfaceId(device="r1", name=interface), number, f"flow {number}", match, service, 1, 1, 1, 1)


def intent(*flows: EdgeFlow) -> QosIntent:
    return QosIntent("r1", "linux-tc", flows, (), (), ())


def printed(filters: str = "", classes: str = "") -> str:
    """The answer of a router whose `eth1` has the filters, and `eth2` the classes."""
    return CLOSED + filters + CLOSED + classes + CLOSED + CLOSED


def counts_of(device: Device, text: str, *flows: EdgeFlow) -> object:
    counting = counting_of(device)
    assert counting is not None
    (command,) = counting.commands(device)
    return counting.counts({command: text}, device, intent(*flows), Configuration("r1", "linux-tc"))


def test_flows_are_counted_in_profile_out_of_it_and_dropped() -> None:
    text = printed((SAMPLES / "tc-filters.txt").read_text())
    counts = counts_of(router(), text, flow(2, Service.IP_PREMIUM), flow(4, Service.ASSURED_RATE))
    assert counts == {
        FlowPlace("eth1", 2): Count(Amount(512, 512 * PACKET_BYTES), dropped=Amount(268, 268 * PACKET_BYTES)),
        FlowPlace("eth1", 4): Count(Amount(512, 512 * PACKET_BYTES), Amount(424, 424 * PACKET_BYTES)),
    }


def test_a_filter_that_is_no_flow_of_the_moment_is_not_counted() -> None:
    text = printed((SAMPLES / "tc-filters.txt").read_text())
    counts = counts_of(router(), text, flow(4, Service.ASSURED_RATE), flow(2, Service.IP_PREMIUM, "eth2"))
    assert counts == {FlowPlace("eth1", 4): Count(Amount(512, 504_832), Amount(424, 418_064))}


def test_a_filter_says_how_long_it_has_counted() -> None:
    counts = counts_of(router(), printed((SAMPLES / "tc-filters.txt").read_text()), flow(2, Service.IP_PREMIUM))
    assert isinstance(counts, dict)
    assert [one.age_s for one in counts.values()] == [6]


@pytest.mark.parametrize(
    ("scheduler", "packets", "dropped"),
    [(Scheduler.HTB, 479, 33), (Scheduler.HFSC, 512, 0), (Scheduler.ETS, 512, 0)],
)
def test_a_class_counts_ip_bytes_under_each_scheduler(scheduler: Scheduler, packets: int, dropped: int) -> None:
    """The line had 20 bytes of overhead beside the Ethernet header, which HTB does not count."""
    text = printed(classes=(SAMPLES / f"tc-classes-{scheduler}.txt").read_text())
    counts = counts_of(router(scheduler), text)
    assert isinstance(counts, dict)
    premium = counts[QueuePlace("eth2", Service.IP_PREMIUM)]
    assert premium == Count(Amount(packets, packets * PACKET_BYTES), dropped=Amount(dropped))


def test_an_answer_that_is_cut_short_is_refused() -> None:
    with pytest.raises(Unreadable, match=r"r1: `tc -s` showed 3 lists and not 4"):
        counts_of(router(), CLOSED * 3)
    device = router()
    counting = counting_of(device)
    assert counting is not None
    with pytest.raises(Unreadable, match="r1: no answer to `tc -s`"):
        counting.counts({}, device, intent(), Configuration("r1", "linux-tc"))
