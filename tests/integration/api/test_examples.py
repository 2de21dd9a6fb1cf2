"""The programs in examples/ and the strategies for co-reservation, against a real API, with real packets on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from paced import PAYLOAD_BYTES, PacedSender
from slotcar.base.timebase import iso
from slotcar.store import Ledger
from slotcar_client import Refused, Slotcar
from slotcar_client.co_reservation import all_or_none, at_a_common_time, first_that_fits, recovered
from slows_down import follow, safe_rate, steps_of_slots
from streamer import stream
from tests.integration.api.conftest import START, Serve, body, live
from tests.support.patience import PATIENCE_S, wait_for

FLOW = {
    "name": "streamer", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
    "service": "ip-premium", "packet_size": "528 B", "start": "now", "duration": "60 min",
}  # fmt: skip


class Sink:
    """Counts what comes to a UDP port of loopback."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self.address: tuple[str, int] = self._socket.getsockname()
        self.bits = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self.bits += len(self._socket.recv(2000)) * 8
            except TimeoutError:
                continue

    def rate_bps(self, for_s: float = 0.5) -> float:
        """What comes during a time."""
        before, start_s = self.bits, time.monotonic()
        time.sleep(for_s)
        return (self.bits - before) / (time.monotonic() - start_s)

    def wait_for_more(self) -> None:
        before = self.bits
        wait_for(lambda: self.bits > before, "packets to come")

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def sink() -> Iterator[Sink]:
    opened = Sink()
    yield opened
    opened.close()


@pytest.fixture
def slotcar(api: httpx.Client) -> Iterator[Slotcar]:
    with Slotcar(str(api.base_url)) as opened:
        yield opened


def other(slotcar: Slotcar, leaves_bps: int) -> str:
    """Another owner's reservation on the same way now, beside which so much is left."""
    free = slotcar.enquire(FLOW | {"direction": "forward"})["directions"][0]["highest_rate_bps"]
    document = FLOW | {"name": "other", "owner": "astro", "destination": "lbnl-premium:6000"}
    return slotcar.create(document | {"rate": f"{free - leaves_bps} bit/s"})["handle"]


def test_garas_streamer_raises_its_reservation_until_it_has_what_it_wants(slotcar: Slotcar, sink: Sink) -> None:
    """Figure 2: R = min(F, max); while R < F: R = min(F, R + max)."""
    rates: list[int] = []
    taken = [other(slotcar, leaves_bps=200_000)]

    def pause(_every_s: float) -> None:
        """Between two looks of the streamer: what arrives, and then the other one gives some of its rate back."""
        rates.append(sender.rate_bps)
        sink.wait_for_more()
        if len(rates) == 2:
            slotcar.cancel(taken.pop())
            taken.append(other(slotcar, leaves_bps=200_000))
        elif len(rates) == 3:
            slotcar.cancel(taken.pop())

    with PacedSender(sink.address) as sender:
        entry = stream(slotcar, FLOW, 800_000, sender, pause=pause)
        rates.append(sender.rate_bps)
        sink.wait_for_more()
    assert rates[0] == rates[1] == pytest.approx(200_000, rel=0.01)
    assert rates[2] == pytest.approx(400_000, rel=0.02)
    assert rates[-1] == 800_000
    assert entry["reservation"]["rate_bps"] == 800_000


def test_a_program_slows_down_when_its_reservation_does(slotcar: Slotcar, api: httpx.Client, sink: Sink) -> None:
    entry = slotcar.create(FLOW | {"rate": "600 kbit/s"})
    with PacedSender(sink.address) as sender:
        program = threading.Thread(target=follow, args=(slotcar, entry["handle"], sender))
        program.start()
        wait_for(lambda: sender.rate_bps == 600_000, "it to send at its rate")
        api.patch(f"/v1/reservations/{entry['handle']}", json={"rate": "200 kbit/s"}, headers={"If-Match": "*"})
        wait_for(lambda: sender.rate_bps == 200_000, "it to be told by an operator's change")
        sink.wait_for_more()
        slotcar.cancel(entry["handle"])
        program.join(PATIENCE_S)
        assert (sender.rate_bps, program.is_alive()) == (0, False)


@pytest.mark.slow
def test_it_is_slower_before_the_routers_are(slotcar: Slotcar, sink: Sink) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    boundary, end = now + timedelta(seconds=4), now + timedelta(minutes=5)
    schedule = [
        {"start": iso(now + timedelta(seconds=1)), "end": iso(boundary), "rate": "600 kbit/s"},
        {"start": iso(boundary), "end": iso(end), "rate": "100 kbit/s"},
    ]
    flow = {key: one for key, one in FLOW.items() if key not in ("start", "duration")}
    entry = slotcar.create(flow | {"schedule": schedule})
    with PacedSender(sink.address) as sender:
        program = threading.Thread(target=follow, args=(slotcar, entry["handle"], sender, 1.0))
        program.start()
        wait_for(lambda: sender.rate_bps == 600_000, "its slot to begin")
        wait_for(lambda: sender.rate_bps == 100_000, "it to slow down")
        early_s = (boundary - datetime.now(UTC)).total_seconds()
        assert 0 < early_s <= 1.0
        slotcar.cancel(entry["handle"])
        program.join(PATIENCE_S)


@pytest.mark.slow  # a rate, in real time
def test_a_paced_sender_keeps_its_rate(sink: Sink) -> None:
    with PacedSender(sink.address) as sender:
        for rate_bps in (200_000, 800_000):
            sender.rate_bps = rate_bps
            wait_for(lambda rate_bps=rate_bps: sink.rate_bps() == pytest.approx(rate_bps, rel=0.3), "its rate to come")


