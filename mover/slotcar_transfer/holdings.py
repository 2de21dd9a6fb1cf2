"""What a transfer has reserved, in one domain or over several: made, found again, reported to and given back.

Over several domains it is a connection, of which the controller's own domain has a reservation that is followed as any
other: its slots are those of all domains.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slotcar_client import Conflict, Problem, Slotcar
from slotcar_client.calls import LIVE
from slotcar_client.wire.documents import Entry
from slotcar_client.wire.verbs import Connect, ConnectionStatus, EndConnection, ReportConnection

#: The kind of the problem by which a controller says that the way crosses domains of other controllers.
LEAVES_THE_DOMAIN = "leaves-the-domain"
#: By this label a domain's reservation says which connection it is a segment of.
CONNECTION = "slotcar.connection"


@dataclass(frozen=True, slots=True)
class Holding:
    """`entry`: the controller's own reservation. Methods raise SlotcarError."""

    slotcar: Slotcar
    entry: Entry

    @property
    def handle(self) -> str:
        return self.entry["handle"]

    @property
    def connection(self) -> str:
        """What its segments in other domains are known by; empty where there are none."""
        return str(self.entry["reservation"].get("labels", {}).get(CONNECTION, ""))

    @property
    def deadline(self) -> datetime | None:
        """None of what is no volume, or is another domain's to report."""
        need: Any = self.entry["reservation"].get("need")
        if self.connection:
            need = self.slotcar.send(ConnectionStatus(self.connection))["volume"]
        return datetime.fromisoformat(need["by"]) if need else None

    def read(self) -> Holding:
        return Holding(self.slotcar, self.slotcar.reservation(self.handle))

    def report(self, remaining: str) -> Holding:
        """Says what remains; its slots are found again, over several domains in all of them or in none."""
        if not self.connection:
            return Holding(self.slotcar, self.slotcar.progress(self.handle, remaining))
        self.slotcar.send(ReportConnection(self.connection, remaining))
        return self.read()

    def end(self, reason: str) -> None:
        if self.connection:
            self.slotcar.send(EndConnection(self.connection, reason))
        else:
            self.slotcar.cancel(self.handle, reason)


def reserved(slotcar: Slotcar, request: Mapping[str, Any]) -> Holding:
    """Reserves in the controller's domain, or over all domains that the way crosses.

    Raises:
        SlotcarError.
    """
    try:
        return Holding(slotcar, slotcar.create(request))
    except Conflict as error:
        if error.kind != LEAVES_THE_DOMAIN:
            raise
    connection = slotcar.send(Connect(request))
    own = live_holding(slotcar, connection["name"], connection["owner"].rpartition("@")[0])
    assert own is not None, "what is in force has a segment here"
    return own


def live_holding(slotcar: Slotcar, name: str, owner: str | None) -> Holding | None:
    """The live one of that name, where there is one."""
    for entry in slotcar.reservations(name=name, owner=owner, state=LIVE, newest=True, limit=1):
        return Holding(slotcar, entry)
    return None


def holding_by(slotcar: Slotcar, name: str, owner: str | None, by: datetime) -> Holding | None:
    """The live one of that name that has its volume there by then; one that does not is ended."""
    holding = live_holding(slotcar, name, owner)
    if holding is None:
        return None
    deadline = holding.deadline
    if deadline is not None and deadline <= by:
        return holding
    with suppress(Problem):
        holding.end("the transfer was begun again with another deadline")
    return None
