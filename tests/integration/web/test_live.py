"""The stream of open pages: numbers and kinds, resumed without gaps, of what the reader may see."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx

from slotcar.auth.tokens import create_token, read_tokens, revoke_token
from slotcar.book.rules.roles import Role
from tests.integration.web.conftest import Site


def read(client: httpx.Client, after: int, count: int, **headers: str) -> list[tuple[int, dict[str, object]]]:
    """The first `count` events after a number."""
    events: list[tuple[int, dict[str, object]]] = []
    with client.stream("GET", f"/live?after={after}", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        number = 0
        for line in answer.iter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: ") and number:
                events.append((number, json.loads(line[6:])))
                if len(events) == count:
                    return events
    return events


def test_what_happened_after_the_page_was_made_is_told(site: Site) -> None:
    operator = site.signed_in("operator")
    page = operator.get("/").text
    assert 'data-sequence="0"' in page
    entries = [site.reserve(f"n{n}", rate="1 Mbit/s", destination=f"lbnl-premium:{5000 + n}") for n in range(3)]
    events = read(operator, 0, 3)
    assert [number for number, _ in events] == [1, 2, 3]
    assert [one["handle"] for _, one in events] == [entry.handle for entry in entries]
    assert {tuple(sorted(one)) for _, one in events} == {("device", "handle", "kind")}, "no HTML and no details"
    assert read(operator, 0, 1, **{"Last-Event-ID": "2"})[0][0] == 3


def test_a_number_of_another_ledger_is_no_gap(site: Site) -> None:
    operator = site.signed_in("operator")
    site.reserve("cms")
    with operator.stream("GET", "/live?after=999999") as answer:
        assert answer.status_code == 200
        site.desk.ledger.append_event("push.verified", datetime.now(UTC), device="anl-7507-1")
        assert any(line == "id: 2" for line in answer.iter_lines())


def test_a_requester_is_told_of_its_own(site: Site) -> None:
    site.reserve("theirs", owner="astro", rate="1 Mbit/s")
    site.desk.ledger.append_event("push.verified", datetime.now(UTC), device="anl-7507-1")
    mine = site.reserve("mine", rate="1 Mbit/s", destination="lbnl-premium:5002")
    assert [one["handle"] for _, one in read(site.signed_in("requester"), 0, 1)] == [mine.handle]


def test_nobody_is_told_nothing(site: Site) -> None:
    assert site.client().get("/live").status_code == 401


def test_a_stream_ends_when_another_token_has_the_name_of_its_own(site: Site) -> None:
    """That the name is known again says nothing of the token that signed in."""
    operator = site.signed_in("operator")
    file = site.desk.settings.tokens_path
    (name,) = [one.name for one in read_tokens(file) if one.role is Role.OPERATOR]
    with operator.stream("GET", "/live?after=0") as answer:
        assert answer.status_code == 200
        revoke_token(file, name)
        create_token(file, name, Role.REQUESTER, "astro", datetime.now(UTC))
        assert [line for line in answer.iter_lines() if line.startswith("id: ")] == []
    assert operator.get("/live").status_code == 401
