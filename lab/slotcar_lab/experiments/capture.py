"""Packets at the ends' own interfaces, stamped by the kernel: tcpdump's files, read back.

Wire times (RFC 7679 §3.5): a sender's stamp is taken when a packet leaves the host's queues for the wire, a receiver's
when it comes from it. Programs on both sides may be late and it shows nowhere. All nodes share one kernel's clock.
"""

from __future__ import annotations

import base64
import re
import signal
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from slotcar.measuring.metrics.model import Stamp
from slotcar_lab.clocks import Clock
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.patience import HANG_S

#: The kernel hands packets to tcpdump in blocks, each after a second at the latest. Those of a block that is still open
#: when tcpdump is ended are in no file, and in no count of what was dropped.
OPEN_BLOCK_S = 2.0
#: Ethernet, IP and UDP headers with the sequence number behind; of TCP the ports are enough.
SNAP_BYTES = 50
PCAP_HEADER = struct.Struct("<IHHiIII")
PCAP_MAGIC = 0xA1B2C3D4
RECORD_HEADER = struct.Struct("<IIII")
ETHERNET_BYTES, LEAST_IP_BYTES = 14, 20
UDP, TCP = 17, 6
#: IP's identification is this wide, and Linux counts it up by one for each packet of a connection.
IDENTIFICATIONS = 1 << 16


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet that passed an interface.

    Attributes:
        at_us: microseconds since the epoch, by the lab's clock.
        number: of a datagram the sequence number in its payload, of a TCP segment IP's identification.
        packet_bytes: of the whole IP packet.
    """

    at_us: int
    source_port: int
    destination_port: int
    number: int
    packet_bytes: int


class Capture:
    """tcpdump on one node's `eth1`, until `packets` ends it. `clock`: by which that is waited for; the lab's by default."""

    def __init__(self, lab: Lab, node: str, expression: str, *, outgoing: bool, clock: Clock | None = None) -> None:
        self._clock = clock or lab.clock
        self.lab, self.node = lab, node
        self._file = f"/tmp/{node}-{'out' if outgoing else 'in'}-{time.monotonic_ns()}.pcap"  # noqa: S108 - in a router of the lab
        direction = "out" if outgoing else "in"
        argv = ["nice", "-n", "5", "tcpdump", "-i", "eth1", "-n", "-p", "-Q", direction, "-s", str(SNAP_BYTES)]
        argv += ["-B", "8192", "-Z", "root", "-w", self._file, expression]
        self._process = lab.popen(node, argv)
        deadline = time.monotonic() + HANG_S
        while "listening on" not in self._process.stderr:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise LabError(f"tcpdump on {node} did not start: {self._process.stderr.strip()}")
            time.sleep(0.02)

    def packets(self) -> tuple[Packet, ...]:
        """What passed, in order.

        Raises:
            LabError: tcpdump failed, or the kernel dropped packets before it saw them.
        """
        self._clock.wait_until(self._clock.now() + OPEN_BLOCK_S)
        self._process.send_signal(signal.SIGINT)
        self._process.wait(20.0)
        report = self._process.stderr
        self._process.close()
        missed = re.search(r"(\d+) packets? dropped by kernel", report)
        if missed is None or int(missed[1]):
            raise LabError(f"the capture on {self.node} is not whole: {report.strip()}")
        data = base64.b64decode(self.lab.check(self.node, ["base64", "-w0", self._file]))
        self.lab.check(self.node, ["rm", self._file])
        return tuple(parse(data))


def parse(data: bytes) -> Iterator[Packet]:
    """The UDP and TCP packets of a capture file, in its order.

    Raises:
        LabError: it is no little-endian capture of Ethernet in microseconds.
    """
    if len(data) < PCAP_HEADER.size or PCAP_HEADER.unpack_from(data)[0] != PCAP_MAGIC:
        raise LabError("this is not a capture file of tcpdump in microseconds")
    at = PCAP_HEADER.size
    while at + RECORD_HEADER.size <= len(data):
        seconds, micros, kept, _ = RECORD_HEADER.unpack_from(data, at)
        at += RECORD_HEADER.size
        packet = _packet(data[at : at + kept], seconds * 1_000_000 + micros)
        at += kept
        if packet is not None:
            yield packet


def _packet(frame: bytes, at_us: int) -> Packet | None:
    ip = frame[ETHERNET_BYTES:]
    if len(ip) < LEAST_IP_BYTES or ip[9] not in (UDP, TCP):
        return None
    header = 4 * (ip[0] & 0xF)
    packet_bytes, identification = struct.unpack_from("!HH", ip, 2)
    source, destination = struct.unpack_from("!HH", ip, header)
    number = struct.unpack_from("!Q", ip, header + 8)[0] if ip[9] == UDP else identification
    return Packet(at_us, source, destination, number, packet_bytes)


def stamps(sent: Iterable[Packet], received: Iterable[Packet], offset_us: int = 0) -> tuple[Stamp, ...]:
    """Each datagram's departure with its arrival; the clock's offset to this machine's is taken off both.

    Departures without an arrival are lost; an arrival whose departure was not captured counts for nothing.
    """
    arrivals: dict[int, list[int]] = {}
    for packet in received:
        arrivals.setdefault(packet.number, []).append(packet.at_us - offset_us)
    stamped: list[Stamp] = []
    for packet in sent:
        sent_us = packet.at_us - offset_us
        stamped += [Stamp(packet.number, sent_us, at) for at in arrivals.get(packet.number, [])] or [
            Stamp(packet.number, sent_us, None)
        ]
    return tuple(stamped)


def numbered(packets: Iterable[Packet], first: int | None = None) -> tuple[Packet, ...]:
    """Segments of one connection with their identifications counted on beyond 16 bits, in the order of capture.

    Every packet of a connection has the next identification, also a segment that is sent again: so each is a packet
    of its own, as RFC 3357 counts them.

    Args:
        first: the number that the other end's first segment has: the count goes on from there, so that both ends agree
            where a connection's first segments were lost right before the end of the 16 bits.
    """
    counted_on: list[Packet] = []
    last = first
    for packet in packets:
        step = 0 if last is None else (packet.number - last) % IDENTIFICATIONS
        last = packet.number if last is None else last + step
        last -= IDENTIFICATIONS if step >= IDENTIFICATIONS // 2 else 0
        counted_on.append(Packet(packet.at_us, packet.source_port, packet.destination_port, last, packet.packet_bytes))
    return tuple(counted_on)
