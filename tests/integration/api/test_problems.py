"""Requests that are wrong: each gets problem details (RFC 9457) that say what would be right, and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.integration.api.conftest import START, Serve, at, body, created, live, problem, slotted

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("handle", ["r-0000000000000000", "x", "a%00b", "%ff%fe"])
@pytest.mark.parametrize("verb", ["", "commit", "cancel"])
def test_an_unknown_handle_is_not_found(api: httpx.Client, handle: str, verb: str) -> None:
    answer = api.post(f"/v1/reservations/{handle}/{verb}") if verb else api.get(f"/v1/reservations/{handle}")
    document = answer.json()
    assert (answer.status_code, document["type"]) == (404, "urn:slotcar:problem:unknown-reservation")


def test_what_is_nowhere_and_a_method_that_is_not_known_are_problems_too(api: httpx.Client) -> None:
    assert "/openapi.json" in problem(api.get("/v1/nothing"), 404, "not-found")["detail"]
    answer = api.delete("/v1/reservations")
    problem(answer, 405, "method-not-allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST"}


def test_every_wrong_key_is_listed_with_what_would_be_right(api: httpx.Client) -> None:
    wrong = body(rate="36", protocol="icmp", bandwidth="1 Mbit/s", source=None)
    document = problem(api.post("/v1/reservations", json=wrong), 422, "invalid-input")
    errors = {one["key"]: one for one in document["errors"]}
    assert set(errors) == {"rate", "protocol", "bandwidth", "source"}
    assert (errors["rate"]["value"], errors["rate"]["hint"].split(" say ")[0]) == ("36", "did you mean `36 Mbit/s`?")
    assert "did you mean `rate`?" in errors["bandwidth"]["hint"]
    assert "is missing" in errors["source"]["message"]
    assert live(api) == []


def test_wrong_keys_of_a_file_are_named_by_their_place_in_it(api: httpx.Client) -> None:
    file = {"version": 1, "reservations": [body(), body("b", rate="fast")]}
    document = problem(api.post("/v1/plans", json=file), 422, "invalid-input")
    assert [one["key"] for one in document["errors"]] == ["reservations[1].rate"]


@pytest.mark.parametrize(
    ("verb", "sent", "key"),
    [
        ("extend", {"by": "soon"}, "by"),
        ("extend", {}, "by"),
        ("bind", {"source_port": 0}, "source_port"),
        ("bind", {"source_port": "x"}, "source_port"),
        ("bind", {"port": 5001}, "port"),
        ("cancel", {"reason": "x" * 501}, "reason"),
        ("cancel", {"reason": "\0"}, "reason"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_wrong_value_of_a_verb_is_named_by_its_key(
    api: httpx.Client, verb: str, sent: dict[str, Any], key: str
) -> None:
    answer = api.post(at(created(api), verb), json=sent, headers={"If-Match": "*"})
    assert [one["key"] for one in problem(answer, 422, "invalid-input")["errors"]] == [key]


@pytest.mark.parametrize("key", ["rate", "start", "end", "duration"])
def test_a_wrong_change_is_named_by_its_key(api: httpx.Client, key: str) -> None:
    answer = api.patch(at(created(api)), json={key: "much"}, headers={"If-Match": "*"})
    error = problem(answer, 422, "invalid-input")["errors"][0]
    assert (error["key"], error["value"]) == (key, "much")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/v1/reservations?limit=0", "limit"),
        ("/v1/reservations?after=x", "after"),
        ("/v1/reservations?state=open", "state.0"),
        ("/v1/reservations?owner=%00", "owner"),
        ("/v1/reservations?label=%00", "label"),
        ("/v1/timeline?hours=nan", "hours"),
        ("/v1/configurations?at=2027-03-01T00:00:00", "at"),
        ("/v1/events?after=-1", "after"),
        ("/v1/timeline?from=1700000000", "from"),
        ("/v1/configurations?at=1700000000", "at"),
        ("/v1/configurations?device=%1b%5b2J", "device.0"),
        ("/v1/reservations?nmae=cms", "nmae"),
        ("/v1/timeline?hours=1&hour=2", "hour"),
        ("/v1/controller?x=", "x"),
        ("/healthz?x=1", "x"),
        ("/metrics?x=1", "x"),
    ],
)
def test_a_wrong_parameter_is_named(api: httpx.Client, path: str, key: str) -> None:
    answer = api.get(path)
    assert answer.status_code == 422
    assert [one["key"] for one in answer.json()["errors"]] == [key]


def test_an_unknown_parameter_is_told_with_those_that_are_known(api: httpx.Client) -> None:
    document = problem(api.get("/v1/reservations?nmae=cms"), 422, "invalid-input")
    assert (
        "the parameters are owner, name, state, label, from, until, search, newest, counted, after, limit"
        in document["detail"]
    )
    entry = created(api)
    assert "takes no parameters" in problem(api.post(at(entry, "cancel?force=1")), 422, "invalid-input")["detail"]
    assert api.get(at(entry)).json()["state"] == "committed"


def test_defaults_are_checked_though_every_reservation_has_its_own(api: httpx.Client) -> None:
    for defaults, key in (
        ({"owner": None}, "owner"), ({"rtt": "soon"}, "rtt"), ({"end": "x"}, "end"),
        ({"labels": {"a": "\x1b"}}, "labels.a"),
        ({"end": "2030-01-01T00:00:00Z", "duration": "PT1H"}, "end"),
    ):  # fmt: skip
        file = {"version": 1, "defaults": defaults, "reservations": [body(rtt="1 ms", labels={})]}
        document = problem(api.post("/v1/plans", json=file), 422, "invalid-input")
        assert [one["key"] for one in document["errors"]] == [f"defaults.{key}"]


def test_a_wrong_hold_is_named(api: httpx.Client) -> None:
    answer = api.post("/v1/reservations", json=body(), params={"hold": "15"})
    assert problem(answer, 422, "invalid-input")["errors"][0]["key"] == "hold"


@pytest.mark.parametrize(
    "sent",
    [b"{", b"\xff\xfe", b"", b'{"name": 1' + b"0" * 5000 + b"}", b"[" * 20_000 + b"]" * 20_000, b"{'name': 'cms'}"],
    ids=["cut off", "no text", "empty", "endless number", "nested too deep", "Python"],
)
@pytest.mark.parametrize("path", ["/v1/reservations", "/v1/plans", "/v1/applies", "/v1/enquiries"])
def test_what_is_no_json_is_told_apart_from_what_is_wrong_json(api: httpx.Client, path: str, sent: bytes) -> None:
    answer = api.post(path, content=sent, headers=JSON)
    if sent:
        problem(answer, 400, "malformed")
    else:
        problem(answer, 422, "invalid-input")


@pytest.mark.parametrize("sent", [[], "cms", 7, None, True])
@pytest.mark.parametrize("path", ["/v1/reservations", "/v1/plans", "/v1/applies", "/v1/enquiries"])
def test_json_of_another_kind_is_wrong(api: httpx.Client, path: str, sent: object) -> None:
    problem(api.post(path, content=json.dumps(sent), headers=JSON), 422, "invalid-input")


@pytest.mark.parametrize("depth", [200, 600, 980])
def test_deep_values_are_refused_wherever_they_stand(api: httpx.Client, depth: int) -> None:
    deep = b'{"labels": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    for path in ("/v1/reservations", "/v1/plans", "/v1/applies", "/v1/enquiries"):
        answer = api.post(path, content=deep, headers=JSON)
        assert answer.status_code in (400, 422), (path, answer.text[:200])


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/yaml", None])
def test_another_media_type_is_refused(api: httpx.Client, kind: str | None) -> None:
    entry = created(api)
    headers = {"Content-Type": kind} if kind else {}
    for path in ("/v1/reservations", "/v1/plans", "/v1/applies", "/v1/enquiries", at(entry, "cancel")):
        problem(api.post(path, content=json.dumps(body("b")), headers=headers), 415, "media-type")
    assert api.get(at(entry)).json() == entry


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "application/merge-patch+json", "Application/JSON"]
)
def test_every_form_of_json_is_taken(api: httpx.Client, kind: str) -> None:
    answer = api.post("/v1/reservations", content=json.dumps(body()), headers={"Content-Type": kind})
    assert answer.status_code == 201, answer.text


def test_a_body_above_the_limit_is_refused_whether_or_not_it_says_its_length(serve: Serve) -> None:
    api = serve(max_body_bytes=2_000)
    large = json.dumps(body(labels={"note": "x" * 2_000})).encode()
    assert (
        "2000 bytes" in problem(api.post("/v1/reservations", content=large, headers=JSON), 413, "too-large")["detail"]
    )

    def pieces() -> Any:
        yield from (large[:700], large[700:1400], large[1400:])

    problem(api.post("/v1/reservations", content=pieces(), headers=JSON), 413, "too-large")
    small = json.dumps(body()).encode()
    assert api.post("/v1/reservations", content=iter([small[:50], small[50:]]), headers=JSON).status_code == 201


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "\udfff x"])
def test_texts_that_the_ledger_cannot_keep_are_wrong_and_no_fault(api: httpx.Client, text: str) -> None:
    for labels in ({"a": text}, {text: "a"}):
        wrong = body(labels=labels)
        error = problem(api.post("/v1/reservations", content=json.dumps(wrong), headers=JSON), 422, "invalid-input")
        assert error["errors"][0]["key"].startswith("labels")
        file = json.dumps({"version": 1, "reservations": [wrong]})
        problem(api.post("/v1/plans", content=file, headers=JSON), 422, "invalid-input")
    for key in ("name", "owner", "source", "via", "rate", "start", "recurrence", "service"):
        wrong = body() | {key: [text] if key == "via" else text}
        document = problem(api.post("/v1/reservations", content=json.dumps(wrong), headers=JSON), 422, "invalid-input")
        assert key in {one["key"] for one in document["errors"]}


@pytest.mark.parametrize("text", ["line\u2028break\u0085", "tab\tand\nline"])
def test_a_label_is_one_line(api: httpx.Client, text: str) -> None:
    document = problem(api.post("/v1/reservations", json=body(labels={"note": text})), 422, "invalid-input")
    assert "one line each" in document["detail"]


@pytest.mark.parametrize("text", ["Zürich – 東京", "🚄 on time", "a: b # c", "'\"{{ x }}"])
def test_labels_keep_every_letter_on_both_ways_in(api: httpx.Client, text: str) -> None:
    assert created(api, labels={"note": text})["reservation"]["labels"]["note"] == text
    plan = api.post("/v1/plans", json={"version": 1, "reservations": [body("b", labels={"note": text})]}).json()
    assert plan["steps"][0]["reservation"]["labels"]["note"] == text
    assert api.post("/v1/applies", json=plan).json()["entries"][0]["reservation"]["labels"]["note"] == text


def test_there_is_no_path_to_what_is_not_in_the_network(api: httpx.Client) -> None:
    document = problem(api.post("/v1/reservations", json=body(destination="nowhere")), 422, "no-path")
    assert "nowhere" in document["detail"]


def _broken(plan: dict[str, Any], **step: Any) -> dict[str, Any]:
    return plan | {"steps": [plan["steps"][0] | step]}


def test_a_plan_that_is_not_whole_is_wrong_and_no_fault(api: httpx.Client) -> None:
    plan = api.post("/v1/plans", json={"version": 1, "reservations": [body()]}).json()
    reservation = plan["steps"][0]["reservation"]
    year_one = {"start": "0001-01-01T00:00:00+10:00", "end": "2030-01-01T00:00:00Z"}
    for wrong in (
        {"format": "slotcar-plan/1"},
        plan | {"steps": [{}]},
        plan | {"ledger_sequence": -1},
        _broken(plan, reservation=None),
        _broken(plan, action="change"),
        _broken(plan, action="cancel"),
        _broken(plan, owner="astro"),
        _broken(plan, reservation=slotted(reservation, forward_bps=2**70)),
        _broken(plan, reservation=reservation | {"labels": {"a": "\0"}}),
        _broken(plan, reservation=slotted(reservation, **year_one)),
    ):
        assert problem(api.post("/v1/applies", json=wrong), 422, "invalid-input")["errors"]
    for handle, status, kind in (("r-\0", 422, "invalid-input"), ("r-" + "0" * 16, 404, "unknown-reservation")):
        unknown = _broken(plan, action="cancel", handle=handle, expected_version=1)
        problem(api.post("/v1/applies", json=unknown), status, kind)
    assert live(api) == []


def test_what_a_plan_document_asks_for_is_checked_as_what_a_file_asks_for(api: httpx.Client) -> None:
    """A plan may be written by hand: whatever no file could ask for is refused, by its key, and nothing is reserved."""
    plan = api.post("/v1/plans", json={"version": 1, "reservations": [body()]}).json()
    reservation = plan["steps"][0]["reservation"]
    hours = [{"start": f"{START:%Y-%m-%d}T{hour:02}:00:00Z", "end": f"{START:%Y-%m-%d}T{hour:02}:30:00Z"}
             for hour in range(24)]  # fmt: skip
    (slot,) = reservation["slots"]
    endless = {"start": "2027-01-01T00:00:00Z", "end": "9999-12-31T00:00:00Z"}
    for change, words in (
        ({"labels": {"note": "\x1b[2J"}}, "labels.note is no label"),
        ({"labels": {"two\nlines": "a"}}, "is no label"),
        ({"labels": {"slotcar.asked-by": "cern"}}, "labels.slotcar.asked-by is Slotcar's own"),
        ({"labels": {"slotcar.connection": "c-1"}}, "labels.slotcar.connection is Slotcar's own"),
        ({"labels": {str(number): "a" for number in range(65)}}, "labels are too many"),
        ({"slots": [slot | hour for hour in hours * 200]}, "slots overlap"),
        ({"slots": [slot | endless]}, "slots are too long"),
        ({"slots": [slot | endless | {"start": "0001-01-01T00:00:00Z"}]}, "beyond the calendar"),
        ({"slots": [slot | {"start": "4102444800", "end": "2100-01-02T00:00:00Z"}]}, "is not a time"),
        ({"slots": [slot | {"forward_bps": 0}]}, "needs a rate above 0"),
        ({"slots": [slot | {"forward_bps": "10000000"}]}, "valid integer"),
        ({"rate_bps": 5}, "rate_bps: does not agree with the slots"),
        ({"packet_size_bytes": 63}, "packet_size_bytes"),
        ({"source": {"host": "anl\x1b[31m", "port": None}}, "source.host is no host"),
        ({"source": {"host": "999.1.1.1", "port": None}}, "source.host is no host"),
        ({"via": ["anl-7507-1\n"]}, "via is no list of routers"),
        ({"recurrence": "FREQ=DAILY;COUNT=2\x1f"}, "recurrence"),
        ({"timezone": "Nowhere"}, "is no time zone"),
    ):  # fmt: skip
        document = {key: one for key, one in reservation.items() if key not in ("rate_bps", "windows")} | change
        answer = api.post("/v1/applies", json=_broken(plan, reservation=document))
        assert words in problem(answer, 422, "invalid-input")["detail"], change
    assert live(api) == []


def test_a_reason_is_one_line(api: httpx.Client) -> None:
    entry = created(api)
    for reason in ("two\nlines", "\x1b[2J", "\u202egnp"):
        problem(api.post(at(entry, "cancel"), json={"reason": reason}), 422, "invalid-input")


def test_many_wrong_keys_are_counted_and_not_all_told(api: httpx.Client) -> None:
    """The answer stays small whatever is sent: the first of them are named, and how many more there are."""
    wrong = body() | {f"key-{number}": 1 for number in range(60_000)}
    answer = api.post("/v1/reservations", json=wrong)
    document = problem(answer, 422, "invalid-input")
    assert "59950 more keys" in document["detail"]
    assert len(answer.content) < 50_000
    file = {"version": 1, "reservations": [{"name": str(number)} for number in range(5_000)]}
    answer = api.post("/v1/plans", json=file)
    document = problem(answer, 422, "invalid-input")
    assert len(document["errors"]) == 100
    assert "more problems" in document["detail"]
    assert len(answer.content) < 50_000
    answer = api.post(at(created(api), "bind"), json=dict.fromkeys(map(str, range(60_000))), headers={"If-Match": "*"})
    document = problem(answer, 422, "invalid-input")
    assert (len(document["errors"]), len(answer.content) < 50_000) == (100, True)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/timeline?device=", 404),
        ("/v1/timeline?device=anl-7507-1&device=", 404),
        ("/v1/timeline?reservation=", 404),
        ("/v1/configurations?device=", 404),
        ("/v1/events?device=", 404),
        ("/v1/events?reservation=", 404),
        ("/v1/events?kind=", 422),
        ("/v1/reservations?label=", 422),
        ("/v1/reservations?state=", 422),
    ],
)
def test_an_empty_filter_is_not_taken_for_none(api: httpx.Client, path: str, status: int) -> None:
    """As a program sends it whose variable is empty: it would get what it did not ask for."""
    answer = api.get(path)
    assert answer.status_code == status, answer.text
