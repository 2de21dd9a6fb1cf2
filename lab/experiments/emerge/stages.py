"""The three stages of EMERGE: a foreground alone, congested by a background, and reserved for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.experiments import figures
from lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Slot, Udp, wait_until
from lab.experiments.figures import Phase
from lab.experiments.model import Curve, Plot
from lab.metrics.model import Delay

#: Left out at the beginning of a stage, while queues fill or drain.
SETTLE_S = 1.0
#: Of each stage before the slot; the slot's own length is the reservation's.
ALONE_S, CONGESTED_S = 10.0, 12.0
SMOKE_ALONE_S, SMOKE_CONGESTED_S = 4.0, 5.0
SHORT_SLOT_S = 8.0


@dataclass(frozen=True, slots=True)
class Staged:
    """What was measured. `streams` by the flow's port."""

    streams: dict[int, tuple[Delay, ...]]
    alone: Phase
    congested: Phase
    reserved: Phase
    whole: Phase
    configuration: dict[str, tuple[str, ...]]
    fit: bool

    @property
    def phases(self) -> tuple[Phase, ...]:
        return self.alone, self.congested, self.reserved

    @property
    def marks(self) -> tuple[tuple[float, str], ...]:
        begins, starts = self.congested.start - SETTLE_S, self.reserved.start - SLOT_SETTLE_S
        return (begins - self.whole.start, "background begins"), (starts - self.whole.start, "slot starts")


def run(
    bench: Bench,
    file: Path,
    foreground: Udp,
    background: Sequence[Udp],
    alone_s: float = ALONE_S,
    congested_s: float = CONGESTED_S,
) -> Staged:
    """Reserves, arms, and sends through all three stages; the file's one reservation is the foreground's."""
    (slot,) = bench.reserve(file).values()
    if bench.smoke:
        alone_s, congested_s = SMOKE_ALONE_S, SMOKE_CONGESTED_S
    end = min(slot.end, slot.start + SHORT_SLOT_S) if bench.smoke else slot.end
    bench.arm(slot, slot.start - alone_s - congested_s - 2 * START_S)
    ports = sorted({foreground.port, *(flow.port for flow in background)})
    sources = [foreground.source, *(flow.source for flow in background)]
    nodes = [foreground.destination, *(flow.destination for flow in background)]
    expression = f"udp portrange {ports[0]}-{ports[-1]}"
    with bench.captured(tuple(dict.fromkeys(sources)), tuple(dict.fromkeys(nodes)), expression) as seen:
        wait_until(slot.start - alone_s - congested_s - START_S)
        first = bench.udp(foreground, end)
        wait_until(slot.start - congested_s - START_S)
        others = [bench.udp(flow, end) for flow in background]
        began = max(flow.started_at for flow in others)
        configuration = bench.configuration(slot.start + 0.5 * (slot.end - slot.start))
        bench.watch([replace(slot, end=end)])
        wait_until(end + 0.5)
        for flow in (first, *others):
            flow.wait(15.0)
    bench.doubt_senders([first, *others], began, end)
    streams = {port: seen.stream(port) for port in ports}
    return _staged(slot, first.started_at, began, end, streams, configuration, not bench.doubts)


def _staged(
    slot: Slot,
    first: float,
    second: float,
    end: float,
    streams: dict[int, tuple[Delay, ...]],
    configuration: dict[str, tuple[str, ...]],
    fit: bool,
) -> Staged:
    return Staged(
        streams=streams,
        alone=Phase("alone", first + SETTLE_S, second - START_S / 2),
        congested=Phase("congested", second + SETTLE_S, slot.start - 0.2),
        reserved=Phase("reserved", slot.start + SLOT_SETTLE_S, end - 0.2),
        whole=Phase("whole", first, end),
        configuration=configuration,
        fit=fit,
    )


def plots(staged: Staged, names: dict[int, str], payload_bytes: int) -> tuple[Plot, ...]:
    """Bandwidth, latency and packet loss over time, as EMERGE's Figures 2 and 3 have them."""
    seconds = "seconds since the foreground began"
    rates, delays, losses = [], [], []
    for port, name in names.items():
        stream = staged.streams[port]
        rates.append(Curve(name, *figures.rate_series(stream, payload_bytes, staged.whole)))
        delays.append(Curve(name, *figures.delay_series(stream, staged.whole)))
        losses.append(Curve(name, *figures.loss_series(stream, staged.whole)))
    return (
        Plot("bandwidth", "Bandwidth", seconds, "payload received, Mb/s", tuple(rates), staged.marks),
        Plot("latency", "One-way delay", seconds, "ms", tuple(delays), staged.marks, style="points"),
        Plot("loss", "Packet loss", seconds, "per cent of those sent", tuple(losses), staged.marks),
    )
