"""What a platform can express, as a table: the mapping from `QosIntent` asks it, so that no template sees a wrong value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slotcar.base.units import format_bytes_about, format_rate, format_rate_about
from slotcar.base.vocabulary import Protocol
from slotcar.platforms.intent.model import EdgeFlow
from slotcar.platforms.model import BeyondLimit, Unrenderable


@dataclass(frozen=True, slots=True)
class Range:
    """Values that a device takes: `floor`, `floor + grain`, ... up to `ceiling`; its unit is that of the field's name."""

    floor: int
    ceiling: int
    grain: int = 1

    def at_least(self, value: int, where: str, what: str, unit: str) -> int:
        """The smallest value of the range that is no less than `value`: a reservation never gets less than promised.

        Raises:
            BeyondLimit: the range ends below it; `where` names device and interface, `what` the number.
        """
        rounded = max(self.floor, self.floor + -(-(value - self.floor) // self.grain) * self.grain)
        if rounded > self.ceiling:
            raise BeyondLimit(f"{where}: {what} of {limit_words(value, self.ceiling, unit)}", rounded, self.ceiling)
        return rounded


def limit_words(wanted: int, most: int, unit: str) -> str:
    """`10.28 Gbit/s wanted, 10 Gbit/s at most`: what is wanted is rounded up, and what there is down."""
    if unit == "bit/s":
        return f"{format_rate_about(wanted, up=True)} wanted, {format_rate_about(most)} at most"
    if unit == "bytes":
        return f"{format_bytes_about(wanted, up=True)} wanted, {format_bytes_about(most)} at most"
    return f"{wanted} {unit} wanted, {most} at most"


def require_known_ports(flow: EdgeFlow, lists: str) -> None:
    """That a platform can match a flow whose `lists` know ports of TCP and UDP alone.

    Raises:
        Unrenderable: it has ports of another protocol.
    """
    match = flow.match
    if match.protocol in (Protocol.TCP, Protocol.UDP) or (match.source_port, match.destination_port) == (None, None):
        return
    protocol = match.protocol.upper()
    raise Unrenderable(
        f"{flow.interface.device}: {flow.label} has ports of {protocol}, and {lists} know those of TCP and UDP alone: leave"
        f" the ports out, for all {protocol} between the two addresses"
    )


@dataclass(frozen=True, slots=True)
class Capability:
    """One platform's limits.

    Attributes:
        dscp: it classifies and marks by DSCP; where false, by IP precedence only.
        queues: classes or queues of one egress interface, the default one counted.
        priority_queue: one of them can be served in strict priority.
        ecn: it marks instead of dropping where it drops early.
        police_bps, burst_bytes: what its policer takes.
        weight: what its scheduler takes as a weight; `weight_unit` says of what.
        source: where the numbers come from.
        classes: classes of one policy, the default one counted; None where the platform has no policies.
        shapes: it can hold an interface below its line's rate.
    """

    dscp: bool
    queues: int
    priority_queue: bool
    ecn: bool
    police_bps: Range
    burst_bytes: Range
    weight: Range
    weight_unit: str
    source: str
    classes: int | None = None
    shapes: bool = True

    def check_queues(self, wanted: int, where: str) -> None:
        """
        Raises:
            Unrenderable: more queues than the interface has.
        """
        if wanted > self.queues:
            raise Unrenderable(f"{where}: {wanted} classes wanted, {self.queues} queues")

    def check_classes(self, wanted: int, where: str) -> None:
        """
        Raises:
            Unrenderable: more classes than a policy has.
        """
        if self.classes is not None and wanted > self.classes:
            raise Unrenderable(f"{where}: {wanted} classes wanted in one policy, {self.classes} at most")

    def check_weights(self, weights: Mapping[str, int], where: str) -> None:
        """
        Raises:
            Unrenderable: the shares, rounded up to what the scheduler takes, are more than it has to give.
        """
        total = sum(weights.values())
        if total > self.weight.ceiling:
            weights_words = ", ".join(f"{name} {weight}" for name, weight in weights.items())
            raise Unrenderable(
                f"{where}: the shares need {total} {self.weight_unit} ({weights_words}), {self.weight.ceiling} at most"
            )

    def check_line(self, capacity_bps: int, line_bps: int, where: str, hint: str) -> None:
        """
        Raises:
            Unrenderable: the interface is to send more slowly than its line, and nothing here holds it back.
        """
        if capacity_bps < line_bps and not self.shapes:
            raise Unrenderable(
                f"{where}: {format_rate(capacity_bps)} wanted of a line of {format_rate(line_bps)}, and nothing holds it"
                f" back; {hint}"
            )

    def rate(self, rate_bps: int, where: str) -> int:
        """The policer's rate for at least `rate_bps`.

        Raises:
            Unrenderable: the policer ends below it.
        """
        return self.police_bps.at_least(rate_bps, where, "a policer's rate", "bit/s")

    def burst(self, burst_bytes: int, where: str) -> int:
        """The policer's burst for at least `burst_bytes`.

        Raises:
            Unrenderable: the policer ends below it.
        """
        return self.burst_bytes.at_least(burst_bytes, where, "a policer's burst", "bytes")
