"""What transfers cost, and from where to where they are best done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slotcar_client.calls.requests import Time, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def costs(
    source: str, destination: str, volume: str, *, tolerance: str | None = None, tool: str | None = None,
    service: str | None = None,
) -> Conversation[documents.Costs]:  # fmt: skip
    """What the volume takes from one end system to another, with its error, now and with a reservation made now."""
    return (yield from send(verbs.Costs(source, destination, volume, tolerance, tool, service)))


def closest(
    files: Mapping[str, Iterable[str]], ces: Iterable[str] | None = None, *, sizes: Mapping[str, str] | None = None,
    in_use: Mapping[str, str] | None = None, alpha: str | None = None, tolerance: str | None = None,
    tool: str | None = None,
) -> Conversation[documents.Closest]:  # fmt: skip
    """The best computing element, and for each file the best of the storage elements that have it."""
    each = {name: list(replicas) for name, replicas in files.items()}
    verb = verbs.Closest(each, list(ces) if ces is not None else None, sizes, in_use, alpha, tolerance, tool)
    return (yield from send(verb))


def gather(
    fragments: Mapping[str, str], ces: Iterable[str] | None = None, *, tolerance: str | None = None,
    tool: str | None = None,
) -> Conversation[documents.Gatherings]:  # fmt: skip
    """On which storage element fragments are best gathered, so that a computing element soon has all of them."""
    return (yield from send(verbs.Gather(fragments, list(ces) if ces is not None else None, tolerance, tool)))


def estimate_accuracy(tolerance: str | None = None) -> Conversation[documents.Accuracy]:
    """How good the estimates were, by the transfers that followed."""
    return (yield from send(verbs.EstimateAccuracy(tolerance)))


def record_transfer(
    source: str, destination: str, volume: str, start: Time, end: Time | None = None, *, tool: str = "slotcar-transfer"
) -> Conversation[documents.MeasuredTransfer]:
    """Hands in what a transfer without a reservation took."""
    verb = verbs.RecordTransfer(source, destination, volume, time_text(start), time_text(end), tool)
    return (yield from send(verb))


def record_probe(
    source: str, destination: str, tool: str, *, at: Time | None = None, rtt: str | None = None,
    throughput: str | None = None, loss: str | None = None,
) -> Conversation[documents.MeasuredProbe]:  # fmt: skip
    """Hands in what a probe measured; for operators."""
    return (yield from send(verbs.RecordProbe(source, destination, tool, time_text(at), rtt, throughput, loss)))
