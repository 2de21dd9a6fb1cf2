"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from slotcar.cli.output import Format

if TYPE_CHECKING:
    from slotcar.base.timebase import Window


DAY = timedelta(days=1)


def complete_device(incomplete: str) -> list[tuple[str, str]]:
    from slotcar.cli.completing import devices

    return devices(incomplete)


def complete_reservation(incomplete: str) -> list[tuple[str, str]]:
    from slotcar.cli.completing import reservations

    return reservations(incomplete)


Inventory = Annotated[
    Path | None,
    typer.Option("--inventory", "-i", help="Ansible inventory of the network [env: SLOTCAR_INVENTORY]"),
]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="how to print it")]
At = Annotated[str, typer.Option("--at", help="a time with its zone, `now`, or `now + 10 min`")]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", "-d", help="only this device; may be repeated", autocompletion=complete_device),
]
Device = Annotated[
    str | None, typer.Option("--device", "-d", help="only of this device", autocompletion=complete_device)
]
OfReservation = Annotated[
    str | None, typer.Option("--reservation", help="a handle, or OWNER/NAME", autocompletion=complete_reservation)
]
OfOwner = Annotated[str | None, typer.Option("--owner", help="only of this owner")]
OfName = Annotated[str | None, typer.Option("--name", help="only of reservations of this name")]
OfLabel = Annotated[str | None, typer.Option("--label", help="only of those with this label: KEY or KEY=VALUE")]
Since = Annotated[str | None, typer.Option("--from", help="a time with its zone, or `now`")]
Until = Annotated[str | None, typer.Option("--until", help="a time with its zone, or `now + 10 min`")]
Newest = Annotated[bool, typer.Option("--newest", help="list the newest first")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]
IfVersion = Annotated[int | None, typer.Option("--if-version", help="only if the reservation still has this version")]
Files = Annotated[list[Path], typer.Argument(help="reservation files, or folders of them", show_default=False)]
Which = Annotated[
    str,
    typer.Argument(
        metavar="RESERVATION", help="a handle, or OWNER/NAME", show_default=False, autocompletion=complete_reservation
    ),
]
MaybeWhich = Annotated[
    str | None,
    typer.Argument(metavar="[RESERVATION]", help="a handle, or OWNER/NAME", autocompletion=complete_reservation),
]

Value = TypeVar("Value")


def parsed(option: str, parse: Callable[[str], Value], text: str) -> Value:
    """The option's value; a text that is none is a wrong use of the command (exit code 2)."""
    from slotcar.base.units import UnitError

    try:
        return parse(text)
    except UnitError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def label_of(text: str | None) -> tuple[str, str] | None:
    """The key and the value of `KEY=VALUE`; the value is empty where there is the key alone."""
    key, _, value = (text or "").partition("=")
    return (key, value) if text else None


def window_of(
    since: str | None, until: str | None, now: datetime, usual: Callable[[datetime], datetime] = lambda end: end - DAY
) -> Window:
    """From `--from` until `--until`, or until now; `usual` gives the start of what ends so, where nobody says one."""
    from slotcar.base.timebase import Window

    end = time_of("--until", until, now) or now
    start = time_of("--from", since, now) or usual(end)
    if start >= end:
        raise typer.BadParameter("it is not before --until", param_hint="--from")
    return Window(start, end)


def time_of(option: str, text: str | None, now: datetime) -> datetime | None:
    """The instant that an option says, if it says one."""
    from slotcar.reservation import parse_time

    return parsed(option, lambda one: parse_time(one, now), text) if text else None
