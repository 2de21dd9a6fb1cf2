"""Sends or receives one flow on a node of the lab, and counts. The standard library and `datagrams.py` are all it needs.

    traffic.py udp-send|udp-receive|tcp-send|tcp-receive JSON

Writes `ready`, reads from standard input when to begin (seconds since the epoch, by this kernel's clock), and then
writes one JSON line an interval. A sender of datagrams goes on reading there: `TIME RATE_BPS` is another rate from then on.
SIGTERM ends it early; the last line, with `"final": true`, has the totals.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

from slotcar_lab.agent.datagrams import BATCH, SO_MAX_PACING_RATE, Batch, PacedSocket, overflowed, udp_socket

#: What is still queued in the network when the sender has ended: 500 packets at 60 Mb/s are 70 ms.
DRAIN_S = 0.4
#: A receiver empties its buffer once in a while: to be woken costs as much as many packets, and it counts by intervals.
NAP_S = 0.02
SO_RCVBUFFORCE = 33
RECEIVE_BUFFER_BYTES = 8_000_000
#: A sender that was kept from its work for longer gives up what was due before that.
CATCH_UP_S = 0.02
#: A sender of few packets looks so often whether it is to send at another rate.
LONGEST_NAP_S = 0.05
#: IP and UDP headers, which a policer's bucket counts.
POLICED_HEADER_BYTES = 28
LEAST_QUEUE_PACKETS = 8
LOOKS = 9
#: Datagrams that leave back to back: one timer and one walk down the stack for what is due in so long. A timer costs
#: more than a packet where the clock is emulated, and one for each packet left half of the machine idle.
TOGETHER_S = 0.005
#: Offset of `tcpi_total_retrans` in `struct tcp_info` (linux/tcp.h).
TOTAL_RETRANS_OFFSET = 100


class Clock:
    """Time since the flow's agreed beginning, steady even if somebody sets the clock meanwhile."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.interval_s: float = spec["interval_s"]
        self.duration_s: float = spec["duration_s"]
        self.stopped_s: float | None = None
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        say("ready")
        self.begin_s = float(sys.stdin.readline())
        # Ahead of what else starts in the lab: it needs little, but that at once. Refused, it does without.
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        self._origin = self.begin_s - epoch_s()

    def now(self) -> float:
        return time.monotonic() - self._origin

    def over(self, after_s: float = 0.0) -> bool:
        """Whether the flow, plus some seconds, has ended."""
        end = self.duration_s if self.stopped_s is None else min(self.duration_s, self.stopped_s)
        return self.now() >= end + after_s

    def wait_for_begin(self) -> None:
        while (left := -self.now()) > 0 and self.stopped_s is None:
            time.sleep(min(left, 0.1))

    def _stop(self) -> None:
        self.stopped_s = self.now() if hasattr(self, "_origin") else 0.0


def epoch_s() -> float:
    """What to add to the monotonic clock for seconds since the epoch, by the quickest of some looks at both: between two
    this process may stand still."""
    looks = []
    for _ in range(LOOKS):
        before_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        looks.append((time.monotonic_ns() - before_ns, wall_ns - before_ns))
    return min(looks)[1] / 1e9


