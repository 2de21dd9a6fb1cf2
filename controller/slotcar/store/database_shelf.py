"""The ledger's database as a `Shelf`: each question is one statement."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select, text

from slotcar.base.timebase import to_us
from slotcar.book.agreed_slss import AgreedSls
from slotcar.book.batch import FlowsAt, Key, Labelled, OthersFlows, Remembered
from slotcar.book.model import Entry, Terms
from slotcar.book.rules.flows import ReservedFlow
from slotcar.book.rules.quotas import Usage
from slotcar.policy.sharing import CommunityShare
from slotcar.policy.site import Site
from slotcar.store import agreed_slss, reading, rows, schema, shares
from slotcar.store.writing import array

if TYPE_CHECKING:
    from slotcar.admission import SlotTables
    from slotcar.book.running_totals import RunningTotals
    from slotcar.store.cache import TableCache

_REMEMBERED = text(
    "SELECT actor, key, request, handle FROM idempotency WHERE (actor, key) IN"
    " (SELECT * FROM unnest(CAST(:actors AS text[]), CAST(:keys AS text[])))"
)
_event = schema.event.c


@dataclass(frozen=True, slots=True)
class DatabaseShelf:
    """What a connection's transaction sees.

    Attributes:
        cache: of the slot tables, which a transaction under the ledger's lock changes as it goes.
        now_us: what is over by then, tables may have forgotten.
    """

    connection: Connection
    cache: TableCache
    terms: Terms
    now_us: int

    @property
    def known_transfers(self) -> MutableMapping[str, Any]:
        return self.cache.known_transfers

    def entries(self, handles: Collection[str], keys: Collection[Key]) -> Iterable[Entry]:
        owners, names = [owner for owner, _ in keys], [name for _, name in keys]
        return self._entries(reading.READ_ENTRIES, handles=list(handles), owners=owners, names=names)

    def numbered(self, numbers: Collection[int]) -> Iterable[Entry]:
        return self._entries(reading.READ_NUMBERED, numbers=list(numbers))

    def due(self, now: datetime, *, ended: bool) -> Iterable[Entry]:
        return self._entries(reading.READ_DUE if ended else reading.READ_RUN_OUT, now=now, now_us=to_us(now))

    def groups(self, keys: Collection[Key]) -> Iterable[Entry]:
        owners, names = [owner for owner, _ in keys], [name for _, name in keys]
        return self._entries(reading.READ_GROUPS, owners=owners, names=names)

    def members(self, group: str) -> Iterable[Entry]:
        return self._entries(reading.READ_MEMBERS, group=group)

    def having(self, flows: Collection[OthersFlows]) -> Iterable[Entry]:
        names = "owners", "pairs", "source_ports", "destination_ports", "starts_us", "ends_us"
        values = [(owner, *flow.packets, flow.start_us, flow.end_us) for owner, flow in flows]
        return self._entries(reading.READ_OTHERS, **_columns(names, values))

    def flows_at(self, wanted: Collection[FlowsAt]) -> Iterator[tuple[FlowsAt, int, ReservedFlow]]:
        listed = list(wanted)
        rows_asked = [
            (question, device, one.start_us, one.end_us)
            for question, one in enumerate(listed)
            for device in sorted(one.devices)
        ]
        if not rows_asked:  # no devices, no flows
            return
        names = "questions", "devices", "starts_us", "ends_us"
        for question, number, *flow in self._read(reading.READ_FLOWS_AT, _columns(names, rows_asked)):
            yield listed[question], number, ReservedFlow(*flow)

    def open_between(self, first: datetime, last: datetime) -> Iterable[Entry]:
        return self._entries(reading.READ_OPEN, start_us=to_us(first), end_us=to_us(last))

    def totals(self, sequence: int, site: Site, now: datetime) -> RunningTotals:
        return self.cache.totals.caught_up(self.connection, sequence, site, now)

    def labelled(self, wanted: Labelled, now: datetime, *, without: Collection[str]) -> set[Key]:
        parameters = {"label": wanted.label, "value": wanted.value, "owners": sorted(wanted.owners), "now": now}
        parameters |= {"now_us": to_us(now), "known": [*without]}
        return {(row.owner, row.name) for row in self._read(reading.READ_LABELLED, parameters)}

    def usage(self, owner: str, now: datetime, *, without: Collection[str]) -> Usage:
        parameters = {"owner": owner, "now_us": to_us(now), "known": [*without]}
        row = self._read(reading.READ_USAGE, parameters)[0]
        return Usage(row.reservations, int(row.windows), row.holds, int(row.volume_bits))

    def shares(self, community: str) -> Iterable[CommunityShare]:
        return shares.of(self.connection, community)

    def slss(self) -> tuple[AgreedSls, ...]:
        return agreed_slss.all_of(self.connection)

    def agree(self, agreed: AgreedSls, *, is_dropped: bool) -> None:
        agreed_slss.write(self.connection, agreed, is_dropped=is_dropped)

    def transfers(self, now: datetime) -> Sequence[Entry]:
        return self.cache.transfers(self.connection, to_us(now))

    def remembered(self, keys: Collection[Key]) -> Mapping[Key, Remembered]:
        parameters = {"actors": [actor for actor, _ in keys], "keys": [key for _, key in keys]}
        read = self.connection.execute(_REMEMBERED, parameters)
        return {(row.actor, row.key): Remembered(row.request, row.handle) for row in read}

    def has_event_after(self, number: int, device: str, kinds: Collection[str]) -> bool:
        later = select(_event.sequence).where(
            _event.device == device, _event.kind.in_(kinds), _event.sequence > number
        )
        return self.connection.execute(later.limit(1)).first() is not None

    def tables(self, sequence: int) -> SlotTables:
        return self.cache.caught_up(self.connection, sequence, self.terms, self.now_us)

    def _read(self, statement: str, parameters: Mapping[str, Any]) -> list[Any]:
        return reading.read(self.connection, statement, parameters)

    def _entries(self, statement: str, **parameters: Any) -> list[Entry]:
        return [rows.entry_from_row(row) for row in self._read(statement, parameters)]


def _columns(names: Sequence[str], rows_asked: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The rows' columns by name: arrays, as a statement takes them."""
    columns = dict(zip(names, zip(*rows_asked, strict=True), strict=True))
    return {name: array(column) if isinstance(column[0], int) else list(column) for name, column in columns.items()}
