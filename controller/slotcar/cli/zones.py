"""The reader's zone: instants in what is said to people are shown in it. JSON, YAML and what others read stay UTC."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime, tzinfo

from slotcar.base.timebase import iso, with_instants

VARIABLE = "SLOTCAR_TIMEZONE"
#: The zone of the machine at which the reader sits.
LOCAL = "local"


class _Zone:
    """What was chosen for the whole command: `name` by its option or the environment, empty where neither says one.

    Attributes:
        zone: what the name, or else the context's setting, stands for; not looked for before anything is shown in it.
    """

    name = ""
    zone: tzinfo | None = UTC
    looked_for = False


def choose_zone(name: str | None) -> None:
    """What `--timezone` says, else the environment; for the whole command.

    Raises:
        UnitError: there is no such zone.
    """
    _Zone.name = name or os.environ.get(VARIABLE, "").strip()
    _Zone.looked_for = False
    if _Zone.name:
        _Zone.zone, _Zone.looked_for = zone_of(_Zone.name), True


def zone_of(name: str) -> tzinfo | None:
    """None for the machine's own.

    Raises:
        UnitError: there is no such zone.
    """
    from slotcar.reservation.times import parse_zone

    if name == "UTC":
        return UTC
    return None if name == LOCAL else parse_zone(name)


def in_readers_zone(text: str) -> str:
    """A text for people with its instants in the reader's zone, each with its offset: `2027-03-01T22:00+01:00`. Every
    option that takes a time takes that."""
    return with_instants(text, _shown)


def _shown(moment: datetime) -> str:
    zone = _zone()
    if zone is UTC:
        return iso(moment)
    local = moment.astimezone(zone)
    return local.isoformat(timespec="auto" if local.second or local.microsecond else "minutes")


def _zone() -> tzinfo | None:
    if not _Zone.looked_for:
        _Zone.zone, _Zone.looked_for = _of_context(), True
    return _Zone.zone


def _of_context() -> tzinfo | None:
    """The setting of the context whose controller is asked; a context that cannot be used is complained of elsewhere."""
    from slotcar.base.units import UnitError
    from slotcar.cli.place import Declined, chosen_place

    with suppress(Declined, UnitError):
        place = chosen_place()
        if place is not None and place.timezone:
            return zone_of(place.timezone)
    return UTC
