"""What callers may look at beside reservations: events, endpoints, limits, configurations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from controller.auth import access
from controller.auth.tokens import Caller
from controller.ledger import Ledger
from controller.ledger.model import Event
from controller.ledger.queries import EventFilter
from controller.network.model import Network
from controller.platforms.model import Configuration
from controller.settings import Settings
from controller.timebase import MICROSECOND
from controller.views.configurations import configurations_at
from controller.views.devices import named_devices
from controller.views.documents import configurations_document
from controller.views.offers import endpoints_document, limits_document

#: No owner is called so.
NOBODY = ""


@dataclass(frozen=True, slots=True)
class Looking:
    """The part of `Broker` that only reads, and needs no reservation."""

    ledger: Ledger
    network: Network
    settings: Settings

    def events(
        self, wanted: EventFilter, caller: Caller, after: int | None, limit: int, *, newest: bool = False
    ) -> tuple[Event, ...]:
        """The events that the caller may see, in order: those after the number `after`, or the last ones where it is None;
        the latest first, and before it, with `newest`.

        Raises:
            NotAllowed, NoSuchDevice: see `events_filter`.
        """
        seen = self.events_filter(wanted, caller)
        if newest:
            return self.ledger.newest_events(seen, after or 0, limit)
        return self.ledger.events_of(seen, after, limit)

    def events_filter(self, wanted: EventFilter, caller: Caller) -> EventFilter:
        """What the caller may see of these events: a requester those of its own reservations.

        Raises:
            NotAllowed: a requester asks for the events of a device. NoSuchDevice.
        """
        if wanted.device is not None:
            access.require_overview(caller, "see the events of a device")
            named_devices(self.network, [wanted.device])
        if access.may_overview(caller):
            return wanted
        asks_others = wanted.owner not in (None, caller.owner)
        return replace(wanted, owner=NOBODY if asks_others else caller.owner or NOBODY)

    def endpoints(self, caller: Caller) -> dict[str, Any]:
        """The ends that a reservation may have; a requester sees those that it may use."""
        return endpoints_document(self.network, None if access.may_overview(caller) else caller.owner or NOBODY)

    def limits(self, owner: str | None, caller: Caller, now: datetime) -> dict[str, Any]:
        """The operator's limits, and what the owner (the caller's own where none is named) has of its quotas.

        Raises:
            NotAllowed: a requester asks for another owner's.
        """
        whose = owner if owner is not None else caller.owner or caller.name
        if not access.may_see(caller, whose):
            raise access.NotAllowed(f"{caller.name} may ask for the limits of owner {caller.owner} only")
        return limits_document(self.settings, self.ledger.terms.policy, whose, self.ledger.usage(whose, now))

    def configurations(
        self, at: datetime, caller: Caller, devices: Collection[str] | None = None
    ) -> dict[str, Configuration]:
        """What the devices are to have at `at`: the bytes that a push would compare with.

        Raises:
            NoSuchDevice, Unrenderable.
        """
        access.require_overview(caller, "see the devices' configurations")
        entries = self.ledger.live_between(at, at + MICROSECOND)
        return configurations_at(entries, self.network, at, devices)

    def configuration_documents(
        self, at: datetime, devices: Collection[str] | None, caller: Caller
    ) -> Sequence[Mapping[str, Any]]:
        """As `configurations`, for people and programs to read."""
        return configurations_document(self.configurations(at, caller, devices), at)
