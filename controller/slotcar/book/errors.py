"""What can go wrong with the ledger; each message is for the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotcar.admission.model import Refused
from slotcar.base.problems import SlotcarError
from slotcar.book.model import State

#: Of what makes a plan stale, so many sentences are in the message.
STALE_SHOWN = 5


class LedgerUnavailable(SlotcarError):
    """The database does not answer, or is not the one that this version needs. Nothing was changed."""


class LedgerInUse(SlotcarError):
    """What needs the database for itself finds somebody else in it. Nothing was changed."""


class CannotKeep(SlotcarError):
    """An earlier version's tables have no place for what the ledger has. Nothing was changed."""


class UnknownHandle(SlotcarError):
    """No reservation has this handle, or this `OWNER/NAME`; `hint` says which are near."""

    def __init__(self, handle: str, hint: str = "") -> None:
        words = "is named" if "/" in handle else "has the handle"
        super().__init__(f"no reservation {words} {handle}{'; ' if hint else ''}{hint}")
        self.handle = handle


class SlsRefused(SlotcarError):
    """An SLS cannot be agreed on, changed or ended so; the message has the numbers."""


class ForbiddenTransition(SlotcarError):
    """The reservation's state does not allow this."""

    def __init__(self, handle: str, state: State, wanted: State) -> None:
        super().__init__(f"reservation {handle} is {state.value} and cannot become {wanted.value}")
        self.state = state
        self.wanted = wanted


class StaleVersion(SlotcarError):
    """The reservation has changed since the caller read it."""

    def __init__(self, handle: str, expected: int, actual: int) -> None:
        super().__init__(f"reservation {handle} is at version {actual}, not {expected}: read it again")
        self.expected = expected
        self.actual = actual


class StaleLedger(SlotcarError):
    """The ledger has changed since the plan was made, or applying it would give another result; `differences` has a
    sentence for each difference."""

    def __init__(self, differences: Sequence[str]) -> None:
        first_differences, more = differences[:STALE_SHOWN], len(differences) - STALE_SHOWN
        words = "; ".join([*first_differences, f"and {more} more"] if more > 0 else first_differences)
        super().__init__(f"the plan is stale: {words}: make the plan again")
        self.differences = tuple(differences)


class NameTaken(SlotcarError):
    """The owner has a live reservation of this name already."""

    def __init__(self, owner: str, name: str, handle: str) -> None:
        super().__init__(f"{owner} has a live reservation named {name} already ({handle}); modify or cancel that one")
        self.handle = handle


class DelegationRefused(SlotcarError):
    """A delegation cannot be given or withdrawn so; the message says why."""


class ShareRefused(SlotcarError):
    """A share of a community cannot be given or withdrawn so; the message says why."""


class UnknownCommunity(SlotcarError):
    """The site has no such community, or none of the caller's."""


class ProgressRefused(SlotcarError):
    """The reported progress of a transfer is impossible; the message says what would be accepted."""


class IdempotencyConflict(SlotcarError):
    """The idempotency key was used for a different request."""

    def __init__(self, key: str, handle: str) -> None:
        super().__init__(f"the idempotency key {key} was used for a different request ({handle}); take a new key")
        self.handle = handle


class PlanNotAdmitted(SlotcarError):
    """A step of a plan is refused, so none of it is applied; `refusals` are (owner, name) and the numbers."""

    def __init__(self, refusals: tuple[tuple[tuple[str, str], Refused], ...]) -> None:
        self.refusals = refusals
        super().__init__(
            "nothing of it was applied: "
            + "; ".join(f"{owner}/{name}: {r.sentence()}" for (owner, name), r in refusals)
        )


@dataclass(frozen=True, slots=True)
class StaysBecause:
    """Why a transfer keeps what it has.

    Attributes:
        policy: the policies that do not let it move, in words; empty where it is a share of its community.
    """

    policy: str = ""

    @property
    def words(self) -> str:
        return f"{self.policy} lets it have no other time" if self.policy else "its community has no more for it"


class MayNotMove(SlotcarError):
    """Transfers may not be as they would be to make room, or to be done in time: they stay as they are. `why`: of each
    handle."""

    def __init__(self, why: Mapping[str, StaysBecause]) -> None:
        self.why = why
        super().__init__("; ".join(f"{handle} may not move: {one.words}" for handle, one in sorted(why.items())))