class Pace:
    """How many datagrams are due: a constant rate, until standard input says another one for an instant to come."""

    def __init__(self, clock: Clock, rate_bps: int, payload_bytes: int) -> None:
        self._clock = clock
        self._bits = 8 * payload_bytes
        self._steps = [(0.0, rate_bps / self._bits)]
        self._behind = (0.0, 0.0)  # an instant, and what was due until then
        self._unread = b""
        self._open = True

    @property
    def packets_ps(self) -> float:
        return self._steps[0][1]

    def due(self, until_s: float = math.inf) -> float:
        """Datagrams that are due by now or by `until_s`, since the beginning."""
        if self._open:
            self._read()
        now_s = min(self._clock.now(), until_s)
        while len(self._steps) > 1 and self._steps[1][0] <= now_s:
            self._behind = (self._steps[1][0], self._until(self._steps[1][0]))
            del self._steps[0]
        return self._until(now_s)

    def left_s(self, count: int) -> float:
        """How long until surely so many are due, at the rate of the moment: half a datagram more. Counted from the
        beginning, so that it does not matter how long this process took to wake."""
        since_s, before = self._behind
        return max(0.0, since_s + (count + 0.5 - before) / max(self.packets_ps, 1.0) - self._clock.now())

    def _until(self, at_s: float) -> float:
        since_s, count = self._behind
        return count + (at_s - since_s) * self._steps[0][1]

    def _read(self) -> None:
        if not select.select([sys.stdin], [], [], 0)[0]:
            return
        data = os.read(sys.stdin.fileno(), 4096)
        self._open = bool(data)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            at, rate_bps = line.split()
            at_s = max(float(at) - self._clock.begin_s, self._steps[0][0])
            self._steps = [step for step in self._steps if step[0] < at_s or step is self._steps[0]]
            self._steps.append((at_s, float(rate_bps) / self._bits))


class Shaper:
    """How many datagrams a sender may hand over: what is due, up to a ceiling. What it is late with beyond that it never
    sends, and counts."""

    def __init__(self) -> None:
        self.unsent = 0

    def waiting(self, due: float, sent: int, most: int) -> int:
        late = int(due) - sent - self.unsent
        self.unsent += max(0, late - most)
        return min(late, most)


class Ceiling:
    """So many datagrams a sender may be late with, at the rate of the moment. With a bucket, no more than that holds: a
    policer with the rate and the bucket drops none of them."""

    def __init__(self, highest_ps: float, queued: int, bucket: tuple[int, float] | None) -> None:
        """`bucket`: datagrams at the least, and seconds of the rate."""
        self.without = int(highest_ps * CATCH_UP_S) + queued
        self.bucket = bucket

    def at(self, packets_ps: float) -> int:
        return self.without if self.bucket is None else max(self.bucket[0], int(packets_ps * self.bucket[1]))


