"""A search for words of owners and names: which entries it finds, and that both ways of the database find the same ones."""

from __future__ import annotations

import itertools

import pytest

from slotcar.ledger import Filter, Ledger, queries, summaries
from slotcar.ledger.model import Entry, State, Terms
from tests.support.requests import RESOURCES, T0, request, reservation

NAMED = (
    ("hep", "cms-run-2"), ("hep", "cms-run-21"), ("hep", "atlas_cms.v3"), ("hep-it", "backup.2026-03"),
    ("astro", "vlbi-run-2"), ("astro", "stream"), ("cms", "genome-v3"), ("a", "2e5-7"), ("bio", "x--y"),
)  # fmt: skip
#: What is looked for, and the places in `NAMED` of what is found.
FOUND: dict[str, tuple[int, ...]] = {
    "cms": (0, 1, 2, 6), "CMS": (0, 1, 2, 6), "cm": (0, 1, 2, 6), "ms": (), "hep": (0, 1, 2, 3), "he": (0, 1, 2, 3),
    "run 2": (0, 1, 4), "run-2": (0, 1, 4), "ru 2": (), "2 run": (0, 4), "hep cms-run-21": (1,), "hep/cms": (0, 1, 2),
    "he cms": (), "v3": (2, 6), "cms v": (2, 6), "backup 2026 0": (3,), "2e5": (7,), "a 2e": (7,), "bio Y": (8,),
    "x y": (8,), "nothing": (), "--": (), "_": (), "'": (), "cms'": (0, 1, 2, 6), "cms & !run": (0, 1),
    "cms:*": (0, 1, 2, 6), "\\": (),
}  # fmt: skip


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(Terms(dict.fromkeys(RESOURCES, 1_000), {}))
    for owner, name in NAMED:
        answer = ledger.admit(request(reservation(name, rate_bps=1, owner=owner)), T0)
        assert isinstance(answer, Entry), answer
    return ledger


@pytest.mark.parametrize(("scanned_first", "most_sorted"), [(0, 0), (0, 1_000), (4, 0), (5_000, 1_000)])
def test_a_search_finds_whole_words_and_a_last_one_that_is_unfinished(
    book: Ledger, scanned_first: int, most_sorted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the numbers at which the database changes its way, `queries.SCANNED_FIRST` and `queries.MOST_SORTED`."""
    monkeypatch.setattr(queries, "SCANNED_FIRST", scanned_first)
    monkeypatch.setattr(queries, "MOST_SORTED", most_sorted)
    for text, places in FOUND.items():
        numbers = [place + 1 for place in places]
        for newest, limit in itertools.product((False, True), (2, 100)):
            ordered = numbers[::-1] if newest else numbers
            pages, after = [], 0
            while page := book.list(Filter(search=text, newest=newest, limit=limit, after=after)):
                pages += [entry.number for entry in page]
                after = pages[-1]
            assert pages == ordered, (text, newest, limit)


@pytest.mark.parametrize("scanned_first", [0, 5_000])
def test_what_a_search_finds_is_counted(book: Ledger, scanned_first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SCANNED_FIRST", scanned_first)
    monkeypatch.setattr(summaries, "MOST_COUNTED", 2)
    for text, places in FOUND.items():
        for newest in (False, True):
            assert book.summaries.count(Filter(search=text, newest=newest)) == min(len(places), 3), text


def test_a_search_is_for_a_whole_handle_too_and_beside_other_conditions(book: Ledger) -> None:
    first, *_, last = book.list(Filter())
    assert book.list(Filter(search=last.handle)) == (last,)
    assert book.list(Filter(search=last.handle, owner="hep")) == ()
    assert book.list(Filter(search=last.handle[:-1])) == ()
    book.transition(first.handle, State.CANCELLED, T0, actor="tester")
    assert [entry.number for entry in book.list(Filter(search="cms", states=[State.CANCELLED]))] == [1]
    assert [entry.number for entry in book.list(Filter(search="cms", states=[State.COMMITTED], newest=True))] == [
        7,
        3,
        2,
    ]
    assert [entry.number for entry in book.list(Filter(search="cms", owner="hep"))] == [1, 2, 3]
