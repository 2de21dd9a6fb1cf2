"""What of a controller speaks NSI, composed from its settings, its desk and its agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from slotcar.base.problems import InvalidInput, Problem, SlotcarError
from slotcar.desk.desk import Desk
from slotcar.desk.segments import LedgerSegments
from slotcar.domains.agreement import Agreement, Threads
from slotcar.domains.keeping import connection_of
from slotcar.domains.model import ConnectionPhase
from slotcar.domains.nsi.carrying import NsiPoster
from slotcar.domains.nsi.documents import NsiIdentity
from slotcar.domains.nsi.messages import NsiMessage
from slotcar.domains.nsi.provider import NsiProvider
from slotcar.domains.nsi.requester import NsiNeighbour
from slotcar.network.elsewhere import neighbours_of

log = structlog.get_logger("slotcar.domains.nsi")
#: How often neighbours are asked whether they still have what is in force: an event of theirs may have been lost.
LOOK_AFTER = timedelta(minutes=1)


@dataclass(slots=True)
class NsiParts:
    """`domain`: this one. neighbours: those that are asked by NSI, by name."""

    domain: str
    identity: NsiIdentity
    agreement: Agreement
    provider: NsiProvider
    neighbours: Mapping[str, NsiNeighbour]
    now: Callable[[], datetime]
    close: Callable[[], None]
    _looked_at: datetime | None = field(default=None)

    @property
    def peers(self) -> frozenset[str]:
        """Their agents' identifiers."""
        return frozenset(each.side.nsa for each in self.neighbours.values())

    def hear(self, message: NsiMessage) -> None:
        """A callback. One of nobody is passed over."""
        for neighbour in self.neighbours.values():
            try:
                if neighbour.hear(message, self.agreement):
                    return
            except SlotcarError as error:
                log.info("a callback waits", neighbour=neighbour.name, because=str(error))

    def tick(self) -> None:
        """What time brings."""
        self.provider.tick()
        now = self.now()
        if not self.neighbours or (self._looked_at is not None and now - self._looked_at < LOOK_AFTER):
            return
        self._looked_at = now
        for row in self.agreement.store.not_over(now, ConnectionPhase.START.value):
            connection = connection_of(row)
            neighbour = self.neighbours.get(connection.next or "")
            if neighbour is not None:
                try:
                    neighbour.look_after(connection, self.agreement)
                except SlotcarError as error:
                    self.agreement.meetings.troubles[neighbour.name] = f"{self.domain}: {error}"


def nsi_for(desk: Desk, agreement: Agreement | None) -> NsiParts | None:
    """None where NSI is not spoken.

    Raises:
        InvalidInput: the settings and the inventory do not say who this is.
    """
    settings = desk.settings
    if settings.nsi_url is None:
        return None
    side = desk.network.domains[agreement.name].nsi if agreement else None
    if agreement is None or side is None:
        hint = "set SLOTCAR_DOMAIN, and say `nsi: {nsa: urn:ogf:network:…:nsa}` in that domain's `slotcar_domain`"
        raise InvalidInput([Problem("SLOTCAR_NSI_URL", 0, "", "is set, and NSI does not know who this is", "", hint)])
    identity = NsiIdentity(side.nsa, side.network, settings.nsi_url)
    poster, threads, ledger = NsiPoster(), Threads(), desk.ledger
    now = desk.clocks.now
    provider = NsiProvider(
        identity, agreement, ledger.nsi_provided, LedgerSegments(desk, agreement.name), poster.post,
        settings.nsi_open_end, now, threads,
    )  # fmt: skip
    agreement.watchers.append(provider.changed)
    neighbours = {
        name: NsiNeighbour(name, agreement.name, other, identity, desk.network, ledger.nsi_requested, poster.post, now)
        for name in neighbours_of(desk.network, agreement.name)
        if (other := desk.network.domains[name].nsi) is not None and other.provider
    }
    agreement.foreign = neighbours

    def close() -> None:
        threads.close()
        poster.close()

    return NsiParts(agreement.name, identity, agreement, provider, neighbours, now, close)
