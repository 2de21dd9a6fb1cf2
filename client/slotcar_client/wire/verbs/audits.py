"""Whether SLSs were kept, and what probes measured of them, handed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword, Time
from slotcar_client.wire.verbs.texts import LINE
from slotcar_client.wire.verbs.verb import BODY, Named, Verb

#: A minute of a packet each 10 ms, and some that were late.
MOST_PACKETS = 6_600
_COUNT = (Keyword("minimum", 0), Keyword("maximum", MOST_PACKETS))
_MICROSECONDS = (Keyword("minimum", 0), Keyword("maximum", 3_600_000_000))
SlsName = Annotated[str, Keyword("maxLength", 320), LINE]
End = Annotated[str, Keyword("maxLength", 300), LINE]
Number = Annotated[int, Keyword("minimum", -(2**53)), Keyword("maximum", 2**53)]
Packet = Annotated[Sequence[Number | None], Keyword("minItems", 3), Keyword("maxItems", 3)]


@dataclass(frozen=True)
class Audits(
    Verb[documents.Audits],
    to="GET /v1/audits",
    summary="Whether SLSs were kept",
    errors=(401, 403, 422, 503),
):
    """Each hour or day of each SLS: kept, broken or unknown; by delay, variation, loss and rate, each by itself, with the
    figure, what was agreed, and what the figure may be off by. For operators and auditors.

    What nobody measured is unknown, and never kept. An SLS of which no delay, variation or loss was agreed has nothing to
    audit, and says so.
    """

    sls: Annotated[SlsName | None, Keyword("examples", ("anl-esnet-ip-premium",)), "only this one"] = None
    service: Annotated[str | None, Keyword("maxLength", 100), "only of this class"] = None
    since: Annotated[Time | None, Named("from"), "from here on; left out: a day before `until`"] = None
    until: Annotated[Time | None, "until here; left out: now"] = None
    step: Annotated[
        Literal["hour", "day"] | None,
        "how long an item is; left out: an hour for up to 2 days, a day beyond; hours are kept for 62 days, days for 400",
    ] = None


@dataclass(frozen=True)
class RecordStream(
    Verb[documents.AuditedStream],
    to="POST /v1/audits/streams",
    summary="Hand in what a probe of an SLS measured",
    created=True,
    errors=(401, 403, 503, *BODY),
):
    """One direction of some time, packet by packet, in the order of time: what was handed in before counts once.

    `source` and `destination` are where the probes are: two end systems of the inventory, or other names of theirs.
    """

    sls: Annotated[SlsName, Keyword("examples", ("anl-esnet-ip-premium",))]
    source: Annotated[End, Keyword("examples", ("anl-premium",))]
    destination: Annotated[End, Keyword("examples", ("lbnl-premium",))]
    start: Annotated[Time, "when the first packet was sent"]
    interval_us: Annotated[
        int, Keyword("minimum", 1_000), Keyword("maximum", 60_000_000), "from one packet to the next"
    ]
    packets: Annotated[
        Sequence[Packet], Keyword("maxItems", MOST_PACKETS),
        "of each its number, when it was sent in us after `start`, and its delay in us; null where it was lost",
    ]  # fmt: skip
    clock_error_us: Annotated[
        int | None, *_MICROSECONDS, "what both clocks may be off by together; null: one is not kept right"
    ] = None
    variation_error_us: Annotated[
        int, *_MICROSECONDS, "by how much one clock may run from the other between two packets"
    ] = 0
    unstamped: Annotated[int, *_COUNT, "so many more arrived, of which no delay is known"] = 0
    unanswered: Annotated[int, *_COUNT, "of so many more nothing is known"] = 0
    remarked: Annotated[int, *_COUNT, "so many arrived by another code point than they were sent by"] = 0
    untold: Annotated[int, *_COUNT, "of so many nobody says by which code point they arrived"] = 0
