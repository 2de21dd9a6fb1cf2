"""`slotcar status --watch`: a picture of the controller that keeps itself up to date."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from controller.cli.output import stdout
from controller.problems import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from slotcar_client import Slotcar

#: How long a boundary that is past stays in the picture.
RECENT = timedelta(minutes=10)
PHASE_STYLES = {"active": "green", "armed": "cyan", "staged": "yellow", "failed": "bold red", "unrecorded": "red"}
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """What is shown at one moment; `error` instead of all else where the controller does not answer."""

    at: datetime
    controller: Json | None = None
    last: Json | None = None
    coming: tuple[Json, ...] = ()
    error: str = ""


def watch(slotcar: Slotcar, interval_s: float, times: int | None = None) -> None:
    """Until Ctrl-C, or so many times; on a terminal in place, else a line each time."""
    pictures = _pictures(slotcar, interval_s, times)
    try:
        if not sys.stdout.isatty():
            for picture in pictures:
                sys.stdout.write(line(picture) + "\n")
                sys.stdout.flush()
            return
        from rich.live import Live

        with Live(console=stdout(), auto_refresh=False, screen=False) as live:
            for picture in pictures:
                live.update(drawing(picture), refresh=True)
    except KeyboardInterrupt:
        return


def _pictures(slotcar: Slotcar, interval_s: float, times: int | None) -> Iterator[Picture]:
    shown = 0
    while times is None or shown < times:
        if shown:
            time.sleep(interval_s)
        yield look(slotcar)
        shown += 1


def look(slotcar: Slotcar) -> Picture:
    """
    Raises:
        Problem: the token does not allow it.
    """
    from controller.cli.session import now
    from slotcar_client import NoAnswer, Unavailable

    try:
        controller = slotcar.controller()
        moment = datetime.fromisoformat(controller["now"])
        past = slotcar.timeline(since=moment - RECENT, until=moment, limit=1000)
        coming = slotcar.timeline(since=moment, limit=3)
    except (NoAnswer, Unavailable) as error:
        return Picture(now(), error=str(error))
    return Picture(moment, controller, next(iter(past[-1:]), None), tuple(coming))


def line(picture: Picture) -> str:
    """All of it in one line, for a log."""
    from controller.timebase import iso

    stamp = iso(picture.at.replace(microsecond=0))
    if picture.controller is None:
        return f"{stamp} {picture.error}"
    parts = [_leading(picture.controller)]
    if picture.coming:
        parts.append(f"next boundary {_summary(picture.coming[0], picture.at)}")
        parts.append(f"devices {_counted(_phases(picture))}")
    else:
        parts.append("no boundary to come")
    if picture.last:
        parts.append(f"last boundary {_summary(picture.last, picture.at)} {_outcome(picture.last)}")
    parts += [f"trouble with {name}: {why}" for name, why in picture.controller["troubles"].items()]
    return printable(f"{stamp} {'; '.join(parts)}")


def drawing(picture: Picture) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from controller.timebase import iso

    stamp = Text(iso(picture.at.replace(microsecond=0)), style="dim")
    if picture.controller is None:
        return Group(stamp, Text(picture.error, style="bold red"))
    parts: list[RenderableType] = [Text.assemble(stamp, "  ", (_leading(picture.controller), "bold"))]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("boundary", "", "starts (+) and ends (-)", "devices", "lag"):
        table.add_column(column, overflow="fold")
    for item in ([picture.last] if picture.last else []) + list(picture.coming):
        phase = item["phase"]
        table.add_row(
            item["at"], relative(item["at"], picture.at), names(item),
            Text(_counted(Counter(one["phase"] for one in item["devices"])), PHASE_STYLES.get(phase, "")), lag(item),
        )  # fmt: skip
    parts.append(table if table.row_count else Text("no boundary in the last 10 minutes or the next 24 hours"))
    phases = _phases(picture)
    if phases:
        parts.append(Text(f"devices  {_counted(phases)}"))
    parts += [Text(f"{name}: {why}", style="red") for name, why in _failures(picture)]
    return Group(*parts)


def _leading(controller: Json) -> str:
    if controller["leading"]:
        return "leads, devices have what is wanted" if controller["settled"] else "leads, at work on the devices"
    if not controller["reconciles"]:
        return "only answers"
    return printable(f"does not lead: {controller['error'] or 'another controller does'}")


def _phases(picture: Picture) -> Counter[str]:
    """By the loop of the controller that leads; else by what the log says of the next boundary."""
    assert picture.controller is not None
    if picture.controller["phases"]:
        return Counter(picture.controller["phases"].values())
    return Counter(one["phase"] for item in picture.coming[:1] for one in item["devices"])


def _failures(picture: Picture) -> list[tuple[str, str]]:
    assert picture.controller is not None
    failures = dict(picture.controller["troubles"])
    for item in [picture.last] if picture.last else []:
        failures |= {one["device"]: one["message"] for one in item["devices"] if one["phase"] == "failed"}
    return sorted((printable(name), printable(why)) for name, why in failures.items())


def _counted(phases: Counter[str]) -> str:
    return ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items())) or "none"


def _summary(item: Json, now: datetime) -> str:
    return f"{item['at']} ({relative(item['at'], now)}) {names(item)}"


def _outcome(item: Json) -> str:
    return f"{item['phase']}{' after ' + lag(item) if item['lag_us'] is not None else ''}"


def names(item: Json) -> str:
    signs = (("+", "starting"), ("~", "changing"), ("-", "ending"))
    return printable(", ".join(f"{sign}{name}" for sign, key in signs for name in item[key]))


def lag(item: Json) -> str:
    return "" if item["lag_us"] is None else f"{item['lag_us'] / 1000:g} ms"


def relative(at: str, now: datetime) -> str:
    """`in 1 min 5 s`, `12 s ago`: a countdown."""
    from controller.units import format_duration

    left = datetime.fromisoformat(at) - now
    whole = timedelta(seconds=round(abs(left.total_seconds())))
    return f"in {format_duration(whole)}" if left > timedelta() else f"{format_duration(whole)} ago"
