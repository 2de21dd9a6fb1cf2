"""The three stages of EMERGE: a foreground alone, congested by a background, and reserved for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.errors import LabError
from slotcar_lab.experiments import figures
from slotcar_lab.experiments.added import Figure, Pair, added
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Udp
from slotcar_lab.experiments.figures import Phase, during
from slotcar_lab.experiments.model import Curve, Plot
from slotcar_lab.experiments.scale import Scale

#: Left out at the beginning of a stage, while queues fill or drain.
SETTLE_S = 1.0
#: A stage that is shorter says nothing of a rate.
LEAST_S = 1.2
#: Of each stage before the slot; the slot's own length is the reservation's.
ALONE_S, CONGESTED_S = 10.0, 12.0
SMOKE_ALONE_S, SMOKE_CONGESTED_S = 4.0, 5.0
SHORT_SLOT_S = 8.0
#: At the end of a slot, where what is beside the foreground fits the pipe: its start and what is measured.
UNLOADED_S, SMOKE_UNLOADED_S = 12.0, 8.0


@dataclass(frozen=True, slots=True)
class Staged:
    """What was measured. `streams` by the flow's port; `unloaded` is the part of the slot in which the pipe is not full."""

    streams: dict[int, tuple[Delay, ...]]
    alone: Phase
    congested: Phase
    reserved: Phase
    whole: Phase
    configuration: dict[str, tuple[str, ...]]
    scale: Scale
    unloaded: Phase | None = None

    def added_ms(self, port: int, figure: Figure) -> float | None:
        """What a full pipe adds to a stream's delay in the slot, ms; None where it was never anything but full."""
        stream = self.streams[port]
        unloaded = during(stream, self.unloaded) if self.unloaded else ()
        return added(Pair(during(stream, self.reserved), unloaded), figure)

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
    *,
    fits: Udp | None = None,
) -> Staged:
    """Reserves, arms, and sends through all three stages; the file's one reservation is the foreground's.

    Args:
        fits: what takes the background's place at the slot's end, and leaves room in the pipe.

    Raises:
        LabError: a sender did not send what it was to, or a router was late.
    """
    (slot,) = bench.reserve(file).values()
    unloaded_s = UNLOADED_S if fits else 0.0
    end = slot.end
    if bench.smoke:
        alone_s, congested_s, unloaded_s = SMOKE_ALONE_S, SMOKE_CONGESTED_S, min(unloaded_s, SMOKE_UNLOADED_S)
        end = min(slot.end, slot.start + SHORT_SLOT_S + unloaded_s)
    full_until = end - unloaded_s
    bench.arm(slot, slot.start - alone_s - congested_s - 2 * START_S)
    ports = sorted({foreground.port, *(flow.port for flow in background)})
    sources = [foreground.source, *(flow.source for flow in background)]
    nodes = [foreground.destination, *(flow.destination for flow in background)]
    expression = f"udp portrange {ports[0]}-{ports[-1]}"
    with bench.captured(tuple(dict.fromkeys(sources)), tuple(dict.fromkeys(nodes)), expression) as captured:
        bench.wait_until(slot.start - alone_s - congested_s - START_S)
        first = bench.udp(foreground, end)
        bench.wait_until(slot.start - congested_s - START_S)
        others = [bench.udp(flow, full_until) for flow in background]
        began = max(flow.started_at for flow in others)
        configuration = bench.configuration(slot.start + 0.5 * (slot.end - slot.start))
        bench.wait_until(full_until)
        less = [bench.udp(fits, end)] if fits else []
        bench.watch([replace(slot, end=end)])
        bench.wait_until(end + 0.5)
        for flow in (first, *others, *less):
            flow.wait(15.0)
    bench.demand_sent([first], began, end)
    alone_from, alone_until = first.started_at + SETTLE_S, began - START_S / 2
    if alone_from > alone_until - LEAST_S or began + SETTLE_S > slot.start - LEAST_S:
        raise LabError(f"the flows of {slot.name} began too late for a stage before its slot")
    bench.demand_sent(others, began, full_until)
    for flow in less:
        bench.demand_sent([flow], flow.started_at, end)
    streams = {port: captured.stream(port) for port in ports}
    return Staged(
        streams=streams,
        alone=Phase("alone", alone_from, alone_until),
        congested=Phase("congested", began + SETTLE_S, slot.start - 0.2),
        reserved=Phase("reserved", slot.start + SLOT_SETTLE_S, full_until - 0.2),
        whole=Phase("whole", first.started_at, end),
        configuration=configuration,
        scale=bench.scale,
        unloaded=Phase("not full", less[0].started_at + SETTLE_S, end - 0.2) if less else None,
    )


def plots(staged: Staged, names: dict[int, str], payload_bytes: int) -> tuple[Plot, ...]:
    """Bandwidth, latency and packet loss over time, as EMERGE's Figures 2 and 3 have them."""
    seconds = "seconds since the foreground began"
    rates, delays, losses = [], [], []
    for port, name in names.items():
        stream = staged.streams[port]
        rates.append(Curve(name, *figures.rate_series(stream, payload_bytes, staged.whole, staged.scale)))
        delays.append(Curve(name, *figures.delay_series(stream, staged.whole)))
        losses.append(Curve(name, *figures.loss_series(stream, staged.whole)))
    return (
        Plot("bandwidth", "Bandwidth", seconds, "payload received, Mb/s", tuple(rates), staged.marks),
        Plot("latency", "One-way delay", seconds, "ms", tuple(delays), staged.marks, style="points"),
        Plot("loss", "Packet loss", seconds, "per cent of those sent", tuple(losses), staged.marks),
    )
