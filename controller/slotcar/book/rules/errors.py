"""What the operator's rules refuse; each message says what, the limit, and what would be allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import iso
from slotcar.base.units import format_duration, format_rate
from slotcar_client.wire.events import PolicyRefused


class RefusedByPolicy(SlotcarError):
    """A rule of the operator's forbids it, whether or not the network has room."""


class EndpointNotAllowed(RefusedByPolicy):
    """The inventory (`slotcar_owners`, `owners`) lets other owners use this endpoint, and not this one."""

    def __init__(self, reservation: str, owner: str, host: str) -> None:
        super().__init__(f"{reservation}: the inventory does not let owner {owner} reserve from or to {host}")


class HostNotGiven(RefusedByPolicy):
    """The inventory names no owners of the host, so that only an operator gives its cores and disks (ADR 51)."""

    def __init__(self, reservation: str, owner: str, host: str) -> None:
        super().__init__(
            f"{reservation}: the inventory names no owners of {host}, and what it has is an operator's to give; name owner"
            f" {owner} there (slotcar_owners), or let an operator reserve it"
        )


class BindNotAllowed(RefusedByPolicy):
    """The owner may not bind these processes of the host to what it reserves there (`slotcar_host_accounts`)."""

    def __init__(self, reservation: str, owner: str, host: str, bound: str, accounts: Sequence[str] | None) -> None:
        if accounts is None:
            why = f"the inventory does not name owner {owner} among the owners of {host} (slotcar_owners)"
        elif not accounts:
            why = f"the inventory gives owner {owner} no account of {host} (slotcar_host_accounts)"
        else:
            why = f"of {host} owner {owner} has the accounts {', '.join(accounts)} (slotcar_host_accounts)"
        super().__init__(
            f"{reservation}: may not bind {bound.replace(':', ' ', 1)}: {why}; an operator may bind others"
        )


class NotPermitted(RefusedByPolicy):
    """The policies do not let the caller have it.

    Attributes:
        policies: those that forbid it, by name; none where only no policy permits it.
        sentence: without the largest rate, which is looked for when somebody is told it, and not under the ledger's lock.
        kept: the handle and the event by which the log keeps it; None where it does not.
    """

    kept: tuple[str, PolicyRefused] | None = None

    def __init__(
        self, sentence: str, policies: Sequence[str] = (), largest: Callable[[], int | None] | int | None = None,
        not_attested: str = "",
    ) -> None:  # fmt: skip
        self.policies, self._largest, self._begin = tuple(policies), largest, sentence
        self._end = f"; its attestation is not believed: {not_attested}" if not_attested else ""
        super().__init__(sentence)

    @property
    def sentence(self) -> str:
        return f"{self._begin}{self._end}"

    @property
    def largest_bps(self) -> int | None:
        """The largest rate that they allow in its place; None where there is none."""
        if callable(self._largest):
            self._largest = self._largest()
        return self._largest or None

    def __str__(self) -> str:
        allowed = f"; they allow up to {format_rate(self.largest_bps)} in its place" if self.largest_bps else ""
        return f"{self._begin}{allowed}{self._end}"

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process no policies are asked any more."""
        self._largest = self.largest_bps
        return super().__reduce__()

    def to_be_kept(self, handle: str, says: PolicyRefused) -> NotPermitted:
        """The same, of which the log is to keep this."""
        self.kept = (handle, says)
        return self


class ShareExceeded(NotPermitted):
    """What a manager has shared out to the owner in its community, or what the site gives that, has no room for it; the
    message says how much is in use when."""


class FlowTaken(RefusedByPolicy):
    """Another owner has reserved packets that this reservation would match too, at the same time.

    `other` names that reservation where the caller may know of it; empty where not.
    """

    def __init__(self, reservation: str, flow: str, other: str) -> None:
        who = f"the reservation {other}" if other else "another owner's reservation"
        super().__init__(
            f"{reservation}: {who} has packets of the flow {flow} during part of this time; say other ports, other"
            " endpoints or another time"
        )


class BeyondHorizon(RefusedByPolicy):
    """The reservation would end later than reservations may (`SLOTCAR_HORIZON`)."""

    def __init__(self, reservation: str, end: datetime, horizon: timedelta, latest: datetime) -> None:
        super().__init__(
            f"{reservation}: would end at {iso(end)}, and reservations end within {format_duration(horizon)} from now,"
            f" by {iso(latest)} (SLOTCAR_HORIZON)"
        )


class HoldTooLong(RefusedByPolicy):
    """The hold would last longer, extensions included, than the operator allows (`SLOTCAR_LONGEST_HOLD`)."""

    def __init__(self, reservation: str, until: datetime, longest: timedelta, latest: datetime) -> None:
        super().__init__(
            f"{reservation}: would be held until {iso(until)}, and a hold lasts at most {format_duration(longest)},"
            f" extensions included: until {iso(latest)} (SLOTCAR_LONGEST_HOLD); commit it by then"
        )


class QuotaExceeded(RefusedByPolicy):
    """The owner would have more than its quota.

    Attributes:
        what: `reservations`, `windows`, `holds` or `volume`; volumes are in bits.
        limit, in_use, requested: the quota, what the owner has without the request, what the request would add.
    """

    def __init__(self, owner: str, what: str, limit: int, in_use: int, requested: int, words: str) -> None:
        super().__init__(words)
        self.owner = owner
        self.what = what
        self.limit = limit
        self.in_use = in_use
        self.requested = requested
