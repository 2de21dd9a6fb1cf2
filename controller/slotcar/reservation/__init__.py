"""What operators write, into `Reservation`: files, folders, requests. Reads no clock, no network, no database."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotcar.reservation.checks import require_valid as require_valid
    from slotcar.reservation.loading import from_mapping as from_mapping
    from slotcar.reservation.loading import load_files as load_files
    from slotcar.reservation.loading import load_text as load_text
    from slotcar.reservation.loading import read_body as read_body
    from slotcar.reservation.loading import read_files as read_files
    from slotcar.reservation.schema import json_schema as json_schema
    from slotcar.reservation.schema import reservation_schema as reservation_schema
    from slotcar.reservation.times import parse_time as parse_time

_PLACES = {
    "require_valid": "checks",
    "from_mapping": "loading",
    "load_files": "loading",
    "load_text": "loading",
    "read_body": "loading",
    "read_files": "loading",
    "json_schema": "schema",
    "reservation_schema": "schema",
    "parse_time": "times",
}
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    """Loads what reads files only for who reads files: the model is everybody's."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
