"""A rollback that holds its routers: with the ledger where it answers, and without it where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from slotcar.base.timebase import iso
from slotcar.cli.output import complain, progress
from slotcar.cli.session import actor, caller, now

if TYPE_CHECKING:
    from slotcar.base.settings import Settings
    from slotcar.network.model import Network
    from slotcar.rollout.holding import Removal
    from slotcar.store import Ledger


def until_words(until: datetime | None) -> str:
    return f"until {iso(until)}" if until else "until `slotcar release`"


def held_words(names: Sequence[str], until: datetime | None) -> str:
    """`r1, r2 are held until 2027-03-01T14:00:00Z, or until `slotcar release r1 r2`: no controller pushes to them.`"""
    which, them = f"`slotcar release {' '.join(sorted(names))}`", "them" if len(names) > 1 else "it"
    are = "are" if len(names) > 1 else "is"
    end = f"{iso(until)}, or until {which}" if until else which
    return f"{', '.join(sorted(names))} {are} held until {end}: no controller pushes to {them}."


@dataclass(frozen=True, slots=True)
class RollbackDesk:
    """Attributes:
    until: when the holds end; None where only an operator ends them.
    """

    settings: Settings
    network: Network
    until: datetime | None

    def hold_and(self, roll_back: Callable[[], Mapping[str, Removal]], names: Sequence[str], message: str) -> None:
        """Holds these routers, rolls them back, and leaves them held.

        Args:
            roll_back: gives what it did on each router. message: what was done.

        Raises:
            NotPossible: a controller leads and does not answer; nothing was done. What `roll_back` raises.
        """
        with self._ledger() as ledger:
            if ledger is None:
                self._without_ledger(roll_back, names, message)
                return
            from slotcar.rollout.archive import Archive
            from slotcar.rollout.unrecorded import record_kept
            from slotcar.wiring import held_routers_for

            record_kept(Archive(self.settings.state_dir), ledger)  # else an earlier hold would come after this one
            holder = held_routers_for(self.network, self.settings, ledger)

            def recorded() -> Mapping[str, Removal]:
                removed = roll_back()
                holder.record_rolled_back(names, message, caller())
                return removed

            progress("holding the routers, and rolling them back")
            holder.while_held(names, message, caller(), now(), self.until, recorded)

    def _without_ledger(
        self, roll_back: Callable[[], Mapping[str, Removal]], names: Sequence[str], message: str
    ) -> None:
        """The controller that leads next with this state folder records both before it pushes anything."""
        from slotcar.rollout.archive import Archive
        from slotcar.rollout.holding import Hold, rolled_back_by
        from slotcar.rollout.unrecorded import keep_hold, keep_unrecorded

        removed, archive = roll_back(), Archive(self.settings.state_dir)
        keep_unrecorded(archive, rolled_back_by(actor(), message), names, now())
        for name in names:
            keep_hold(archive, Hold(name, message, actor(), now(), self.until), removed.get(name))

    @contextmanager
    def _ledger(self) -> Iterator[Ledger | None]:
        """The ledger, where it answers. The embedded one is not started for it: nobody leads with it then."""
        from slotcar.book.errors import LedgerUnavailable
        from slotcar.store import embedded, open_ledger

        url = self.settings.ledger_url()
        if url is None and not embedded.users(self.settings.state_dir / "postgres"):
            yield None
            return
        try:
            ledger = open_ledger(url, self.settings.state_dir, migrate=False)
            ledger.last_event()
        except LedgerUnavailable as error:
            complain(
                f"note: the ledger does not answer ({error}); the next controller with {self.settings.state_dir} records"
                " the hold before it pushes; one that leads elsewhere knows nothing of it: stop it"
            )
            yield None
            return
        with ledger:
            yield ledger
