"""What a transfer without a reservation took, handed in to the controller: it says by it what later ones will take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from slotcar_client import Slotcar, SlotcarError
from slotcar_transfer.reserving import Ends

#: Of so little, the time is that of greeting and of looking for files.
LEAST_BYTES = 1_000_000


@dataclass
class Recording:
    """Of one transfer: `begin` at each try, `hand_in` at its end.

    Attributes:
        say: gets a sentence where it is not handed in.
    """

    slotcar: Slotcar
    say: Callable[[str], None]
    _ends: Ends | None = None
    _remaining_bytes: int = 0
    _began: datetime | None = None
    _tries: int = 0

    def begin(self, remaining_bytes: int, ends: Ends, now: datetime) -> None:
        """It is known what remains, and bytes come next."""
        self._tries += 1
        self._ends, self._remaining_bytes, self._began = ends, remaining_bytes, now

    def hand_in(self, now: datetime) -> None:
        """All has arrived. What was interrupted says nothing of the network, and neither do a few bytes."""
        if self._ends is None or self._began is None or self._tries != 1 or self._remaining_bytes < LEAST_BYTES:
            return
        volume = f"{self._remaining_bytes} B"
        try:
            self.slotcar.record_transfer(self._ends.source, self._ends.destination, volume, self._began, now)
        except SlotcarError as error:
            self.say(f"the controller does not keep what it took: {error}")
