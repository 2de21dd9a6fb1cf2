"""What a transfer would take, from where and to where it is best done; and what was measured, handed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.cli.options import OutputFormat
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.session import sender
from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar_client.wire import documents

From = Annotated[str, typer.Option("--from", help="an end system of the inventory", show_default=False)]
To = Annotated[str, typer.Option("--to", help="another one", show_default=False)]
Volume = Annotated[str, typer.Option("--volume", help="how much, such as `2 GB`", show_default=False)]
Tolerance = Annotated[
    str | None, typer.Option("--tolerance", help="only what was measured within so long [default: 30 d]")
]
Tool = Annotated[str | None, typer.Option("--tool", help="only what this tool measured")]
Ces = Annotated[
    list[str] | None,
    typer.Option("--ce", help="a computing element; may be repeated [default: all hosts with the role computing]"),
]
UNKNOWN = "unknown"


def register(app: typer.Typer) -> None:
    for command in (costs, closest, gather, estimates):
        app.command()(command)
    record = typer.Typer(no_args_is_help=True, help="Hand in what was measured.")
    record.command("transfer")(record_transfer)
    record.command("probe")(record_probe)
    app.add_typer(record, name="record")


def costs(
    sources: Annotated[
        list[str], typer.Option("--from", help="an end system; of several the soonest comes first", show_default=False)
    ],
    destination: To,
    volume: Volume,
    service: Annotated[str | None, typer.Option("--service", help="of the reservation [default: ip-premium]")] = None,
    tolerance: Tolerance = None,
    tool: Tool = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show what a transfer would take, with the error, without a reservation and with one made now."""
    from slotcar.measuring.costs.documents import soonest
    from slotcar_client.wire import verbs

    with sender() as controller:
        listed = [controller.send(verbs.Costs(one, destination, volume, tolerance, tool, service)) for one in sources]
    listed.sort(key=soonest)
    emit(listed if len(listed) > 1 else listed[0], form, lambda: _print_costs(listed))


def _print_costs(listed: Sequence[documents.Costs]) -> None:
    rows = [row for one in listed for row in _cost_rows(one)]
    columns = (Column("from"), Column("to"), Column("how"), Column("takes"), Column("68 %", 3), Column("9 in 10", 2),
               Column("rate"), Column("known by", 1, wraps=True))  # fmt: skip
    print_table(columns, rows, "")
    for words in dict.fromkeys(word for one in listed for word in one["unknown"]):
        stdout().print(words, style="dim")


def _cost_rows(cost: documents.Costs) -> list[tuple[str, ...]]:
    from slotcar.base.units import format_rate_about

    ends = (cost["source"], cost["destination"])
    plain, reserved = cost["best_effort"], cost["reserved"]
    rows: list[tuple[str, ...]] = [(*ends, "best-effort", UNKNOWN, "", "", "", "")]
    if plain is not None:
        least, most = plain["least_ms"], plain["most_ms"]
        nine = "" if least is None or most is None else f"{seconds(least)} to {seconds(most)}"
        counted = f"{plain['samples']} {plain['source']}" if plain["samples"] > 1 else f"one of {plain['source']}"
        by = f"{counted} between {plain['between']}"
        rows[0] = (*ends, "best-effort", seconds(plain["cost_ms"]), _interval(plain), nine,
                   format_rate_about(plain["throughput_bps"]), by)  # fmt: skip
    if reserved is None:
        return [*rows, (*ends, "reserved", UNKNOWN, "", "", "", "")]
    kept = _interval(reserved) if reserved["kept_ppm"] is not None else ""
    by = "what is free now, and transfers that were reserved" if kept else "what is free now"
    rate = format_rate_about(reserved["rate_bps"])
    return [*rows, (*ends, reserved["service"], seconds(reserved["cost_ms"]), kept, "", rate, by)]


def _interval(cost: documents.TimeEstimate | documents.ReservedEstimate) -> str:
    return f"{seconds(cost['low_ms'])} to {seconds(cost['high_ms'])}"


def seconds(time_ms: int) -> str:
    """To a tenth of a second, and of what takes minutes to a second."""
    return f"{time_ms / 1000:.1f} s" if time_ms < 100_000 else f"{time_ms // 1000} s"


