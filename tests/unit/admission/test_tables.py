"""Slot tables: what they keep, what they refuse to keep, and that a wrong call changes nothing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import slotcar.admission
from slotcar.admission import Demand, ResourceId, SlotTables, kernels, storage
from slotcar.admission.tables import MAX_RATE_BPS
from slotcar.base.timebase import to_us
from tests.unit.admission.support import LINK, SLS, admit, at, tables, window


def us(minutes: int) -> int:
    return to_us(at(minutes))


def test_steps_give_the_level_at_the_start_and_each_change() -> None:
    book = tables()
    admit(book, 30, window(0, 20))
    admit(book, 50, window(10, 30))
    assert book.steps(LINK, window(5, 40)) == ((us(5), 30), (us(10), 80), (us(20), 50), (us(30), 0))


def test_a_resource_that_first_appears_in_an_add_is_kept_with_capacity_0() -> None:
    book = tables()
    book.add([Demand.constant(ResourceId("sls", "new"), 5)], [window(0, 10)])
    assert ResourceId("sls", "new") in book
    assert book.capacity(ResourceId("sls", "new")) == 0
    assert book.peak(ResourceId("sls", "new"), window(0, 10)) == 5
    book.set_capacities({ResourceId("sls", "new"): 7})
    assert book.capacity(ResourceId("sls", "new")) == 7
    assert book.capacity(LINK) == 0, "what the inventory no longer names carries nothing new"


def test_questions_about_an_unknown_resource_make_none() -> None:
    book = tables()
    assert (book.peak(ResourceId("sls", "no"), window(0, 1)), book.capacity(ResourceId("sls", "no"))) == (0, 0)
    assert book.steps(ResourceId("sls", "no"), window(0, 1)) == ((us(0), 0),)
    assert ResourceId("sls", "no") not in book


def test_removing_what_was_never_added_is_refused_and_changes_nothing() -> None:
    book = tables()
    admit(book, 30, window(0, 20), resources=(LINK, SLS))
    for demands, when in (
        ([Demand.constant(LINK, 31)], window(0, 20)),
        ([Demand.constant(LINK, 30)], window(0, 21)),
        ([Demand.constant(LINK, 30), Demand.constant(SLS, 31)], window(0, 20)),
        ([Demand.constant(ResourceId("sls", "unknown"), 1)], window(0, 20)),
    ):
        with pytest.raises(ValueError, match="has less than"):
            book.remove(demands, [when])
    assert book.steps(LINK, window(-1, 30)) == ((us(-1), 0), (us(0), 30), (us(20), 0))
    assert book.peak(SLS, window(0, 20)) == 30


@pytest.mark.parametrize("rate", [-1, MAX_RATE_BPS + 1])
def test_an_insane_rate_is_refused_and_changes_nothing(rate: int) -> None:
    book = tables()
    for call in (book.add, book.remove, book.fits):
        with pytest.raises(ValueError, match="a rate is from 0 to"):
            call([Demand.constant(LINK, 5), Demand.constant(SLS, rate)], [window(0, 10)])
    with pytest.raises(ValueError, match="a rate is from 0 to"):
        book.set_capacities({LINK: 1, SLS: rate})
    assert book.peak(LINK, window(0, 10)) == 0
    assert book.capacity(LINK) == 100


def test_a_resource_asked_for_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="asked for twice"):
        tables().fits([Demand.constant(LINK, 60), Demand.constant(LINK, 60)], [window(0, 10)])


def test_thousands_of_the_highest_rate_at_once_do_not_overflow() -> None:
    book = SlotTables({LINK: MAX_RATE_BPS})
    for _ in range(5_000):
        book.add([Demand.constant(LINK, MAX_RATE_BPS)], [window(0, 10)])
    assert book.peak(LINK, window(0, 10)) == 5_000 * MAX_RATE_BPS
    assert not book.fits([Demand.constant(LINK, 1)], [window(0, 10)])


def built(
    index: list[int], starts: list[int], ends: list[int], rates: list[int], names: tuple[str, ...] = (LINK, SLS)
) -> SlotTables:
    columns = [np.array(column, dtype=np.int64) for column in (index, starts, ends, rates)]
    return SlotTables.build({LINK: 100}, names, *columns)


def test_build_keeps_what_the_inventory_no_longer_names() -> None:
    book = built([0, 1], [us(0), us(5)], [us(10), us(15)], [10, 20])
    assert book.capacity(SLS) == 0
    assert book.steps(SLS, window(0, 20)) == ((us(0), 0), (us(5), 20), (us(15), 0))
    assert book.peak(LINK, window(0, 20)) == 10


def test_build_of_nothing_is_empty() -> None:
    assert built([], [], [], [], names=()).peak(LINK, window(0, 10)) == 0


@pytest.mark.parametrize(
    ("index", "starts", "ends", "rates", "message"),
    [
        ([0, 0], [0], [1], [1], "columns differ in length"),
        ([2], [0], [1], [1], "a resource index is outside 0 .. 1"),
        ([-1], [0], [1], [1], "a resource index is outside"),
        ([0], [5], [5], [1], "a window must end after it starts"),
        ([0], [0], [1], [-1], "a rate is from 0 to"),
        ([0], [0], [1], [MAX_RATE_BPS + 1], "a rate is from 0 to"),
    ],
)
def test_build_refuses_rows_that_make_no_sense(
    index: list[int], starts: list[int], ends: list[int], rates: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        built(index, starts, ends, rates)


def test_prune_forgets_the_past_and_only_rises() -> None:
    book = tables()
    early, late = admit(book, 30, window(0, 20)), admit(book, 50, window(10, 30))
    book.prune(at(15))
    book.prune(at(5))
    assert book.floor_us == us(15)
    assert book.peak(LINK, window(0, 15)) == 0
    assert book.steps(LINK, window(0, 40)) == ((us(15), 80), (us(20), 50), (us(30), 0))
    book.remove(early.demands, early.windows)
    book.remove(late.demands, late.windows)
    assert book.steps(LINK, window(0, 40)) == ((us(15), 0),)


def test_a_window_before_the_floor_is_free_and_leaves_nothing() -> None:
    book = tables()
    book.prune(at(30))
    book.add([Demand.constant(LINK, 1_000)], [window(0, 30)])
    assert book.fits([Demand.constant(LINK, 100)], [window(0, 60)])
    book.remove([Demand.constant(LINK, 1_000)], [window(0, 30)])


def test_a_copy_is_independent_both_ways() -> None:
    book = tables()
    admit(book, 30, window(0, 20))
    copy = book.copy()
    admit(copy, 70, window(0, 20))
    admit(book, 20, window(5, 10))
    copy.set_capacities({LINK: 1})
    assert book.steps(LINK, window(0, 20)) == ((us(0), 30), (us(5), 50), (us(10), 30))
    assert copy.steps(LINK, window(0, 20)) == ((us(0), 100),)
    assert (book.capacity(LINK), copy.capacity(LINK)) == (100, 1)


def test_an_excerpt_knows_only_its_own_resources() -> None:
    book = tables()
    admit(book, 30, window(0, 20), resources=(LINK, SLS))
    part = book.excerpt([SLS, ResourceId("sls", "unknown")])
    assert part.resources == (SLS,)
    assert part.peak(SLS, window(0, 20)) == 30
    assert part.capacity(LINK) == 0


def test_names_are_what_they_say_whichever_module_was_loaded_first() -> None:
    for name in slotcar.admission.__all__:
        assert callable(getattr(slotcar.admission, name)), name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = slotcar.admission.nothing


def test_the_model_loads_no_compiler() -> None:
    """Every room imports the model; the compiler takes most of a second."""
    program = (
        "import sys; from slotcar.admission.model import Demand; from slotcar.admission import Refused; "
        "print([name for name in ('numba', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("count", [1, 2, 100])
def test_an_empty_state_is_what_packing_nothing_gives(count: int) -> None:
    packed, empty = storage.pack([storage.NOTHING] * count), storage.empty(count)
    for name in ("dirs", "meta", "head"):
        assert np.array_equal(getattr(packed, name), getattr(empty, name)), name
    free = int(packed.head[kernels.FREE])
    assert np.array_equal(packed.free[:free], empty.free[:free])
    assert np.array_equal(packed.pool[:count, :, : storage.FILL], empty.pool[:count, :, : storage.FILL])
    assert packed.pool.shape == empty.pool.shape
