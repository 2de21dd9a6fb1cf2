"""Whatever is in a reservation file, it is read or refused in words; what was read can be written and read again."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from slotcar.base.located_yaml import load
from slotcar.base.problems import InvalidInput
from slotcar.base.timebase import iso
from slotcar.base.units import format_bytes, format_duration, format_latency, format_rate
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.reservation import from_mapping, json_schema, load_files, load_text
from slotcar.reservation.entry import KEYS
from slotcar.reservation.model import Reservation
from tests.support.examples import examples

NOW = datetime(2027, 1, 1, 12, 0, tzinfo=UTC)
FIRST = datetime(2027, 2, 1)  # noqa: DTZ001 - hypothesis adds the zone
VALIDATOR = Draft202012Validator(json_schema())
GOOD: dict[str, Any] = {
    "version": 1,
    "defaults": {"owner": "hep", "protocol": "tcp", "duration": "2 h", "labels": {"run": 7}},
    "reservations": [
        {
            "name": "tonight-cms", "source": "anl-premium", "destination": {"host": "lbnl-premium", "port": 5001},
            "service": "ip-premium", "rate": "36 Mbit/s", "start": "2027-03-01T22:00:00+01:00", "rtt": "50 ms",
            "recurrence": "FREQ=DAILY;COUNT=3", "timezone": "Europe/Zurich", "via": ["anl-border"],
        },
        {
            "name": "next", "owner": "cms", "source": "10.10.11.2:1", "destination": "[2001:db8::1]:5001", "start": "now",
            "service": "qbss", "direction": "both", "end": "now + 3 h", "packet_size": "1500 B",
        },
    ],
}  # fmt: skip

#: Near what somebody would write, at its edges.
TEXTS = st.sampled_from([
    "now", "now + 5 min", "now+", "2027-03-01T22:00:00Z", "2027-03-01", "0001-01-01T00:00:00-05:00", "+01:00", "localtime",
    "9999-12-31T23:59:59Z", "2999-12-31T23:59:59-14:00", "PT1H", "P3660D", "1 h", "36 Mbit/s", "1 bit/s", "1500 B", "64 B",
    "50 ms", "1 us", "FREQ=DAILY;COUNT=3", "FREQ=YEARLY;UNTIL=99991231T235959Z", "FREQ=WEEKLY;COUNT=3 DTSTART:1", "tcp",
    "Europe/Zurich", "../../etc/passwd", "UTC", "udp", "qbss", "assured-rate", "both", "10.0.0.1:80", "[::1]:80", "[::1",
    "h:²",    "h:99999999999", "fe80::1%0", "1.2.3", "", " ", "a", "\ud800", "\0", "\x1b[2J", "😀", "é" * 300, "9" * 5000,
])  # fmt: skip
SCALARS = st.one_of(
    TEXTS, st.text(max_size=12), st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(allow_nan=False)
)
NAMES = st.one_of(st.sampled_from((*KEYS, "version", "defaults", "reservations", "host", "port")), st.text(max_size=6))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)


def check_located(error: InvalidInput, file: str) -> None:
    """Each problem is one line that a terminal can print, and says where."""
    lines = str(error).split("\n")
    assert len(lines) == len(error.problems) > 0
    for line in lines:
        assert line.startswith(file)
        assert line.isprintable()
        line.encode()
        assert len(line) < 1000


def read(text: str) -> tuple[Reservation, ...] | None:
    try:
        return load_text(text, "a.yml", NOW)
    except InvalidInput as error:
        check_located(error, "a.yml:")
        return None


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, one in inner for place in places(one, (*way, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """The good document with one to three keys deleted, replaced, added or doubled, anywhere."""
    document = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from([place for place in places(document) if place]))
        holder = document
        for key in above:
            holder = holder[key]
        match draw(st.sampled_from(("delete", "replace", "replace", "add", "move"))):
            case "delete":
                del holder[last]
            case "replace":
                holder[last] = draw(VALUES)
            case "add" if isinstance(holder, dict):
                holder[draw(NAMES)] = draw(VALUES)
            case "add":
                holder.append(copy.deepcopy(draw(st.one_of(st.just(holder[last]), VALUES))))
            case _:
                document[draw(NAMES)] = holder[last]
    return document


@examples(37, 150)
@given(VALUES)
def test_any_document_is_read_or_refused_in_words(document: Any) -> None:
    read(json.dumps(document))


@examples(75, 300)
@given(mutated())
def test_any_change_of_a_good_document_is_read_or_refused_in_words(document: Any) -> None:
    read(json.dumps(document))


@examples(25, 100)
@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_any_request_is_read_or_refused_in_words(changes: dict[str, Any]) -> None:
    request = {"owner": "hep", "protocol": "tcp", "duration": "2 h", **GOOD["reservations"][0], **changes}
    try:
        from_mapping(request, NOW)
    except InvalidInput as error:
        check_located(error, "request")


def with_used_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """Without the defaults that no reservation takes: the loader does not look at them."""
    other = {"end": "duration", "duration": "end"}
    used = {
        key: value
        for key, value in (document.get("defaults") or {}).items()
        if any(key not in entry and other.get(key) not in entry for entry in document["reservations"])
    }
    return document | {"defaults": used}


@examples(75, 300)
@given(mutated())
def test_what_is_read_the_schema_accepts(document: Any) -> None:
    # Null is no value to the loader, and told by the schema: whoever writes it sees it in the editor.
    text = json.dumps(document)
    assume("null" not in text)
    if read(text) is not None:
        VALIDATOR.validate(with_used_defaults(load(text, "a.yml").data))


YAML_LETTERS = st.sampled_from(
    [*"-:,[]{}&*!|>%@`#?'\"\\~<= \n\t\r", "\n  ", "- ", ": ", "\n- ", "<<: *a", "&a ", "*a", "---"]
)


@examples(75, 300)
@given(st.lists(st.one_of(YAML_LETTERS, st.sampled_from(["a", "version: 1\n", "reservations:\n", "\\UFFFFFFFF"]))))
@example(['"\\UFFFFFFFF"'])
@example(["a: '\ud800'"])
@example(["\x85\u2028- \ufeff"])
def test_anything_like_yaml_is_read_or_refused_in_words(parts: list[str]) -> None:
    read("".join(parts))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "a.yml"


@examples(25, 100)
@given(content=st.one_of(st.binary(max_size=60), st.text().map(lambda text: text.encode("utf-16"))))
def test_any_bytes_are_read_or_refused_in_words(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    try:
        load_files([file], NOW)
    except InvalidInput as error:
        check_located(error, str(file))


@examples(25, 100)
@given(st.integers(0, 10**6), st.sampled_from((b"\xff", b"\0", b"\t", b'"', b"\n", b":", b"")))
def test_a_good_file_with_one_byte_changed_is_read_or_refused_in_words(at: int, byte: bytes) -> None:
    raw = json.dumps(GOOD, indent=2).encode()
    at %= len(raw)
    read((raw[:at] + byte + raw[at + 1 :]).decode(errors="replace"))


RULE_PARTS = {
    "FREQ": st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY", "HOURLY", ""]),
    "UNTIL": st.sampled_from(["20270301", "20271231T000000Z", "20991231", "99991231T235959Z", "00010101T000000Z", "now"]),
    "BYDAY": st.lists(st.sampled_from(["MO", "2TU", "-1FR", "53SU", "-53SA", "54MO", "XX"]), max_size=2).map(",".join),
    "WKST": st.sampled_from(["SU", "X"]),
    "X": st.text(max_size=3),
} | {
    name: st.lists(st.integers(-60, 400).map(str), min_size=1, max_size=3).map(",".join)
    for name in ("INTERVAL", "BYHOUR", "BYMINUTE", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYMONTH", "BYSETPOS")
}  # fmt: skip
RULES = st.fixed_dictionaries(
    {"FREQ": RULE_PARTS.pop("FREQ"), "COUNT": st.integers(0, 40).map(str)}, optional=RULE_PARTS
).map(lambda parts: ";".join(f"{name}={value}" for name, value in parts.items()))


@examples(37, 150)
@given(
    RULES, st.sampled_from(["now", "2027-10-31T02:30:00+01:00", "2028-02-29T00:00:00Z", "2999-12-31T23:00:00-05:00"])
)
@example("FREQ=DAILY;COUNT=1;BYMONTH=2;BYMONTHDAY=30", "now")
@example("FREQ=DAILY;COUNT=1;BYMONTH=2;INTERVAL=0", "now")
@example("FREQ=DAILY;COUNT=1;BYYEARDAY=99999", "now")
@example("FREQ=MONTHLY;COUNT=1;BYDAY=53SU", "now")
def test_any_recurrence_is_expanded_or_refused_in_words(rule: str, start: str) -> None:
    request = {"owner": "hep", "protocol": "tcp", "duration": "1 min", **GOOD["reservations"][0]}
    try:
        reservation = from_mapping(request | {"recurrence": rule, "start": start}, NOW)
    except InvalidInput as error:
        check_located(error, "request")
        return
    assert all(
        earlier.end <= later.start
        for earlier, later in zip(reservation.windows, reservation.windows[1:], strict=False)
    )
    assert all(window.duration == timedelta(minutes=1) for window in reservation.windows)


ENDPOINTS = st.builds(
    lambda host, port: {"host": host} | ({"port": port} if port else {}),
    st.sampled_from(["anl-premium", "10.10.21.2", "2001:db8::1", "a.example.org"]),
    st.one_of(st.none(), st.integers(1, 65535)),
)
ENTRIES = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?", fullmatch=True),
        "owner": st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9@._-]{0,126}[A-Za-z0-9])?", fullmatch=True),
        "source": ENDPOINTS,
        "destination": ENDPOINTS,
        "protocol": st.sampled_from(list(Protocol)).map(str),
        "service": st.sampled_from(list(Service)).map(str),
        "rate": st.integers(1, 10**15).map(format_rate),
        "start": st.datetimes(FIRST, FIRST + timedelta(days=700)).map(
            lambda moment: moment.replace(hour=3 + moment.hour % 20, tzinfo=UTC).isoformat()
        ),
        "duration": st.timedeltas(timedelta(microseconds=1), timedelta(hours=20)).map(format_duration),
    },
    optional={
        "direction": st.sampled_from(list(Direction)).map(str),
        "packet_size": st.integers(64, 65535).map(format_bytes),
        "rtt": st.integers(1, 60_000_000).map(format_latency),
        "recurrence": st.sampled_from([
            "FREQ=DAILY;COUNT=5", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;COUNT=9", "FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20290401",
            "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=29;COUNT=3", "FREQ=MONTHLY;BYMONTHDAY=31;COUNT=4",
        ]),
        "via": st.lists(st.sampled_from(["anl-border", "esnet-hub"]), max_size=2),
        "labels": st.dictionaries(st.text("abc./é😀", min_size=1), st.one_of(st.text("xyz =é😀"), st.integers())),
    },
)  # fmt: skip
ZONES = st.sampled_from(["Europe/Zurich", "America/New_York", "UTC", "+05:45", "-11:00"])


def written(reservation: Reservation) -> dict[str, Any]:
    """A reservation in a file's keys."""
    entry = {
        "name": reservation.name,
        "owner": reservation.owner,
        "source": str(reservation.source),
        "destination": str(reservation.destination),
        "protocol": reservation.protocol.value,
        "direction": reservation.direction.value,
        "service": reservation.service.value,
        "rate": format_rate(reservation.peak_rate_bps),
        "packet_size": format_bytes(reservation.packet_size_bytes),
        "rtt": format_latency(reservation.rtt_us),
        "start": iso(reservation.start),
        "via": list(reservation.via),
        "labels": reservation.labels,
    }
    if reservation.recurrence is None:
        return entry | {"end": iso(reservation.end)}
    length = format_duration(reservation.windows[0].duration)
    return entry | {"duration": length, "recurrence": reservation.recurrence, "timezone": reservation.timezone}


@examples(37, 150)
@given(ENTRIES, ZONES)
def test_what_was_read_can_be_written_and_read_again(entry: dict[str, Any], zone: str) -> None:
    if "recurrence" in entry:
        entry = entry | {"timezone": zone}
    reservation = from_mapping(entry, NOW)
    assert Reservation.from_document(json.loads(json.dumps(reservation.to_document()))) == reservation
    text = json.dumps({"version": 1, "reservations": [written(reservation)]})
    assert load_text(text, "a.json", NOW) == (reservation,)
