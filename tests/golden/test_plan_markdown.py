"""A plan as a merge request shows it, character for character: `tests/golden/markdown/CASE.md`.

After a wanted change: `UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden/test_plan_markdown.py`, then read the diff.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from slotcar.book.model import Entry
from slotcar.book.rules.policy import Policy
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.matching import match
from slotcar.planning.offline import entries_of, plan_offline
from slotcar.planning.plan import Plan
from slotcar.planning.plan_file import plan_document
from slotcar.planning.plan_markdown import MOST_CHARS, marker, plan_markdown
from slotcar.planning.shown_plan import shown_plan
from slotcar.planning.source import ReservationSource, source_of_body

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "markdown"
NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
#: What would be a link, a mention, an image, HTML, the end of a fence or of a cell.
HOSTILE = "``` @root <img src=x onerror=alert(1)> </details> ![a](http://b) | #1 ````"


@cache
def network(name: str = "lab") -> Network:
    return load_network(ROOT / "inventories" / name, None)


def document_of(name: str, **more: Any) -> dict[str, Any]:
    usual = {
        "name": name, "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
        "service": "ip-premium", "rate": "20 Mbit/s", "start": "2027-03-01T21:00:00Z", "duration": "PT2H",
    }  # fmt: skip
    return {key: value for key, value in (usual | more).items() if value is not None}


def source(*reservations: dict[str, Any], of_set: str = "tonight") -> ReservationSource:
    return source_of_body({"version": 1, "reservations": list(reservations)}, NOW, of_set, 10_000)


def planned(wanted: ReservationSource, live: ReservationSource | None = None, inventory: str = "lab") -> Plan:
    """A plan against a ledger that has what is `live`."""
    current: tuple[Entry, ...] = ()
    if live is not None:
        labelled = match(live.reservations, (), live.scope, NOW)
        current = entries_of([step.reservation for step in labelled if step.reservation], network(inventory), NOW)
    plan = plan_offline(wanted, network(inventory), Policy(), NOW, most_paths=1, no_ledger_yet=True, entries=current)
    return replace(plan, sequence=7)


def markdown(plan: Plan, **bound: int) -> str:
    return plan_markdown(plan, plan_document(plan)["boundaries"], **bound)


def many(count: int) -> Plan:
    hours = [f"2027-03-{2 + number // 24:02}T{number % 24:02}:00:00Z" for number in range(count)]
    return planned(
        source(*(document_of(f"n{number}", start=hour, duration="PT30M") for number, hour in enumerate(hours)))
    )


CASES = {
    "creates": lambda: markdown(
        planned(source(document_of("cms"), document_of("atlas", rate="4 Mbit/s", protocol="tcp", rtt="10 ms")))
    ),
    "refuses": lambda: markdown(
        planned(source(document_of("cms"), document_of("greedy", rate="70 Mbit/s", labels={"a": HOSTILE})))
    ),
    "changes-and-cancels": lambda: markdown(
        planned(
            source(document_of("cms", rate="21 Mbit/s", labels={"note": HOSTILE}), document_of("same")),
            source(document_of("cms"), document_of("same"), document_of("gone")),
        )
    ),
    "recurs": lambda: markdown(planned(source(document_of("cms", recurrence="FREQ=DAILY;COUNT=5")))),
    "approximates": lambda: markdown(
        planned(source(document_of("cms"), document_of("mirror", service="qbss")), inventory="garnet")
    ),
    "nothing-changes": lambda: markdown(planned(source(document_of("cms")), source(document_of("cms")))),
    "volume": lambda: markdown(
        planned(source(document_of("bulk", rate=None, duration=None, volume="9 GB", by="2027-03-02T05:00:00Z")))
    ),
    "day-and-night": lambda: markdown(
        planned(
            source(
                document_of(
                    "satellite", rate="8 Mbit/s", start="2027-03-01T13:00:00+01:00", duration="P3D",
                    timezone="Europe/Zurich",
                    hours=[{"from": "20:00", "to": "06:00", "rate": "34 Mbit/s"}],
                )
            )
        ),
        most_chars=6_000,
    ),
    "cut": lambda: markdown(many(30), most_chars=6_000),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_comment(case: str) -> None:
    file = FOLDER / f"{case}.md"
    shown = CASES[case]()
    if os.environ.get("UPDATE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(shown)
    assert shown == file.read_text()


def test_every_golden_has_its_case() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(CASES)


@pytest.mark.parametrize("count", [100, 400])
def test_a_comment_is_never_longer_than_a_forge_takes(count: int) -> None:
    shown = markdown(many(count))
    assert MOST_CHARS * 3 // 4 < len(shown) <= MOST_CHARS, "it is cut, and not much more than must be"
    assert "**Not shown here**" in shown
    assert shown.count("<details>") == shown.count("</details>") > 0


def test_of_many_reservations_what_changes_is_shown_and_the_others_are_counted() -> None:
    hours = [f"2027-03-{2 + number // 24:02}T{number % 24:02}:00:00Z" for number in range(500)]
    same = [document_of(f"n{number}", start=hour, duration="PT30M") for number, hour in enumerate(hours)]
    changed = [*same[:250], same[250] | {"rate": "21 Mbit/s"}, *same[251:]]
    shown = markdown(planned(source(*changed), source(*same)))
    assert "~ hep/n250  21 Mbit/s" in shown
    assert "rate: 20 Mbit/s -> 21 Mbit/s" in shown
    assert "499 unchanged." in shown
    assert "hep/n249" not in shown


@pytest.mark.parametrize("case", ["refuses", "changes-and-cancels"])
def test_nothing_hostile_stands_outside_of_code(case: str) -> None:
    shown = (FOLDER / f"{case}.md").read_text()
    outside, fence = [], ""
    for line in shown.splitlines():
        run = re.match("`{3,}", line)
        if not fence and run:
            fence = run[0]
        elif fence and line.strip() == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert not fence
    assert not any(word in "\n".join(outside) for word in ("@root", "<img", "http://b", "onerror"))


def test_a_set_is_found_by_its_marker_and_no_name_ends_it() -> None:
    assert marker("tonight.yml+b") == "<!-- slotcar-plan tonight.yml%2Bb -->"
    hostile = marker("--> <script>`")
    assert hostile.count("-->") == 1
    assert "<script" not in hostile


def test_a_plan_that_another_machine_made_looks_the_same() -> None:
    plan = planned(source(document_of("cms"), document_of("two"), document_of("three")))
    assert plan.refused
    document = json.loads(json.dumps(plan_document(plan)))
    assert plan_markdown(shown_plan(document, {}), document["boundaries"]) == markdown(plan)
