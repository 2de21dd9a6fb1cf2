"""`Shelf`: the questions that operations ask of what is kept, whoever keeps it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from slotcar.book.agreed_slss import AgreedSls
from slotcar.book.batch import FlowsAt, Key, Labelled, OthersFlows, Remembered
from slotcar.book.model import Entry
from slotcar.book.rules.flows import ReservedFlow
from slotcar.book.rules.quotas import Usage
from slotcar.policy.sharing import CommunityShare
from slotcar.policy.site import Site

if TYPE_CHECKING:
    from slotcar.admission import SlotTables
    from slotcar.book.running_totals import RunningTotals


class Shelf(Protocol):
    """What is kept, as it was when the transaction began: what a batch has changed since, `BatchEntries` knows.

    A live entry is one whose state is in `OCCUPYING`. Entries come in no order where none is named.
    """

    @property
    def known_transfers(self) -> MutableMapping[str, Any]:
        """Deadline transfers as earlier transactions prepared them; see `slotcar.book.transfers.movable`."""

    def entries(self, handles: Collection[str], keys: Collection[Key]) -> Iterable[Entry]:
        """Those of these handles, and the live ones of these owners and names."""

    def numbered(self, numbers: Collection[int]) -> Iterable[Entry]:
        """Those of these numbers."""

    def due(self, now: datetime, *, ended: bool) -> Iterable[Entry]:
        """By number: those whose hold has run out or whose slots ended before anybody committed them; with `ended`, also
        committed ones whose last slot is over."""

    def groups(self, keys: Collection[Key]) -> Iterable[Entry]:
        """The live members of these owners' groups."""

    def members(self, group: str) -> Iterable[Entry]:
        """All members of the group of this handle, those that are over too, by number."""

    def having(self, flows: Collection[OthersFlows]) -> Iterable[Entry]:
        """The live ones of other owners that may have packets of one of these flows while it is open."""

    def flows_at(self, wanted: Collection[FlowsAt]) -> Iterable[tuple[FlowsAt, int, ReservedFlow]]:
        """The flows of live entries that these are, each with its entry's number."""

    def open_between(self, first: datetime, last: datetime) -> Iterable[Entry]:
        """The live ones with demands that may be open in `[first, last]`, and perhaps some more."""

    def totals(self, sequence: int, site: Site, now: datetime) -> RunningTotals:
        """What is live together, as of a sequence number of the occupancy log; they are the transaction's to change."""

    def labelled(self, wanted: Labelled, now: datetime, *, without: Collection[str]) -> set[Key]:
        """Owner and name of the entries with that label, but of those with the handles `without`."""

    def usage(self, owner: str, now: datetime, *, without: Collection[str]) -> Usage:
        """What the owner's live entries that are not over use of its quotas, but for those with the handles `without`."""

    def shares(self, community: str) -> Iterable[CommunityShare]:
        """What is shared out of a community, those that ran out too."""

    def slss(self) -> Iterable[AgreedSls]:
        """SLSs that domains have agreed on, or hold, in the order in which they were opened."""

    def agree(self, agreed: AgreedSls, *, is_dropped: bool) -> None:
        """Keeps one in the place of its former form; `is_dropped`: no longer."""

    def transfers(self, now: datetime) -> Iterable[Entry]:
        """Committed volumes by a deadline that is to come."""

    def remembered(self, keys: Collection[Key]) -> Mapping[Key, Remembered]:
        """What became of the idempotency keys, each with its actor, that were used."""

    def has_event_after(self, number: int, device: str, kinds: Collection[str]) -> bool:
        """Whether an event of one of the kinds came to the device after the event `number`."""

    def tables(self, sequence: int) -> SlotTables:
        """The slot tables as of a sequence number of the occupancy log; they are the transaction's to change."""
