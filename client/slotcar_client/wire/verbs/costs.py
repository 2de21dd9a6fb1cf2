"""What a transfer costs, and from where to where it is best done (D7.3 §5, §10); and what was measured, handed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword, Time
from slotcar_client.wire.verbs.texts import LINE
from slotcar_client.wire.verbs.verb import BODY, Verb

HostName = Annotated[str, Keyword("maxLength", 253), LINE]
End = Annotated[str, Keyword("maxLength", 300), LINE]
Source = Annotated[End, Keyword("examples", ("cern-se",)), "an end system of the inventory"]
Destination = Annotated[End, Keyword("examples", ("cern-ce",)), "another one"]
Volume = Annotated[str, Keyword("maxLength", 100), Keyword("examples", ("2 GB",)), "how much is moved"]
Tolerance = Annotated[
    str | None, Keyword("maxLength", 100), Keyword("examples", ("7 d",)),
    "only what was measured within so long; the last 30 days where nothing is said",
]  # fmt: skip
ToolName = Annotated[str, Keyword("maxLength", 63), LINE]
Tool = Annotated[ToolName | None, "only what this tool measured"]
MeasuringTool = Annotated[ToolName, Keyword("examples", ("iperf3",)), "what measured it"]
FileName = Annotated[str, Keyword("maxLength", 253), Keyword("minLength", 1)]
Size = Annotated[str, Keyword("maxLength", 253)]
Ces = Annotated[
    Sequence[HostName] | None, Keyword("maxItems", 100),
    "the computing elements; all hosts with that role where none is named",
]  # fmt: skip


@dataclass(frozen=True)
class Costs(
    Verb[documents.Costs], to="GET /v1/costs", summary="What a transfer would take", errors=(401, 403, 422, 503)
):
    """The time that a volume takes from a host to another, with its error, as it is now and with a reservation made now.

    Without a reservation: the median of the transfers that were, with the interval of the middle 68 %, else of probes; of
    one sample the tool's accuracy. Between the two hosts, else between their monitoring domains. With one: by the rates
    that admission has free from now on. Null is said of what is not known.
    """

    source: Source
    destination: Destination
    volume: Volume
    tolerance: Tolerance = None
    tool: Tool = None
    service: Annotated[
        str | None, Keyword("maxLength", 100), "of the reservation; `ip-premium` where nothing is said"
    ] = None


@dataclass(frozen=True)
class Closest(
    Verb[documents.Closest],
    to="POST /v1/closest",
    summary="The best computing element, and the best source of each file",
    errors=(401, 403, 503, *BODY),
):
    """Chooses by closeness, which is 0 for what is not reached and 1 for the same host or LAN. Changes nothing.

    While a job runs it is asked again, with the files that are still to be read and `in_use`: a file stays where it is read
    from, unless another place is nearer by more than the error.
    """

    files: Annotated[
        Mapping[FileName, Sequence[HostName]],
        Keyword("maxItems", 1000),
        "of each file, the storage elements that have it",
    ]
    ces: Ces = None
    sizes: Annotated[
        Mapping[FileName, Size] | None, Keyword("maxItems", 1000),
        "how large each file is, for its weight; all alike where nothing is said",
    ] = None  # fmt: skip
    in_use: Annotated[Mapping[FileName, HostName] | None, Keyword("maxItems", 1000), "from where each is read now"] = (
        None
    )
    alpha: Annotated[
        str | None, Keyword("maxLength", 100), Keyword("examples", ("0.5",)),
        "the weight of throughput beside that of the round trip, from 0 to 1; 0.5 where nothing is said",
    ] = None  # fmt: skip
    tolerance: Tolerance = None
    tool: Tool = None


@dataclass(frozen=True)
class Gather(
    Verb[documents.Gatherings],
    to="POST /v1/gathering",
    summary="Where fragments are best gathered",
    errors=(401, 403, 503, *BODY),
):
    """On which storage element: the one from which all of them are soonest at a computing element. Changes nothing."""

    fragments: Annotated[
        Mapping[HostName, Size], Keyword("maxItems", 100),
        "how much each storage element has",
    ]  # fmt: skip
    ces: Ces = None
    tolerance: Tolerance = None
    tool: Tool = None


@dataclass(frozen=True)
class EstimateAccuracy(
    Verb[documents.Accuracy],
    to="GET /v1/costs/accuracy",
    summary="How good the estimates were",
    errors=(401, 403, 422, 503),
):
    """By the transfers that followed: of each it is kept what would have been said when it began."""

    tolerance: Tolerance = None


@dataclass(frozen=True)
class RecordTransfer(
    Verb[documents.MeasuredTransfer],
    to="POST /v1/transfers",
    summary="Hand in what a transfer took",
    created=True,
    errors=(401, 403, 503, *BODY),
):
    """Of a transfer without a reservation; what a reserved volume took is known once all of it is reported moved."""

    source: Source
    destination: Destination
    volume: Volume
    start: Annotated[Time | None, "when the first byte was sent"]
    end: Annotated[Time | None, "when the last had arrived; now where nothing is said"] = None
    tool: MeasuringTool = "slotcar-transfer"


@dataclass(frozen=True)
class RecordProbe(
    Verb[documents.MeasuredProbe],
    to="POST /v1/probes",
    summary="Hand in what a probe measured",
    created=True,
    errors=(401, 403, 503, *BODY),
):
    """One of round trip, throughput and loss, or several of them."""

    source: Source
    destination: Destination
    tool: MeasuringTool
    at: Annotated[Time | None, "when; now where nothing is said"] = None
    rtt: Annotated[str | None, Keyword("maxLength", 100), Keyword("examples", ("14.5 ms",))] = None
    throughput: Annotated[str | None, Keyword("maxLength", 100), Keyword("examples", ("460 Mbit/s",))] = None
    loss: Annotated[str | None, Keyword("maxLength", 100), Keyword("examples", ("0.1 %",))] = None