class Meter:
    """Counts, and says each interval's counts when it is over."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.packets = 0
        self.octets = 0
        self.highest = -1
        self._before = (0.0, 0, 0, -1)
        self._due_s = min(clock.interval_s, clock.duration_s)

    def tick(self) -> None:
        """Call often. What comes after the flow's end counts only in the totals."""
        now_s = self.clock.now()
        begun_s, packets, octets, highest = self._before
        if now_s < self._due_s or begun_s >= self.clock.duration_s or self.clock.stopped_s is not None:
            return
        line = {
            "t": round(self.clock.begin_s + now_s, 6),
            "s": round(now_s - begun_s, 6),
            "packets": self.packets - packets,
            "octets": self.octets - octets,
            "lost": max(0, self.highest - highest - (self.packets - packets)),
        }
        self._before = (now_s, self.packets, self.octets, self.highest)
        # The next one ends on the grid again, though this one was noticed a little late.
        step_s = self.clock.interval_s
        self._due_s = min((now_s // step_s + 1) * step_s, max(self.clock.duration_s, now_s))
        say(json.dumps(line))

    def final(self, **more: int) -> None:
        """The totals, behind an interval that was over before this woke."""
        self.tick()
        say(json.dumps({"final": True, "packets": self.packets, "octets": self.octets, **more}))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def udp_send(spec: dict[str, Any]) -> None:
    """Constant bit rates: this hands over what is due every few milliseconds, and the kernel spaces it evenly.

    `rate_bps` is the first rate, and the highest: what is handed over at once goes by it. With `burst_bytes` and `burst_s`
    it is never late with more than the larger of both at the rate of the moment: what is late beyond that is not sent.
    """
    payload_bytes = spec["payload_bytes"]
    if spec["one_cpu"]:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    packets_ps = spec["rate_bps"] / 8 / payload_bytes
    queued = min(BATCH, max(LEAST_QUEUE_PACKETS, int(packets_ps * spec["queue_s"])))
    together = max(1, min(spec["together"], int(packets_ps * TOGETHER_S)))
    batch = Batch(payload_bytes, together)
    queued -= queued % together
    shaper, ceiling = Shaper(), Ceiling(packets_ps, queued, _bucket(spec))
    clock = Clock(spec)
    meter = Meter(clock)
    with PacedSocket(spec, queued, together) as paced:
        paced.set(packets_ps)
        clock.wait_for_begin()
        pace = Pace(clock, spec["rate_bps"], payload_bytes)
        while not clock.over():
            most = ceiling.at(pace.packets_ps)
            due, worth = shaper.waiting(pace.due(), meter.packets, most), min(queued, most) // 2
            if ceiling.bucket is not None:
                paced.set(pace.packets_ps)
            if due < worth:
                meter.tick()
                time.sleep(min(pace.left_s(meter.packets + shaper.unsent + worth), LONGEST_NAP_S))
                continue
            count = min(due, queued) // together * together
            for number in range(count):
                batch.stamp(number, meter.packets + number)
            sent = batch.send(paced.connected, count)
            meter.packets += sent
            meter.octets += sent * payload_bytes
            meter.tick()
        meter.final(skipped=max(0, int(pace.due(clock.duration_s)) - meter.packets))


def _bucket(spec: dict[str, Any]) -> tuple[int, float] | None:
    if not spec.get("burst_bytes"):
        return None
    return max(1, spec["burst_bytes"] // (spec["payload_bytes"] + POLICED_HEADER_BYTES)), spec["burst_s"]


def udp_receive(spec: dict[str, Any]) -> None:
    batch = Batch(spec["payload_bytes"])
    with udp_socket(spec) as bound:
        with contextlib.suppress(OSError):
            bound.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        bound.bind((spec["address"], spec["port"]))
        clock = Clock(spec)
        meter = Meter(clock)
        while not clock.over(DRAIN_S):
            count = batch.receive(bound)
            if count:
                meter.packets += count
                meter.octets += count * batch.payload_bytes
                meter.highest = max(meter.highest, batch.stamped(count - 1))
            meter.tick()
            if count < BATCH:
                time.sleep(NAP_S)
        meter.final(overflowed=overflowed(spec["port"]))


def tcp_send(spec: dict[str, Any]) -> None:
    """As fast as TCP goes, or paced at `rate_bps` where that is not 0."""
    data = bytes(65_536)
    with socket.socket() as connected:
        connected.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, spec["dscp"] << 2)
        if spec["rate_bps"]:
            connected.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, spec["rate_bps"] // 8)
        clock = Clock(spec)
        meter = Meter(clock)
        clock.wait_for_begin()
        connected.settimeout(max(1.0, spec["duration_s"]))
        connected.connect((spec["address"], spec["port"]))
        connected.settimeout(0.05)
        while not clock.over():
            with contextlib.suppress(TimeoutError):
                meter.octets += connected.send(data)
            meter.tick()
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        meter.final(retransmitted=struct.unpack_from("I", info, TOTAL_RETRANS_OFFSET)[0])


def tcp_receive(spec: dict[str, Any]) -> None:
    buffer = bytearray(262_144)
    with socket.create_server((spec["address"], spec["port"])) as listener:
        clock = Clock(spec)
        meter = Meter(clock)
        peer: socket.socket | None = None
        listener.settimeout(0.05)
        while not clock.over(DRAIN_S):
            with contextlib.suppress(TimeoutError):
                if peer is None:
                    peer, _ = listener.accept()
                    peer.settimeout(0.05)
                    continue
                count = peer.recv_into(buffer)
                if count == 0:
                    break
                meter.octets += count
            meter.tick()
        while not clock.over():  # The sender went early: the rest of the time is silence.
            meter.tick()
            time.sleep(0.05)
        if peer is not None:
            peer.close()
        meter.final()


ROLES = {"udp-send": udp_send, "udp-receive": udp_receive, "tcp-send": tcp_send, "tcp-receive": tcp_receive}


def main(arguments: list[str]) -> int:
    try:
        ROLES[arguments[0]](json.loads(arguments[1]))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
