"""`slotcar status --watch`: a picture of the controller that keeps itself up to date."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from slotcar.base.problems import printable
from slotcar.cli.listing import BOUNDARIES, boundary_row, lag, names, relative
from slotcar.cli.output import shown, stdout
from slotcar.cli.tables import table_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from slotcar_client import Slotcar

#: How long a boundary that is past stays in the picture.
RECENT = timedelta(minutes=10)
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StatusPicture:
    """What is shown at one moment; `error` instead of all else where the controller does not answer."""

    at: datetime
    controller: Json | None = None
    last: Json | None = None
    coming: tuple[Json, ...] = ()
    error: str = ""


def watch(slotcar: Slotcar, interval_s: float, times: int | None = None) -> None:
    """Shows pictures until Ctrl-C, or so many times: on a terminal in place, else a line each time."""
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
                live.update(drawing(picture, live.console.width), refresh=True)
    except KeyboardInterrupt:
        return


def _pictures(slotcar: Slotcar, interval_s: float, times: int | None) -> Iterator[StatusPicture]:
    pictures = 0
    while times is None or pictures < times:
        if pictures:
            time.sleep(interval_s)
        yield look(slotcar)
        pictures += 1


def look(slotcar: Slotcar) -> StatusPicture:
    """
    Raises:
        Problem: the token does not allow it.
    """
    from slotcar.cli.session import now
    from slotcar_client import NoAnswer, Unavailable

    try:
        controller = slotcar.controller()
        moment = datetime.fromisoformat(controller["now"])
        past = slotcar.timeline(since=moment - RECENT, until=moment, limit=1000)
        coming = slotcar.timeline(since=moment, limit=3)
    except (NoAnswer, Unavailable) as error:
        return StatusPicture(now(), error=str(error))
    return StatusPicture(moment, controller, next(iter(past[-1:]), None), tuple(coming))


def line(picture: StatusPicture) -> str:
    """The picture in one line, for a log."""
    from slotcar.base.timebase import iso

    stamp = iso(picture.at.replace(microsecond=0))
    if picture.controller is None:
        return shown(f"{stamp} {picture.error}")
    parts = [_leading(picture.controller, picture.at)]
    if picture.coming:
        parts.append(f"next boundary {_summary(picture.coming[0], picture.at)}")
        parts.append(_devices(picture))
    else:
        parts.append("no boundary to come")
    if picture.last:
        parts.append(f"last boundary {_summary(picture.last, picture.at)} {_outcome(picture.last)}")
    parts += [words] if (words := _watches(picture)) else []
    parts += [f"trouble with {name}: {why}" for name, why in picture.controller["troubles"].items()]
    return shown(f"{stamp} {'; '.join(parts)}")


def drawing(picture: StatusPicture, width: int) -> RenderableType:
    """What a terminal of `width` columns shows."""
    from rich.console import Group
    from rich.text import Text

    from slotcar.base.timebase import iso

    stamp = Text(shown(iso(picture.at.replace(microsecond=0))), style="dim")
    if picture.controller is None:
        return Group(stamp, Text(picture.error, style="bold red"))
    parts: list[RenderableType] = [Text.assemble(stamp, "  ", (_leading(picture.controller, picture.at), "bold"))]
    items = ([picture.last] if picture.last else []) + list(picture.coming)
    rows = [[shown(cell) for cell in boundary_row(item, picture.at, narrow=True)] for item in items]
    if rows:
        header, *lines = table_lines(BOUNDARIES, rows, width)
        parts += [Text(header, style="bold"), *(Text(one, no_wrap=True, overflow="ignore") for one in lines)]
    else:
        parts.append(Text("no boundary in the last 10 minutes or the next 24 hours"))
    if _phases(picture):
        parts.append(Text(shown(_devices(picture))))
    if words := _watches(picture):
        parts.append(Text(shown(words)))
    parts += [Text(shown(f"{name}: {why}"), style="red") for name, why in _failures(picture)]
    return Group(*parts)


def _leading(controller: Json, now: datetime) -> str:
    from slotcar.rollout.status import devices_words

    if controller["leading"]:
        return (
            f"leads, {devices_words(controller['settled'], _checked_at(controller), now, len(controller['troubles']))}"
        )
    if not controller["reconciles"]:
        return "only answers"
    return printable(f"does not lead: {controller['error'] or 'another controller does'}")


def _checked_at(controller: Json) -> datetime | None:
    return datetime.fromisoformat(controller["checked_at"]) if controller["checked_at"] else None


def _devices(picture: StatusPicture) -> str:
    """`devices 3 active, 1 failed at the check 3 min ago`; by the log, where another controller leads."""
    from slotcar.rollout.status import as_of

    assert picture.controller is not None
    checked_at = _checked_at(picture.controller)
    when = f" {as_of(checked_at, picture.at)}" if picture.controller["phases"] and checked_at else ""
    return f"devices: {_counted(_phases(picture))}{when}"


def _phases(picture: StatusPicture) -> Counter[str]:
    """The phases by the loop of the controller that leads; else by what the log says of the next boundary."""
    assert picture.controller is not None
    if picture.controller["phases"]:
        return Counter(picture.controller["phases"].values())
    return Counter(one["phase"] for item in picture.coming[:1] for one in item["devices"])


def _watches(picture: StatusPicture) -> str:
    """Empty where no device is to tell of changes."""
    from slotcar.watching.model import watch_words

    assert picture.controller is not None
    watches = picture.controller.get("watches", ())  # a controller of another version has none
    return watch_words([one["state"] for one in watches]) if watches else ""


def _failures(picture: StatusPicture) -> list[tuple[str, str]]:
    from slotcar.views.phases import NOT_GIVEN

    assert picture.controller is not None
    failures = dict(picture.controller["troubles"])
    for item in [picture.last] if picture.last else []:
        failures |= {one["device"]: one["message"] for one in item["devices"] if one["phase"] in NOT_GIVEN}
    return sorted((printable(name), printable(why)) for name, why in failures.items())


def _counted(phases: Counter[str]) -> str:
    return ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items())) or "none"


def _summary(item: Json, now: datetime) -> str:
    return f"{item['at']} ({relative(item['at'], now)}) {names(item)}"


def _outcome(item: Json) -> str:
    return f"{item['phase']}{' after ' + lag(item) if item['lag_us'] is not None else ''}"