def closest(
    files: Annotated[
        list[str],
        typer.Option(
            "--file", metavar="NAME=SE,SE…", help="a file and who has it; may be repeated", show_default=False
        ),
    ],
    ces: Ces = None,
    sizes: Annotated[
        list[str] | None, typer.Option("--size", metavar="NAME=VOLUME", help="how large a file is, for its weight")
    ] = None,
    in_use: Annotated[
        list[str] | None, typer.Option("--in-use", metavar="NAME=SE", help="from where a file is read now")
    ] = None,
    alpha: Annotated[
        str | None, typer.Option("--alpha", help="the weight of throughput, from 0 to 1 [default: 0.5]")
    ] = None,
    tolerance: Tolerance = None,
    tool: Tool = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show the best computing element, and for each file the best storage element that has it."""
    from slotcar_client.wire import verbs

    replicas = {name: [one for one in text.split(",") if one] for name, text in pairs("--file", files).items()}
    verb = verbs.Closest(
        replicas, ces, pairs("--size", sizes) or None, pairs("--in-use", in_use) or None, alpha, tolerance, tool
    )
    with sender() as controller:
        answer = controller.send(verb)
    rows = [
        (
            one["ce"],
            part(one["score_ppm"], one["error_ppm"]),
            source["file"],
            source["source"] or UNKNOWN,
            _near(source),
        )
        for one in answer["items"]
        for source in one["files"]
    ]
    emit(answer, form, lambda: print_table(("computing", "score", "file", "from", "closeness"), rows, ""))


def _near(source: documents.FileSource) -> str:
    near = source["closeness"]
    if near is None:
        return UNKNOWN
    without = f" without {', '.join(near['unmeasured'])}" if near["unmeasured"] else ""
    return f"{part(near['closeness_ppm'], near['error_ppm'])}{without}"


def part(value_ppm: int | None, error_ppm: int) -> str:
    return UNKNOWN if value_ppm is None else f"{value_ppm / 1e6:.3f} ± {error_ppm / 1e6:.3f}"


def pairs(option: str, texts: Sequence[str] | None) -> Mapping[str, str]:
    """Of `NAME=VALUE`.

    Raises:
        BadParameter: there is no `=`, or a name twice.
    """
    read: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{text} is not NAME=VALUE", param_hint=option)
        if name in read:
            raise typer.BadParameter(f"{name} is there twice", param_hint=option)
        read[name] = value.strip()
    return read


def gather(
    fragments: Annotated[
        list[str], typer.Argument(metavar="SE=VOLUME…", help="how much each storage element has", show_default=False)
    ],
    ces: Ces = None,
    tolerance: Tolerance = None,
    tool: Tool = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show on which storage element fragments are best gathered: all of them are soonest at a computing element."""
    from slotcar.base.units import format_bytes_about
    from slotcar_client.wire import verbs

    with sender() as controller:
        answer = controller.send(verbs.Gather(pairs("SE=VOLUME", fragments), ces, tolerance, tool))
    rows = [
        (one["se"], format_bytes_about(one["moved_bytes"]), _maybe(one["gather_ms"]), one["ce"] or UNKNOWN,
         _maybe(one["read_ms"]))
        for one in answer["items"]
    ]  # fmt: skip
    emit(answer, form, lambda: print_table(("gathered on", "moved", "takes", "read by", "which takes"), rows, ""))


def _maybe(time_ms: int | None) -> str:
    return UNKNOWN if time_ms is None else seconds(time_ms)


def estimates(tolerance: Tolerance = None, form: OutputFormat = Format.TABLE) -> None:
    """Show how good the estimates of `slotcar costs` were, by the transfers that followed."""
    from slotcar_client.wire import verbs

    with sender() as controller:
        answer = controller.send(verbs.EstimateAccuracy(tolerance))
    off = answer["off_ppm"]
    rows = [
        ("transfers with an estimate", str(answer["estimated"])),
        ("transfers of which nothing was known", str(answer["unknown"])),
        ("within the middle 68 %", share(answer["within_68"], answer["estimated"])),
        ("within nine in ten", share(answer["within_nine_in_ten"], answer["bounded"])),
        ("off by (median)", UNKNOWN if off is None else f"{off / 10_000:.1f} %"),
    ]
    emit(answer, form, lambda: print_table(("estimates", "value"), rows, ""))


def share(part_of: int, whole: int) -> str:
    return f"{part_of} of {whole}, {100 * part_of / whole:.0f} %" if whole else UNKNOWN


def record_transfer(
    source: From,
    destination: To,
    volume: Volume,
    start: Annotated[str, typer.Option("--start", help="when the first byte was sent", show_default=False)],
    end: Annotated[str | None, typer.Option("--end", help="when the last had arrived [default: now]")] = None,
    tool: Annotated[str, typer.Option("--tool", help="what moved it")] = "slotcar-transfer",
    form: OutputFormat = Format.TABLE,
) -> None:
    """Hand in what a transfer without a reservation took; with one the controller knows it by the reported progress."""
    from slotcar.base.units import format_rate_about
    from slotcar_client.wire import verbs

    with sender() as controller:
        answer = controller.send(verbs.RecordTransfer(source, destination, volume, start, end, tool))
    known = answer["estimated_ms"]
    words = f"{answer['source']} to {answer['destination']}: {format_rate_about(answer['throughput_bps'])}"
    before = "nothing was known before" if known is None else f"{seconds(known)} would have been said"
    emit(answer, form, lambda: stdout().print(f"{words}; {before}"))


def record_probe(
    source: From,
    destination: To,
    tool: Annotated[str, typer.Option("--tool", help="what measured it, such as `iperf3`", show_default=False)],
    rtt: Annotated[str | None, typer.Option("--rtt", help="round trip, such as `14.5 ms`")] = None,
    throughput: Annotated[str | None, typer.Option("--throughput", help="such as `460 Mbit/s`")] = None,
    loss: Annotated[str | None, typer.Option("--loss", help="such as `0.1 %`")] = None,
    at: Annotated[str | None, typer.Option("--at", help="when [default: now]")] = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Hand in what a probe measured."""
    from slotcar_client.wire import verbs

    with sender() as controller:
        answer = controller.send(verbs.RecordProbe(source, destination, tool, at, rtt, throughput, loss))
    words = f"kept of {answer['source']} to {answer['destination']}, measured by {answer['tool']} at {answer['at']}"
    emit(answer, form, lambda: stdout().print(words))
