"""The commands that a device is sent at a boundary, in their order, and what is not in force between two of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slotcar.network.model import Device
from slotcar.platforms import renderer_of
from slotcar.views.configurations import DeviceDiff


class Lapse(NamedTuple):
    """What is not there between two of the commands, counted from 1."""

    what: str
    taken_out: int
    back: int


def commands_of(one: DeviceDiff, device: Device) -> tuple[str, ...]:
    """The commands that a push would send to a device that has what is wanted before the boundary."""
    return renderer_of(device).change(one.before, one.after, device).apply


def lapses_in(commands: Sequence[str]) -> tuple[Lapse, ...]:
    """What the commands take out and put in again: IOS puts each line into force at once."""
    taken_out: dict[tuple[str, str], int] = {}
    lapses = []
    section = ""
    for number, line in enumerate(commands, 1):
        words = line.strip()
        if not line.startswith(" "):
            section = "" if words.startswith("no ") else words
        inside = section if line.startswith(" ") else ""
        if words.startswith("no "):
            taken_out[inside, words.removeprefix("no ")] = number
            continue
        for place, what in [key for key in taken_out if key[0] == inside]:
            if words == what or words.startswith(f"{what} "):
                where = f"{what} of {place}" if place else what
                lapses.append(Lapse(where, taken_out.pop((place, what)), number))
    return tuple(lapses)
