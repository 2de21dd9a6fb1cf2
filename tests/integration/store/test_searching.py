"""A search for words of owners and names: which entries it finds, and that both ways of the database find the same ones."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

from slotcar.book.model import Entry, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.store import EntryFilter, Ledger, open_ledger, pages
from tests.support.requests import RESOURCES, T0, request, reservation

NAMED = (
    ("hep", "cms-run-2"), ("hep", "cms-run-21"), ("hep", "atlas_cms.v3"), ("hep-it", "backup.2026-03"),
    ("astro", "vlbi-run-2"), ("astro", "stream"), ("cms", "genome-v3"), ("a", "2e5-7"), ("bio", "x--y"),
)  # fmt: skip
#: What is looked for, and the places in `NAMED` of what is found.
EXPECTED: dict[str, tuple[int, ...]] = {
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
        answer = ledger.run(Admit(T0, request(reservation(name, rate_bps=1, owner=owner))))
        assert isinstance(answer, Entry), answer
    return ledger


@pytest.mark.parametrize(
    ("scanned_first", "most_sifted", "most_sorted"),
    [(0, -1, 0), (0, 10_000, 0), (0, -1, 1_000), (0, 10_000, 1_000), (4, 10_000, 0), (5_000, 10_000, 1_000)],
)
def test_a_search_finds_whole_words_and_a_last_one_that_is_unfinished(
    book: Ledger, scanned_first: int, most_sifted: int, most_sorted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the numbers at which the way changes: `SCANNED_FIRST`, `MOST_SIFTED` and `MOST_SORTED` of `pages`."""
    monkeypatch.setattr(pages, "SCANNED_FIRST", scanned_first)
    monkeypatch.setattr(pages, "MOST_SIFTED", most_sifted)
    monkeypatch.setattr(pages, "MOST_SORTED", most_sorted)
    for search, places in EXPECTED.items():
        numbers = [place + 1 for place in places]
        for newest, limit in itertools.product((False, True), (2, 100)):
            ordered = numbers[::-1] if newest else numbers
            listed, after = [], 0
            while page := book.list(EntryFilter(search=search, newest=newest, limit=limit, after=after)):
                listed += [entry.number for entry in page]
                after = listed[-1]
            assert listed == ordered, (search, newest, limit)


@pytest.mark.parametrize("scanned_first", [0, 5_000])
def test_what_a_search_finds_is_counted(book: Ledger, scanned_first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "SCANNED_FIRST", scanned_first)
    monkeypatch.setattr(pages, "MOST_COUNTED", 2)
    for search, places in EXPECTED.items():
        for newest in (False, True):
            assert book.page(EntryFilter(search=search, newest=newest)).count == min(len(places), 3), search


def test_a_search_is_for_a_whole_handle_too_and_beside_other_conditions(book: Ledger) -> None:
    first, *_, last = book.list(EntryFilter())
    assert book.list(EntryFilter(search=last.handle)) == (last,)
    assert book.list(EntryFilter(search=last.handle, owner="hep")) == ()
    assert book.list(EntryFilter(search=last.handle[:-1])) == ()
    book.run(Move(T0, first.handle, "tester", to=State.CANCELLED))
    assert [entry.number for entry in book.list(EntryFilter(search="cms", states=[State.CANCELLED]))] == [1]
    assert [entry.number for entry in book.list(EntryFilter(search="cms", states=[State.COMMITTED], newest=True))] == [
        7,
        3,
        2,
    ]
    assert [entry.number for entry in book.list(EntryFilter(search="cms", owner="hep"))] == [1, 2, 3]


