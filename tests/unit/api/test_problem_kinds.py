"""What an error is titled, over HTTP and on the page, is true of all that raises it."""

from __future__ import annotations

import pytest

from slotcar.base.problems import SlotcarError
from slotcar.book.errors import ProgressRefused
from slotcar.desk.problems import kind_of
from slotcar.planning.errors import NotPossible
from slotcar.rollout.model import NobodyNamed


@pytest.mark.parametrize(
    "error",
    [
        NotPossible("anl-edge is not held"),
        NotPossible("there is no device to look at"),
        NobodyNamed("no device is named"),
        ProgressRefused("more remains than before"),
        SlotcarError("of a kind that is not known here"),
    ],
    ids=lambda error: f"{type(error).__name__}: {error}",
)
def test_what_has_no_title_of_its_own_is_said_of_no_reservation(error: SlotcarError) -> None:
    assert kind_of(error) == (409, "not-possible", "Not possible")
