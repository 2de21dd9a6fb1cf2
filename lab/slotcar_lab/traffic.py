"""Measured traffic between the lab's hosts: one flow, its rate interval by interval, dated by `Lab.clock`.

Sender and receiver run inside the lab and stamp what they count with the lab's clock, which all of its nodes share;
its offset to `Lab.clock` is measured when a flow starts. So samples of several flows, and events of this machine
(a slot's boundary, a push), lie on one axis. Reports travel by the control connection, never by the network under test.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotcar_lab.agent import datagrams
from slotcar_lab.client import LabProcess
from slotcar_lab.clocks import Clock
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.patience import HANG_S

SCRIPT = Path(__file__).resolve().parent / "agent" / "traffic.py"
#: After `ready`, time for the word "begin" to reach both ends.
LEAD_S = 0.05
#: After its time, until a receiver has counted what was still on its way.
DRAIN_S = 0.5
INTERVAL_S = 0.5
#: What a sender hands to the kernel at once, at most. The kernel paces it a quarter faster than the rate, so that a
#: policer's bucket must hold a fifth of it. To be woken costs an emulated sender more than the packets that it sends.
QUEUE_S = 0.016
#: Datagrams that leave back to back, at most: one timer for all of them.
TOGETHER = 8
#: Payload that leaves room for the sequence number, and fits one Ethernet frame.
LEAST_PAYLOAD_BYTES, MOST_PAYLOAD_BYTES = 16, 1_472


@dataclass(frozen=True, slots=True)
class Sample:
    """What one end counted over an interval.

    Attributes:
        ended_at: seconds since the epoch, by `Lab.clock`.
        interval_s: how long it was.
        received_bps: payload bits a second (of the sender's samples: sent).
        packets: datagrams; 0 for TCP.
        lost_packets: datagrams that the sequence numbers say are missing; 0 for TCP and for the sender.
    """

    ended_at: float
    interval_s: float
    received_bps: float
    packets: int
    lost_packets: int


@dataclass(frozen=True, slots=True)
class Totals:
    """A flow that has ended.

    Attributes:
        skipped_packets: due, but never sent, because the sender was kept from its work for too long.
        overflowed_packets: arrived, but the receiver was too slow: not the network's loss.
        retransmitted_segments: TCP's.
    """

    sent_packets: int
    received_packets: int
    sent_bytes: int
    received_bytes: int
    skipped_packets: int = 0
    overflowed_packets: int = 0
    retransmitted_segments: int = 0

    @property
    def lost_packets(self) -> int:
        return self.sent_packets - self.received_packets


def mean_bps(samples: Iterable[Sample]) -> float:
    """The mean rate over the samples' time; 0 where there is none.

    Their intervals differ: an emulated machine without a turn on the processor ends one late, and the next is shorter.
    """
    counted = [(sample.received_bps * sample.interval_s, sample.interval_s) for sample in samples]
    return sum(bits for bits, _ in counted) / sum(interval_s for _, interval_s in counted) if counted else 0.0


class Flow:
    """One flow that runs, or has ended. It ends with its duration, with `stop`, or with this program."""

    protocol = ""

    def __init__(
        self,
        lab: Lab,
        source: str,
        destination: str,
        spec: dict[str, Any],
        begin: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.source = source
        self.destination = destination
        self.port: int = spec["port"]
        self.offered_bps: int = spec["rate_bps"]
        self._clock = clock or lab.clock
        self._duration_s: float = spec["duration_s"]
        offset = lab.clock_offset()
        self._offset_s = offset.offset_us / 1e6
        self._receiver, self._sender = (
            lab.start_python(
                node, SCRIPT, f"{self.protocol}-{role}", json.dumps(spec), stdin=True, modules=(datagrams,)
            )
            for node, role in ((destination, "receive"), (source, "send"))
        )
        try:
            self.started_at = self._begin(spec["interval_s"], begin)
        except BaseException:
            self._sender.close()
            self._receiver.close()
            raise

    def __enter__(self) -> Flow:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        return self._receiver.poll() is None or self._sender.poll() is None

    def samples(self) -> tuple[Sample, ...]:
        """What the receiver has counted so far, one for each interval that is over; also intervals with nothing."""
        return self._samples(self._receiver)

    def sent(self) -> tuple[Sample, ...]:
        """What the sender has sent so far."""
        return self._samples(self._sender)

    def wait(self, timeout_s: float | None = None) -> Totals:
        """The totals, once the flow has ended by itself.

        Args:
            timeout_s: for its ends to tell them, after its time is over.

        Raises:
            subprocess.TimeoutExpired: it still runs.
            LabError: an end of it failed; says how.
        """
        if self.running:
            self._clock.wait_until(self.started_at + self._duration_s + DRAIN_S)
        for process in (self._sender, self._receiver):
            if process.wait(timeout_s):
                raise self._failed(process)
        sent, received = self._final(self._sender), self._final(self._receiver)
        return Totals(
            sent_packets=sent["packets"],
            received_packets=received["packets"],
            sent_bytes=sent["octets"],
            received_bytes=received["octets"],
            skipped_packets=sent.get("skipped", 0),
            overflowed_packets=received.get("overflowed", 0),
            retransmitted_segments=sent.get("retransmitted", 0),
        )

    def stop(self) -> None:
        """End it now, if it has not ended; samples and totals stay readable."""
        for process in (self._receiver, self._sender):
            process.terminate()
        for process in (self._sender, self._receiver):
            try:
                process.wait(HANG_S)
            finally:
                process.close()

    def _begin(self, interval_s: float, begin: float | None) -> float:
        """Name the start, on the grid of intervals that all flows share unless it is given, once both ends are ready."""
        deadline = time.monotonic() + HANG_S
        for process in (self._receiver, self._sender):
            while "ready\n" not in process.stdout:
                if process.poll() is not None or process.failed:
                    raise self._failed(process)
                if time.monotonic() > deadline:
                    raise LabError(f"{self} did not start within {HANG_S:g} s")
                time.sleep(0.01)
        if begin is None:
            earliest = self._clock.now() + self._offset_s + LEAD_S
            begin = math.ceil(earliest / interval_s) * interval_s - self._offset_s
        for process in (self._receiver, self._sender):
            process.write(f"{begin + self._offset_s:.6f}\n".encode())
        return begin

    def _samples(self, process: LabProcess) -> tuple[Sample, ...]:
        return tuple(
            Sample(
                ended_at=line["t"] - self._offset_s,
                interval_s=line["s"],
                received_bps=8 * line["octets"] / line["s"],
                packets=line["packets"],
                lost_packets=line["lost"],
            )
            for line in _lines(process)
            if "final" not in line
        )

    def _final(self, process: LabProcess) -> dict[str, int]:
        totals: dict[str, int] | None = next((line for line in _lines(process) if "final" in line), None)
        if totals is None:
            raise self._failed(process)
        return totals

    def _failed(self, process: LabProcess) -> LabError:
        what = "sender" if process is self._sender else "receiver"
        return LabError(f"{self}: its {what} failed: {process.stderr.strip() or 'it was ended'}")

    def __str__(self) -> str:
        return f"the {self.protocol.upper()} flow {self.source} to {self.destination}:{self.port}"


class UdpFlow(Flow):
    """Datagrams of one size at a constant rate, or at the rates that it is told."""

    protocol = "udp"

    def steer(self, at: float, rate_bps: int) -> None:
        """Send at another rate from an instant on, seconds since the epoch by `Lab.clock`; in any order with
        others, until a later instant that was told. None may be above the rate that the flow began with.
        """
        self._sender.write(f"{at + self._offset_s:.6f} {rate_bps}\n".encode())


class TcpFlow(Flow):
    """One TCP connection that sends as fast as it may."""

    protocol = "tcp"


def start_udp(
    lab: Lab,
    source: str,
    destination: str,
    *,
    port: int,
    rate_bps: int,
    payload_bytes: int,
    duration_s: float,
    dscp: int = 0,
    interval_s: float = INTERVAL_S,
    queue_s: float = QUEUE_S,
    burst_bytes: int | None = None,
    burst_s: float = 0.0,
    together: int = TOGETHER,
    one_cpu: bool = False,
    begin: float | None = None,
    clock: Clock | None = None,
) -> UdpFlow:
    """Start a constant bit rate; returns within two seconds, with `started_at` at most one interval ahead.

    Args:
        rate_bps: of UDP payload; the line carries 42 bytes more a packet (UDP, IP and Ethernet headers).
        dscp: what the sender marks; routers may think otherwise.
        queue_s: how much of the flow the sender hands to the kernel at once.
        burst_bytes: of IP packets; what the sender is late with beyond it, and beyond `burst_s` of the rate of the moment,
            is not sent. None for a sender that catches up with 20 ms and more.
        together: datagrams that leave back to back, at most.
        one_cpu: the sender stays on one processor. A namespace's links hand packets on by the processor that sent them, so
            those of a sender that moves to another one may overtake each other before the first router.
        begin: when, seconds since the epoch by the lab's clock; far enough ahead for both ends to start. As soon as can be
            where it is not said.
        clock: by which the flow's end is waited for; the lab's where there is none.

    Raises:
        LabError: no such node, a port in use, or values that cannot be.
    """
    if not LEAST_PAYLOAD_BYTES <= payload_bytes <= MOST_PAYLOAD_BYTES:
        raise LabError(f"payload_bytes is {payload_bytes}; it must be {LEAST_PAYLOAD_BYTES} to {MOST_PAYLOAD_BYTES}")
    if rate_bps <= 0:
        raise LabError(f"rate_bps is {rate_bps}; it must be above 0")
    spec = _spec(lab, destination, port, rate_bps, duration_s, dscp, interval_s)
    more = {"payload_bytes": payload_bytes, "queue_s": queue_s, "burst_bytes": burst_bytes, "burst_s": burst_s}
    more |= {"together": together, "one_cpu": one_cpu}
    return UdpFlow(lab, source, destination, {**spec, **more}, begin, clock)


def start_tcp(
    lab: Lab,
    source: str,
    destination: str,
    *,
    port: int,
    duration_s: float,
    rate_bps: int = 0,
    dscp: int = 0,
    interval_s: float = INTERVAL_S,
    begin: float | None = None,
    clock: Clock | None = None,
) -> TcpFlow:
    """Start a TCP connection, paced at `rate_bps` of segments unless that is 0; `begin` and `clock` as of `start_udp`.

    Raises:
        LabError: no such node, a port in use, or values that cannot be.
    """
    spec = _spec(lab, destination, port, rate_bps, duration_s, dscp, interval_s)
    return TcpFlow(lab, source, destination, spec, begin, clock)


def _spec(
    lab: Lab, destination: str, port: int, rate_bps: int, duration_s: float, dscp: int, interval_s: float
) -> dict[str, Any]:
    if not 1 <= port <= 65_535:
        raise LabError(f"port is {port}; it must be 1 to 65535")
    if not 0 <= dscp <= 63:
        raise LabError(f"dscp is {dscp}; it must be 0 to 63")
    if duration_s <= 0 or interval_s <= 0:
        raise LabError(f"duration_s is {duration_s:g} and interval_s {interval_s:g}; both must be above 0")
    if destination not in lab.topology.hosts + lab.topology.routers:
        raise LabError(f"the lab has no node {destination}; it has {', '.join(lab.topology.hosts)}")
    return {
        "address": lab.topology.address_of(destination),
        "port": port,
        "rate_bps": rate_bps,
        "duration_s": duration_s,
        "interval_s": interval_s,
        "dscp": dscp,
    }


def _lines(process: LabProcess) -> list[dict[str, Any]]:
    whole, _, _ = process.stdout.rpartition("\n")
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
