"""A1's Figure 1: throughput by the size of blocks, with and without retransmission, raw and by TCP."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import slotcar_client
from slotcar_client.vectors.mapping import Transport, ip_bytes, parts_of, room_bytes
from slotcar_lab.client import LabProcess
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.a1_1.ends import AHEAD_S, ETHERNET_BYTES, IP_AND_UDP_BYTES, MTU_BYTES
from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
LIBRARY = Path(slotcar_client.__file__).parents[1]
ADDRESS, FIRST_PORT = "10.10.21.2", 5_001
#: An eighth of the switch's 155 Mb/s; the senders without windows keep a little below it.
LINE_BPS, PACED_PART = 19_375_000, Fraction(99, 100)
#: The network block: what a packet holds of a block of the library's on UDP. A1's was 9 kB (§3).
NETWORK_BLOCK_BYTES = room_bytes(Transport.UDP)
SIZES = (32, 64, 128, 256, 512, 1_024, NETWORK_BLOCK_BYTES, NETWORK_BLOCK_BYTES + 1, 2_048, 4_096, 16_384)
SHORT_SIZES = (64, NETWORK_BLOCK_BYTES, NETWORK_BLOCK_BYTES + 1, 16_384)
RAW, TCP, AGAIN, ONCE = HOWS = ("raw", "tcp", "again", "once")
NAMES = {RAW: "datagrams, raw", TCP: "TCP", AGAIN: "A1 with retransmission", ONCE: "A1 without retransmission"}
#: Of each stream; between two of them ends close and connect.
STREAM_S, BETWEEN_S, LEAD_S = 1.5, 1.5, 6.0


def on_the_line_bytes(how: str, size: int) -> int:
    """Of a block that is sent without a window, its packets with their Ethernet headers."""
    if how == RAW:
        # IP's fragments each have a header of 20 bytes, and eight bytes of UDP's are in the first.
        packets = -(-(size + 8) // (MTU_BYTES - 20))
        return size + IP_AND_UDP_BYTES + (packets - 1) * 20 + packets * ETHERNET_BYTES
    packets = parts_of(size, Transport.UDP)
    return ip_bytes(size, Transport.UDP, framed=False) + packets * ETHERNET_BYTES


def schedule(begin: float, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    streams: list[dict[str, Any]] = []
    for size in sizes:
        for how in HOWS:
            rate_ps = int(LINE_BPS / 8 * PACED_PART * size / on_the_line_bytes(RAW if how == RAW else ONCE, size))
            begins = begin + len(streams) * (STREAM_S + BETWEEN_S)
            streams.append(
                {"how": how, "size": size, "port": FIRST_PORT + len(streams), "begin": begins, "seconds": STREAM_S,
                 "rate_ps": rate_ps}
            )  # fmt: skip
    return streams


def measure(bench: Bench) -> Findings:
    begin = float(int(bench.clock.now() + LEAD_S))
    streams = schedule(begin, SHORT_SIZES if bench.smoke else SIZES)
    configuration = bench.configuration(begin)
    by_the_nodes = [one | {"begin": bench.by_the_nodes(one["begin"])} for one in streams]
    with both_ends(bench, HERE / "ends.py", by_the_nodes) as (receiver, sender):
        bench.wait_until(streams[-1]["begin"] + STREAM_S + 2 * AHEAD_S)
        for process in (sender, receiver):
            bench.wait_ended(process, 10.0)
        rates = _rates(receiver.stdout)
    if len(rates) != len(streams):
        raise LabError(f"{len(rates)} of {len(streams)} streams were received: {receiver.stderr.strip()[-500:]}")
    return Findings(tuple(_rows(rates)), (_plot(rates),), configuration)


@contextlib.contextmanager
def both_ends(
    bench: Bench, program: Path, played: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[LabProcess, LabProcess]]:
    """The receiver and the sender of what is played, both ready; they are closed at the end."""
    with contextlib.ExitStack() as stack:
        started = []
        for role, node in (("receive", "receiver"), ("send", "sender")):
            arguments = (role, bench.lab.inside(LIBRARY), ADDRESS, json.dumps(played))
            started.append(stack.enter_context(bench.lab.start_python(node, program, *arguments)))
            started[-1].wait_reported("\n", HANG_S)
        yield started[0], started[1]


def _rates(output: str) -> dict[tuple[str, int], float]:
    """Mb/s of payload by stream."""
    streams = [json.loads(line) for line in output.splitlines()[1:]]
    return {(one["how"], one["size"]): one["octets"] * 8 / one["took_s"] / 1e6 for one in streams if one["took_s"]}


KNEE = Rule(
    "raw datagrams, the smallest blocks",
    "rises to 135 Mb/s, with a knee at 1.7 kB",
    "% of the largest blocks' rate",
    "at most half",
    lambda ours, _: ours <= 50,
)
IP = Rule("TCP, the largest blocks", "130 of 135 Mb/s, 96 %", "% of raw", "at least 90 %", lambda ours, _: ours >= 90)
WITHOUT = Rule(
    "A1 without retransmission, the largest blocks",
    "about 130 of 135 Mb/s, close to raw",
    "% of raw",
    "at least 90 %",
    lambda ours, _: ours >= 90,
)
WITH = Rule(
    "A1 with retransmission, the largest blocks",
    "about 111 of 135 Mb/s, 82 %",
    "% of raw",
    "at least 75 %, and below A1 without retransmission",
    lambda ours, without: 75 <= ours < without,
)
FALLS_WITHOUT, FALLS_WITH = (
    Rule(
        f"A1 {words} retransmission, one byte more than a network block",
        "falls",
        "% of the rate of a whole network block",
        "at most 99 %",
        lambda ours, _: ours <= 99,
    )
    for words in ("without", "with")
)


def _rows(rates: dict[tuple[str, int], float]) -> Iterator[Row]:
    sizes = sorted({size for _, size in rates})

    def beside_raw(how: str) -> float:
        return 100 * rates[how, sizes[-1]] / rates[RAW, sizes[-1]]

    def past_the_block(how: str) -> float:
        return 100 * rates[how, NETWORK_BLOCK_BYTES + 1] / rates[how, NETWORK_BLOCK_BYTES]

    raw = f"raw {rates[RAW, sizes[-1]]:.2f} of a line of {LINE_BPS / 1e6:.2f} Mb/s"
    yield KNEE.judge(100 * rates[RAW, sizes[0]] / rates[RAW, sizes[-1]], note=f"blocks of {sizes[0]} bytes; {raw}")
    yield IP.judge(beside_raw(TCP))
    yield WITHOUT.judge(beside_raw(ONCE))
    yield WITH.judge(beside_raw(AGAIN), beside_raw(ONCE))
    yield FALLS_WITHOUT.judge(past_the_block(ONCE))
    yield FALLS_WITH.judge(past_the_block(AGAIN))


def _plot(rates: dict[tuple[str, int], float]) -> Plot:
    curves = []
    for how in HOWS:
        points = sorted((size, rate) for (name, size), rate in rates.items() if name == how)
        curves.append(Curve(NAMES[how], tuple(float(size) for size, _ in points), tuple(rate for _, rate in points)))
    marks = ((float(NETWORK_BLOCK_BYTES), "network block"),)
    title, x_label = "Throughput by the size of blocks", "bytes of a block"
    return Plot("throughput", title, x_label, "payload received, Mb/s", tuple(curves), marks, x_log=True)


EXPERIMENT = Experiment(
    name="a1-1",
    title="A1 Figure 1: throughput by block size, with and without retransmission",
    source="Mapp and Hodges, QoS-Based Transport (A1), §3, Figure 1",
    shown=(
        "Throughput rises with the size of blocks until the line is full. Without retransmission A1 comes close to raw"
        " datagrams, with it a part is lost to it, and either falls where a block no longer fits a network block."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    written=Fraction(1, 8),
    scaled=False,
    scale=(
        "The line is an eighth of 155 Mb/s; the network block is what a packet of 1500 bytes holds, where A1's was 9 kB on"
        " ATM. Raw AAL5 is here a plain UDP socket, classical IP plain TCP, and A1 the client library's connections by"
        " vector: TCP with each message's length where it sends again. What a block costs a processor is that of Python."
    ),
    explain=(
        "With retransmission blocks go on TCP, which packs them into full segments wherever they begin: a block that is"
        " longer than a packet costs it nothing more."
    ),
)