@pytest.mark.parametrize("ahead_s", [0, pytest.param(3, marks=pytest.mark.slow)])  # 3: by an instant of this machine's
def test_a_background_reservation_slows_down_when_its_owner_is_told(
    serve: Serve, ledger: Ledger, sink: Sink, ahead_s: int
) -> None:
    """The events are those that the controller which leads writes, up to a minute ahead."""
    slotcar = Slotcar(str(serve().base_url))
    entry = slotcar.create(FLOW | {"share": {"weight": 1, "at_least": "100 kbit/s"}})

    def tell(at: datetime, rate_bps: int) -> None:
        details = {"at": at.isoformat(), "forward_bps": rate_bps, "reverse_bps": 0}
        ledger.append_event("reservation.rate", datetime.now(UTC), entry["handle"], details=details)

    tell(datetime.now(UTC), 600_000)
    with PacedSender(sink.address) as sender:
        program = threading.Thread(target=follow, args=(slotcar, entry["handle"], sender, 1.0))
        program.start()
        wait_for(lambda: sender.rate_bps == 600_000, "it to send at what it gets")
        boundary = datetime.now(UTC) + timedelta(seconds=ahead_s)
        tell(boundary, 200_000)
        wait_for(lambda: sender.rate_bps == 200_000, "it to slow down")
        if ahead_s:
            assert 0 < (boundary - datetime.now(UTC)).total_seconds() <= 1.0
        slotcar.cancel(entry["handle"])
        program.join(PATIENCE_S)
    slotcar.close()


def test_the_safe_rate_is_the_lowest_that_a_packet_may_meet() -> None:
    start = datetime(2027, 3, 1, tzinfo=UTC)
    slots: list[Any] = [
        {
            "start": iso(start + timedelta(seconds=begin)),
            "end": iso(start + timedelta(seconds=end)),
            "forward_bps": rate,
        }
        for begin, end, rate in ((0, 10, 5), (10, 20, 9), (20, 30, 2))
    ]
    steps, ahead = steps_of_slots(slots), timedelta(seconds=2)
    at = [safe_rate(steps, start + timedelta(seconds=seconds), ahead) for seconds in range(-2, 31, 4)]
    assert at == [0, 5, 5, 9, 9, 2, 2, 2, 0]
    assert safe_rate(steps, start + timedelta(seconds=29), ahead) == 0
    assert PAYLOAD_BYTES + 28 == 528


# -- co-reservation ------------------------------------------------------------------------------------------------


def part(name: str, rate: str, port: int, **more: Any) -> dict[str, Any]:
    return body(name, rate=rate, destination=f"lbnl-premium:{port}", **more)


def test_all_parts_or_none(slotcar: Slotcar, api: httpx.Client) -> None:
    fits = [part("one", "15 Mbit/s", 5001), part("two", "15 Mbit/s", 5002)]
    assert [one["state"] for one in all_or_none(slotcar, fits)] == ["committed", "committed"]
    with pytest.raises(Refused) as refused:
        all_or_none(slotcar, [part("three", "1 Mbit/s", 5003), part("four", "20 Mbit/s", 5004)])
    assert refused.value.refusal["shortfalls"]
    assert {one["reservation"]["name"] for one in live(api)} == {"one", "two"}


def test_the_first_alternative_that_fits(slotcar: Slotcar) -> None:
    rates = ("900 Mbit/s", "90 Mbit/s", "9 Mbit/s", "1 Mbit/s")
    entry = first_that_fits(slotcar, [part("one", rate, 5001) for rate in rates])
    assert entry["reservation"]["rate_bps"] == 9_000_000
    with pytest.raises(Refused):
        first_that_fits(slotcar, [part("two", rate, 5002) for rate in rates[:2]])


def test_a_time_that_all_parts_have(slotcar: Slotcar, api: httpx.Client) -> None:
    """One is in the way for an hour of the first part, another for an hour after that of the second."""
    slotcar.create(part("a", "30 Mbit/s", 7001, owner="astro", duration="1 h"))
    back = {"direction": "reverse", "start": iso(START + timedelta(hours=1)), "duration": "1 h"}
    slotcar.create(part("b", "30 Mbit/s", 7002, owner="astro", **back))
    wanted = [
        part("forth", "15 Mbit/s", 5001, start=None, duration=None),
        part("back", "15 Mbit/s", 5002, start=None, duration=None, direction="reverse"),
    ]
    with pytest.raises(Refused):
        at_a_common_time(slotcar, wanted, START, "1 h", latest=START + timedelta(hours=1))
    assert len(live(api)) == 2
    both = at_a_common_time(slotcar, wanted, START, "1 h", latest=START + timedelta(hours=9))
    windows = {one["start"] for entry in both for one in entry["reservation"]["windows"]}
    assert windows == {iso(START + timedelta(hours=2))}


def test_a_part_that_is_lost_is_replaced_or_all_are_given_back(slotcar: Slotcar, api: httpx.Client) -> None:
    both = all_or_none(slotcar, [part("one", "15 Mbit/s", 5001), part("two", "15 Mbit/s", 5002)])
    slotcar.cancel(both[1]["handle"], "maintenance")
    slower = {"two": [part("two", "30 Mbit/s", 5002), part("two", "10 Mbit/s", 5002)]}
    now = recovered(slotcar, both, slower)
    assert [one["reservation"]["rate_bps"] for one in now] == [15_000_000, 10_000_000]
    slotcar.cancel(now[1]["handle"])
    same = recovered(slotcar, now, {})
    assert [one["reservation"]["rate_bps"] for one in same] == [15_000_000, 10_000_000]
    slotcar.cancel(same[1]["handle"])
    with pytest.raises(Refused):
        recovered(slotcar, same, {"two": [part("two", "900 Mbit/s", 5002)]})
    assert live(api) == []