def test_a_search_finds_the_same_where_the_planner_does_not_say_what_each_word_has(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large ledger PostgreSQL 18 gathered the rows from several processes, and a search was a fault in Slotcar."""
    monkeypatch.setattr(pages, "SCANNED_FIRST", 0)
    monkeypatch.setattr(pages, "expected_rows", lambda connection, statements: ())
    assert [entry.number for entry in book.list(EntryFilter(search="hep cms"))] == [1, 2, 3]
    monkeypatch.undo()
    monkeypatch.setattr(pages, "SCANNED_FIRST", 0)
    with create_engine(book.url, poolclass=NullPool).begin() as connection:
        names = "SELECT name FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')"
        setting = connection.execute(text(names)).scalar_one()
        connection.execute(text(f"ALTER DATABASE {book.url.rsplit('/', 1)[1].partition('?')[0]} SET {setting} = on"))
    with open_ledger(book.url, tmp_path) as another:
        assert [entry.number for entry in another.list(EntryFilter(search="hep cms"))] == [1, 2, 3]


WORDS = ("cms", "cms2", "atlas", "at", "vlbi", "run")


@pytest.mark.parametrize("scanned_first", [0, 7, 5_000])
@pytest.mark.parametrize(("most_sifted", "most_sorted"), [(-1, 5), (10_000, 5), (10_000, 1_000)])
def test_searches_beside_other_conditions_find_and_count_what_a_plain_look_at_each_entry_does(
    ledger: Ledger, scanned_first: int, most_sifted: int, most_sorted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(18)
    ledger.set_terms(Terms(dict.fromkeys(RESOURCES, 10_000), {}))
    for number in range(40):
        owner, name = chance.choice(WORDS), "-".join([*chance.choices(WORDS, k=2), str(number)])
        labels = {"kind": chance.choice(("test", "real"))}
        entry = ledger.run(Admit(T0, request(reservation(name, rate_bps=1, owner=owner, labels=labels))))
        assert isinstance(entry, Entry), entry
        if chance.random() < 0.3:
            ledger.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
    everything = ledger.list(EntryFilter(limit=1_000))
    monkeypatch.setattr(pages, "SCANNED_FIRST", scanned_first)
    monkeypatch.setattr(pages, "MOST_SIFTED", most_sifted)
    monkeypatch.setattr(pages, "MOST_SORTED", most_sorted)
    monkeypatch.setattr(pages, "MOST_COUNTED", 6)
    found_some = 0
    for _ in range(60):
        wanted = EntryFilter(
            owner=chance.choice((None, None, *WORDS)),
            states=chance.choice((None, [State.CANCELLED], [State.COMMITTED, State.HELD])),
            label=chance.choice((None, ("kind", "test"), ("kind", ""))),
            newest=chance.random() < 0.5,
            after=chance.choice((0, 0, 11, 30)),
            limit=chance.choice((2, 5, 50)),
            search=chance.choice((None, *(" ".join(chance.choices((*WORDS, "a", "c", "1"), k=k)) for k in (1, 2, 3)))),
        )
        those = [one for one in everything if plainly_meets(one, wanted)]
        ordered = those[::-1] if wanted.newest else those
        rest = [one for one in ordered if comes_after(one.number, wanted)]
        page = ledger.page(wanted)
        assert page.entries == tuple(rest[: wanted.limit]) == ledger.list(wanted), wanted
        assert page.count == min(len(those), 7), wanted
        found_some += bool(those)
    assert found_some > 20


def comes_after(number: int, wanted: EntryFilter) -> bool:
    return number < (wanted.after or 10**9) if wanted.newest else number > wanted.after


def plainly_meets(entry: Entry, wanted: EntryFilter) -> bool:
    request = entry.reservation
    words, searched = (
        re.findall(r"[^\W_]+", text) for text in (f"{request.owner} {request.name}", wanted.search or "")
    )
    key, value = wanted.label or ("", "")
    return (
        wanted.owner in (None, request.owner)
        and (wanted.states is None or entry.state in wanted.states)
        and (not key or (key in request.labels and value in ("", request.labels[key])))
        and set(searched[:-1]) <= set(words)
        and all(any(word.startswith(last) for word in words) for last in searched[-1:])
    )
