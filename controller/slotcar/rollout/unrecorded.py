"""Events that were to be recorded while no ledger was asked: kept beside the archive until a controller leads again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog

from slotcar.ledger import Ledger
from slotcar.rollout.archive import STAMP, Archive, writing

log = structlog.get_logger(__name__)


def keep_unrecorded(
    archive: Archive, kind: str, devices: Sequence[str], at: datetime, details: Mapping[str, Any]
) -> None:
    """Keeps an event of each of these devices for `record_kept`.

    Raises:
        InvalidInput: the folder cannot be written.
    """
    for device in devices:
        file = archive.unrecorded / f"{at.astimezone(UTC):{STAMP}}-{device}.json"
        part = file.with_suffix(".part")
        event = {"kind": kind, "at": at.astimezone(UTC).isoformat(), "device": device, "details": dict(details)}
        with writing(file):
            part.write_text(json.dumps(event), encoding="utf-8")
            part.replace(file)


def record_kept(archive: Archive, ledger: Ledger) -> None:
    """Records what was kept, in its order and at its own time. If this process dies meanwhile, one may be recorded twice.

    Raises:
        LedgerUnavailable: what is not recorded is kept.
    """
    for file in sorted(archive.unrecorded.glob("*.json")):
        try:
            event = json.loads(file.read_text(encoding="utf-8"))
            at = datetime.fromisoformat(event["at"])
            kind, device, details = str(event["kind"]), str(event["device"]), dict(event["details"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("what was done without the ledger cannot be read", file=str(file), error=str(error))
            file.rename(file.with_suffix(".unreadable"))
            continue
        ledger.append_event(kind, at, device=device, details=details)
        file.unlink()
