"""`slotcar usage`: what devices counted of what was reserved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.options import MaybeWhich, OfOwner, OutputFormat, Since, Until, window_of
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.session import now, sender
from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar.base.timebase import Window

Document = Mapping[str, Any]
BY = ("owner", "sls", "domain", "reservation")


def register(app: typer.Typer) -> None:
    app.command()(usage)


def usage(
    which: MaybeWhich = None,
    by: Annotated[
        str | None, typer.Option("--by", help=f"sum by {', '.join(BY[:-1])} or {BY[-1]}, month by month")
    ] = None,
    unused: Annotated[bool, typer.Option("--unused", help="list what is reserved now and hardly used")] = False,
    link: Annotated[str | None, typer.Option("--link", help="what left by an interface: DEVICE:INTERFACE")] = None,
    owner: OfOwner = None,
    since: Since = None,
    until: Until = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show what was used of what was reserved, as the routers counted it, in bytes of IP packets.

    Of a RESERVATION each step of time; without one, sums by month. Time that nobody counted is told apart, and never
    taken for unused.
    """
    if sum((which is not None, by is not None, unused, link is not None)) > 1:
        raise typer.BadParameter("say one of RESERVATION, --by, --unused and --link")
    if by is not None and by not in BY:
        raise typer.BadParameter(f"{by!r} is nothing to sum by; say one of {', '.join(BY)}", param_hint="--by")
    if which is not None:
        _reservation(which, window_of(since, until, now()), form)
    elif link is not None:
        _link(link, window_of(since, until, now()), form)
    elif unused:
        _unused(owner, form)
    else:
        _sums(by or "owner", window_of(since, until, now(), _month_of), owner, form)


def _month_of(moment: datetime) -> datetime:
    from slotcar.views.usage import month_at

    return month_at(moment).start


def _texts(window: Window) -> dict[str, str]:
    from slotcar.base.timebase import iso

    return {"since": iso(window.start), "until": iso(window.end)}


# -- what a reservation carried ----------------------------------------------------------------------------------------


def _reservation(which: str, window: Window, form: Format) -> None:
    from slotcar_client.wire import verbs

    with sender() as controller:
        data = controller.send(verbs.ReservationUsage(controller.handle_of(which), **_texts(window)))
    emit(data, form, lambda: _print_flows(data))


def _print_flows(data: Document) -> None:
    for flow in data["flows"]:
        where = f" at {flow['device']} {flow['interface']}" if flow["device"] else ""
        stdout().print(f"{data['owner']}/{data['name']} {flow['direction']}{where}", style="cyan")
        if flow["unknown"]:
            stdout().print(f"  unknown: {flow['unknown']}")
            continue
        rows = [(_from_to(one), *_amounts(one), ", ".join(one["remarks"])) for one in flow["items"]]
        rows.append(("in all", *_amounts(flow["total"]), _unknown_words(flow)))
        columns = (Column("time"), *AMOUNTS, Column("remarks", leave_out=1))
        print_table(columns, rows, "")
    if not data["flows"]:
        stdout().print("It reserves no bandwidth.")


def _unknown_words(flow: Document) -> str:
    unknown_s = flow["open_s"] - flow["total"]["counted_s"]
    return f"{_span(unknown_s)} of {_span(flow['open_s'])} unknown" if unknown_s > 1 else ""


# -- sums, and what is not used ----------------------------------------------------------------------------------------


def _sums(by: str, window: Window, owner: str | None, form: Format) -> None:
    from slotcar_client.wire import verbs

    with sender() as controller:
        data = controller.send(verbs.CountedUsage(by, owner=owner, **_texts(window)))  # type: ignore[arg-type]
    rows = [(one["month"], one["name"], str(one["reservations"]), *_amounts(one)) for one in data["items"]]
    columns = (Column("month"), Column(by), Column("reservations", leave_out=1), *AMOUNTS)
    emit(data, form, lambda: print_table(columns, rows, "Nothing was counted in this time."))


def _unused(owner: str | None, form: Format) -> None:
    from slotcar.base.units import format_bytes_about
    from slotcar_client.wire import verbs

    with sender() as controller:
        data = controller.send(verbs.UnusedReservations(owner=owner))
    rows = [
        (
            f"{one['owner']}/{one['name']}",
            *_amounts(one)[:3],
            format_bytes_about(-(-one["frees_bits"] // 8)),
            one["until"],
        )
        for one in data["items"]
    ]
    columns = (Column("reservation"), *AMOUNTS[:3], Column("would free"), Column("until", leave_out=1))
    emit(data, form, lambda: print_table(columns, rows, "Nothing that was counted is unused."))


# -- links -------------------------------------------------------------------------------------------------------------


def _link(link: str, window: Window, form: Format) -> None:
    from slotcar_client.wire import verbs

    device, colon, interface = link.partition(":")
    if not colon:
        raise typer.BadParameter("say DEVICE:INTERFACE", param_hint="--link")
    with sender() as controller:
        data = controller.send(verbs.LinkUsage(device, interface, **_texts(window)))
    emit(data, form, lambda: _print_link(data))


def _print_link(data: Document) -> None:
    from slotcar.base.units import format_bytes_about

    if data["unknown"]:
        stdout().print(f"unknown: {data['unknown']}")
        return
    rows = [
        (
            _from_to(one), _span(one["counted_s"]), format_bytes_about(one["reserved_bits"] // 8),
            format_bytes_about(one["sent_bytes"]), format_bytes_about(one["free_bits"] // 8),
            str(one["dropped_packets"]), ", ".join(one["remarks"]),
        )
        for one in data["items"]
    ]  # fmt: skip
    titles = ("time", "counted", "reserved", "sent", "free", "packets dropped")
    print_table((*map(Column, titles), Column("remarks", leave_out=1)), rows, "")


# -- texts -------------------------------------------------------------------------------------------------------------

AMOUNTS = tuple(map(Column, ("counted", "reserved", "used", "out of profile", "dropped")))


def _amounts(one: Document) -> Sequence[str]:
    from slotcar.base.units import format_bytes_about

    used = one["in_profile_bytes"] + one["out_of_profile_bytes"]
    reserved = one["reserved_bits"]
    part = f" ({used * 800 // reserved} %)" if reserved else ""
    return (
        _span(one["counted_s"]), format_bytes_about(reserved // 8), f"{format_bytes_about(used)}{part}",
        format_bytes_about(one["out_of_profile_bytes"]), format_bytes_about(one["dropped_bytes"]),
    )  # fmt: skip


def _from_to(one: Document) -> str:
    return f"{one['start']} .. {one['end']}"


def _span(seconds: int) -> str:
    from slotcar.base.units import format_duration

    return format_duration(timedelta(seconds=seconds))
