"""What Cisco routers in software count is read beside their configuration through Ansible, and kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.admission import capacities
from slotcar.base.timebase import SYSTEM, Window, to_us
from slotcar.book.model import AdmissionRequest, Entry, Terms
from slotcar.book.operations import Admit
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import active_at
from slotcar.measuring.counters.metering import Meter
from slotcar.planning.routing import route
from slotcar.rollout.beside import Answered
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar.store.counts import CountedStep
from slotcar.wiring import pusher_for
from slotcar_lab.ios import Counters, Routers
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.requests import reservation

EDGE, FAR_EDGE = "anl-7507-1", "lbnl-7507"
PACKETS, SIZE, HEADER = 1_000, 1_500, 14


@dataclass
class Counting:
    world: CiscoWorld
    ledger: Ledger
    status: LoopStatus
    entry: Entry

    def steps(self) -> tuple[CountedStep, ...]:
        now = datetime.now(UTC)
        return self.ledger.counts.of_entry(self.entry.number, Window(now - timedelta(days=1), now + timedelta(days=1)))

    def limit(self, name: str) -> tuple[str, str]:
        """The interface and the text of the flow's `rate-limit` line."""
        interface = ""
        for line in self.world.running()[name].splitlines():
            if line.startswith("interface "):
                interface = line.removeprefix("interface ")
            elif limit := re.match(r" rate-limit input (access-group \d+ .*)", line):
                return interface, limit[1]
        raise AssertionError(f"{name} polices no flow")

    def count(self, name: str, conformed: int, exceeded: int, header: int = HEADER) -> None:
        octets = SIZE + header
        interface, text = self.limit(name)
        counters = Counters(conformed, conformed * octets, exceeded, exceeded * octets)
        self.world.routers[name].count(interface, "input", text, counters)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiscoWorld]:
    with Routers() as routers:
        yield CiscoWorld(routers, tmp_path_factory.mktemp("garnet"), ROOT / "inventories" / "garnet")


@pytest.fixture
def counting(world: CiscoWorld, ledger: Ledger) -> Counting:
    """A reservation in both directions that has begun, on the routers, and read once."""
    now = datetime.now(UTC)
    ledger.set_terms(Terms(capacities(world.network), world.network.sls))
    both = {
        "source": {"host": "anl-premium"}, "destination": {"host": "lbnl-premium", "port": 5001}, "direction": "both",
    }  # fmt: skip
    asked_for = reservation("cms", 20_000_000, **both).over((Window(now, now + timedelta(hours=1)),))
    ask = route(asked_for, world.network)
    entry = ledger.run(Admit(now, AdmissionRequest(ask.reservation, ask.paths, ask.demands, actor="tester")))
    assert isinstance(entry, Entry)
    status = LoopStatus()
    meter = Meter(ledger, world.network, BackgroundShares(world.network), status, timedelta(minutes=5), SYSTEM)
    world.pusher = pusher_for(world.network, world.settings, ledger, beside=meter)
    world.push([entry])
    world.read()
    return Counting(world, ledger, status, entry)


def test_a_flow_is_counted_at_each_end_as_ip_bytes(counting: Counting) -> None:
    counting.count(EDGE, PACKETS, 10)
    counting.count(FAR_EDGE, 400, 0)
    counting.world.read()
    forward, reverse = sorted(counting.steps(), key=lambda one: one.direction)
    assert (forward.direction, forward.device, forward.service) == ("forward", EDGE, "ip-premium")
    assert (forward.in_profile_packets, forward.in_profile_bytes) == (PACKETS, PACKETS * SIZE)
    assert (forward.dropped_packets, forward.dropped_bytes) == (10, 10 * SIZE)
    assert (reverse.direction, reverse.device, reverse.in_profile_bytes) == ("reverse", FAR_EDGE, 400 * SIZE)
    assert forward.counted_us > 0
    assert forward.reserved_bits == pytest.approx(20_000_000 * 1500 / 1472 * forward.counted_us / 1e6, rel=0.01)
    assert counting.status.counted_at.keys() >= {EDGE, FAR_EDGE}


def test_what_is_read_again_is_not_counted_again_and_counters_that_an_operator_clears_are_noticed(
    counting: Counting,
) -> None:
    counting.count(EDGE, PACKETS, 0)
    counting.world.read()
    counting.count(EDGE, PACKETS + 5, 0)
    counting.world.read()
    counting.world.read()
    assert sum(one.in_profile_packets for one in counting.steps()) == PACKETS + 5
    counting.world.routers[EDGE].clear_counters()
    counting.count(EDGE, 7, 0)
    counting.world.read()
    assert sum(one.in_profile_packets for one in counting.steps()) == PACKETS + 5 + 7
    assert {remark for one in counting.steps() for remark in one.remarks} == {"cleared"}


def test_a_router_that_knows_no_such_command_is_read_and_not_counted(counting: Counting) -> None:
    """The rest of its reading, and so the next push, is not touched by it."""
    configuration = counting.world.read()[EDGE].configuration
    before = counting.steps()
    meter = counting.world.pusher.beside
    assert isinstance(meter, Meter)
    device = counting.world.network.devices[EDGE]
    broken = "% Invalid input detected at '^' marker."
    answered = {EDGE: Answered(configuration, dict.fromkeys(meter.commands(device), broken))}
    now = datetime.now(UTC)
    meter.take(answered, now, now)
    assert counting.steps() == before
    assert "% Invalid input" in counting.status.not_counted[EDGE]
    counting.world.read()
    assert EDGE not in counting.status.not_counted


def test_a_slot_that_is_hardly_used_is_an_event_once(counting: Counting) -> None:
    """When it was counted for a quarter of an hour in each direction."""
    meter = counting.world.pusher.beside
    assert isinstance(meter, Meter)
    entry, ledger = counting.entry, counting.ledger
    start = entry.reservation.windows[0].start

    def count(minutes: int, since_minutes: int, sent_bytes: int = 1_000) -> None:
        step = CountedStep(
            entry.number, "forward", "ip-premium", EDGE, "x", 60, to_us(start) + since_minutes * 60_000_000,
            minutes * 60_000_000, minutes * 60 * 20_000_000, 1, sent_bytes, 0, 0, 0, 0,
        )  # fmt: skip
        at = start + timedelta(minutes=since_minutes + minutes)
        ledger.counts.keep([step], [])
        meter._tell_unused(active_at([entry], at), [step], at)

    def messages() -> list[str]:
        return [event.details["message"] for event in ledger.events(kinds=("reservation.unused",))]

    count(10, 0)
    count(10, 10)
    assert messages() == []
    count(12, 20)
    (message,) = messages()
    assert message.startswith("less than 10 % of it was used in 16 min")
    count(2, 32)
    assert messages() == [message]
