"""The reservations that devices are configured for, kept beside the archive: one can be taken away without a database."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from slotcar.admission.model import Demand
from slotcar.admission.resource_id import ResourceId
from slotcar.book.model import Entry, State
from slotcar.reservation.model import Reservation, Slot
from slotcar.rollout.writing import writing
from slotcar.store.rows import path_from_row, path_to_row

FORMS = "forms"


@dataclass(slots=True)
class Forms:
    """A file for each reservation that is wanted on devices at this moment, by handle."""

    state_dir: Path
    _kept: dict[str, tuple[int, Sequence[Slot]]] | None = field(default=None)

    @property
    def folder(self) -> Path:
        return self.state_dir / FORMS

    def keep(self, entries: Iterable[Entry]) -> None:
        """Keeps these, and forgets all others. What is kept already is not written again.

        Raises:
            InvalidInput: the folder cannot be written.
        """
        wanted = {entry.handle: entry for entry in entries}
        if self._kept is None:  # of an earlier controller: what it kept may be old
            self._kept = {}
            obsolete = {file.stem for file in self.folder.glob("*.json")} - wanted.keys()
        else:
            obsolete = self._kept.keys() - wanted.keys()
        with writing(self.folder / "form"):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for handle, entry in wanted.items():
                form = entry.version, entry.reservation.slots
                if self._kept.get(handle) != form:
                    part = self.folder / f"{handle}.part"
                    part.write_text(json.dumps(_document(entry)), encoding="utf-8")
                    part.replace(self.folder / f"{handle}.json")
                    self._kept[handle] = form
            for handle in obsolete:
                (self.folder / f"{handle}.json").unlink(missing_ok=True)
                self._kept.pop(handle, None)

    def read(self, handles: Collection[str]) -> dict[str, Entry]:
        """Those of these handles that are kept and can be read."""
        forms_by_handle = {}
        for handle in handles:
            try:
                forms_by_handle[handle] = _entry(
                    json.loads((self.folder / f"{handle}.json").read_text(encoding="utf-8"))
                )
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return forms_by_handle


def _document(entry: Entry) -> dict[str, Any]:
    return {
        "handle": entry.handle,
        "number": entry.number,
        "version": entry.version,
        "reservation": entry.reservation.to_document(),
        "paths": [path_to_row(path) for path in entry.paths],
        "demands": [
            [str(one.resource), list(one.amounts), one.wire_bytes, one.payload_bytes] for one in entry.demands
        ],
        "created_at": entry.created_at.isoformat(),
        "changed_at": entry.changed_at.isoformat(),
        "group": entry.group,
    }


def _entry(document: dict[str, Any]) -> Entry:
    return Entry(
        handle=document["handle"],
        number=document["number"],
        state=State.COMMITTED,
        version=document["version"],
        reservation=Reservation.from_document(document["reservation"]),
        paths=tuple(path_from_row(path) for path in document["paths"]),
        demands=tuple(
            Demand(ResourceId.parse(name), tuple(amounts), *ratio) for name, amounts, *ratio in document["demands"]
        ),
        created_at=datetime.fromisoformat(document["created_at"]),
        changed_at=datetime.fromisoformat(document["changed_at"]),
        group=document["group"],
    )
