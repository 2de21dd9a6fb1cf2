"""What may still change of a reservation, by the time."""

from __future__ import annotations

import pytest

from slotcar.planning.errors import NotPossible
from slotcar.planning.modification import Modification, modified
from tests.support.requests import at, reservation


def test_a_slot_that_is_over_cannot_change_though_nobody_has_written_down_its_end() -> None:
    for change in (Modification(rate_bps=20), Modification(end=at(90))):
        with pytest.raises(NotPossible, match="ended at 2027-03-01T13:00:00Z"):
            modified(reservation(end=60), change, at(60))
    assert modified(reservation(end=60), Modification(rate_bps=20), at(59)).constant_rate_bps == 20
