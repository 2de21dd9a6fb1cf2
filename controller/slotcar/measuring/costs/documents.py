"""Estimates as documents: milliseconds, rounded so that an interval is never too narrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from slotcar.base.timebase import iso
from slotcar.measuring.costs.accuracy import Accuracy
from slotcar.measuring.costs.best_ces import Candidate, ChosenSource, Gathering
from slotcar.measuring.costs.closeness import Closeness
from slotcar.measuring.costs.network_costs import Cost, ReservedCost
from slotcar.store.measurements import ProbeSample, TransferSample
from slotcar_client.wire import documents


def cost_document(cost: Cost) -> documents.TimeEstimate:
    known, ends = cost.throughput, cost.nine_in_ten
    return {
        "cost_ms": up_ms(cost.cost_us),
        "low_ms": cost.middle68.low // 1000,
        "high_ms": up_ms(cost.middle68.high),
        "error_ms": up_ms(cost.error_us),
        "least_ms": ends.low // 1000 if ends else None,
        "most_ms": up_ms(ends.high) if ends else None,
        "throughput_bps": known.value,
        "source": cast(Literal["transfers", "probes"], known.source),
        "between": cast(Literal["hosts", "domains"], known.between),
        "samples": known.samples,
        "tools": list(known.tools),
        "newest_at": iso(known.newest_at),
        "by_tool": known.by_tool,
    }


def reserved_document(service: str, cost: ReservedCost) -> documents.ReservedEstimate:
    return {
        "service": service,
        "cost_ms": up_ms(cost.cost_us),
        "low_ms": cost.middle68.low // 1000,
        "high_ms": up_ms(cost.middle68.high),
        "rate_bps": cost.rate_bps,
        "kept_ppm": cost.kept.value if cost.kept else None,
    }


def soonest(cost: documents.Costs) -> tuple[bool, int]:
    """What sorts costs by the time without a reservation, and after all of these those with one alone."""
    plain, reserved = cost["best_effort"], cost["reserved"]
    return plain is None, plain["cost_ms"] if plain else reserved["cost_ms"] if reserved else 1 << 62


def nearness_document(near: Closeness | None) -> documents.Nearness | None:
    if near is None:
        return None
    return {"closeness_ppm": near.ppm, "error_ppm": near.error_ppm, "unmeasured": list(near.unmeasured)}


def closest_document(candidates: Sequence[Candidate]) -> documents.Closest:
    return {
        "best": next((one.ce for one in candidates if one.score_ppm), None),
        "items": [
            {
                "ce": one.ce,
                "score_ppm": one.score_ppm,
                "error_ppm": one.error_ppm,
                "files": [_source_document(source) for source in one.sources],
            }
            for one in candidates
        ],
    }


def _source_document(source: ChosenSource) -> documents.FileSource:
    return {"file": source.file, "source": source.source, "closeness": nearness_document(source.closeness)}


def gatherings_document(gatherings: Sequence[Gathering]) -> documents.Gatherings:
    return {
        "best": next((one.se for one in gatherings if one.whole_us is not None), None),
        "items": [
            {
                "se": one.se,
                "moved_bytes": one.moved_bytes,
                "gather_ms": _maybe_ms(one.gather_us),
                "ce": one.ce,
                "read_ms": _maybe_ms(one.read_us),
            }
            for one in gatherings
        ],
    }


def accuracy_document(accuracy: Accuracy) -> documents.Accuracy:
    return {
        "estimated": accuracy.estimated,
        "unknown": accuracy.unknown,
        "within_68": accuracy.within68,
        "bounded": accuracy.bounded,
        "within_nine_in_ten": accuracy.within_nine_in_ten,
        "off_ppm": accuracy.off_ppm,
    }


def transfer_document(sample: TransferSample) -> documents.MeasuredTransfer:
    return {
        "source": sample.way.source,
        "destination": sample.way.destination,
        "volume_bytes": sample.volume_bytes,
        "started_at": iso(sample.started_at),
        "ended_at": iso(sample.ended_at),
        "tool": sample.tool,
        "throughput_bps": sample.throughput_bps,
        "estimated_ms": _maybe_ms(sample.estimated_us),
        "low_ms": sample.low_us // 1000 if sample.low_us is not None else None,
        "high_ms": _maybe_ms(sample.high_us),
    }


def probe_document(sample: ProbeSample) -> documents.MeasuredProbe:
    return {
        "source": sample.way.source,
        "destination": sample.way.destination,
        "tool": sample.tool,
        "at": iso(sample.at),
        "rtt_us": sample.rtt_us,
        "throughput_bps": sample.throughput_bps,
        "loss_ppm": sample.loss_ppm,
    }


def up_ms(time_us: int) -> int:
    return -(-time_us // 1000)


def _maybe_ms(time_us: int | None) -> int | None:
    return None if time_us is None else up_ms(time_us)
