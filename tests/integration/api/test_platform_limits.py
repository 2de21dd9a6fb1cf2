"""What a platform cannot express is refused at admission, with the sentence of a plan, whoever asks at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.integration.api.conftest import START, at, body, created, live, problem

#: Lists for flows of a 7500 at an instant, and so the flows that it can tell apart.
MOST = 100
SENTENCE = f"anl-7507-1: {MOST + 1} flows at once, and cisco-car has the {MOST} lists from 2600 on"


def test_the_flow_that_a_router_has_no_list_for_is_refused_and_not_found_out_by_a_push(api: httpx.Client) -> None:
    def ask(number: int) -> httpx.Response:
        return api.post(
            "/v1/reservations", json=body(f"n{number}", destination=f"lbnl-premium:{number}", rate="8 kbit/s")
        )

    for number in range(1, MOST - 2):
        assert ask(number).status_code == 201
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(MOST - 2, MOST + 6)))
    refused = [answer for answer in answers if answer.status_code != 201]
    assert len(refused) == len(answers) - 3
    for answer in refused:
        assert problem(answer, 409, "unrenderable")["detail"] == SENTENCE
    entries = live(api)
    assert len(entries) == MOST

    later = START.replace(year=START.year + 1).isoformat()
    other = created(api, "later", destination="lbnl-premium:999", rate="8 kbit/s", start=later)
    moved = api.patch(at(other), json={"start": START.isoformat()}, headers={"If-Match": f'"{other["version"]}"'})
    assert problem(moved, 409, "unrenderable")["detail"] == SENTENCE
    assert api.get(at(other)).json() == other, "it stays as it was"
    api.post(at(entries[0], "cancel")).raise_for_status()
    created(api, "in-its-place", destination="lbnl-premium:8", source="anl-premium:9", rate="8 kbit/s")
