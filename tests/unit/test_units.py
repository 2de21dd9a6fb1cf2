"""Quantities: what is read, what is refused and in which words, and that formatting is the parser's inverse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base import units


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("36 Mbit/s", 36_000_000),
        ("36M", 36_000_000),
        ("36 Mb/s", 36_000_000),
        ("36 Mbps", 36_000_000),
        ("36Mbit", 36_000_000),
        ("36 mbit/s", 36_000_000),
        ("  36   Mbit/s ", 36_000_000),
        ("1.5 Gbit/s", 1_500_000_000),
        ("0.1 Gbit/s", 100_000_000),
        ("0.000001 Mbit/s", 1),
        ("155.52 Mbit/s", 155_520_000),
        ("36000000 bit/s", 36_000_000),
        ("4.5 MB/s", 36_000_000),
        ("1 MiB/s", 8 * 2**20),
        ("64 kbit/s", 64_000),
        ("64 Kbit/s", 64_000),
        ("64 Kibit/s", 65_536),
        ("1 Tbit/s", 10**12),
        (36_000_000, 36_000_000),
    ],
)
def test_rate_is_read_exactly(text: str | int, rate_bps: int) -> None:
    assert units.parse_rate_bps(text) == rate_bps


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("36 m", "is not a rate (got 36 m); say Mbit/s for megabits or MB/s for megabytes a second"),
        ("36 mb", "is not a rate (got 36 mb); say Mbit/s for megabits or MB/s for megabytes a second"),
        ("36 mbps", "is not a rate (got 36 mbps); say Mbit/s"),
        ("36 MBps", "is not a rate"),
        ("36 MB", "is not a rate (got 36 MB)"),
        ("36", "has no unit (got 36); did you mean `36 Mbit/s`?"),
        ("1,5 Gbit/s", "the decimal sign is a point: `1.5 Gbit/s`"),
        ("36 Mbit / s", "did you mean `36 Mbit/s`?"),
        ("-36 Mbit/s", "is not a rate above zero"),
        ("0 Mbit/s", "is not a rate above zero"),
        ("nan", "is not a rate"),
        ("inf Mbit/s", "is not a rate"),
        ("1e9 bit/s", "is not a rate"),
        ("2000 Tbit/s", "is too large a rate (got 2000 Tbit/s); at most 1000 Tbit/s"),
        ("0.5 bit/s", "is not a whole number of bit/s"),
        ("9" * 400 + " bit/s", "is not a rate"),
        ("", "is not a rate (got nothing)"),
        ("٣٦ Mbit/s", "is not a rate"),
        (0, "is not a rate above zero"),
        (36.5, "has no unit (got 36.5); did you mean `36.5 Mbit/s`?"),
        (True, "is not a rate (got True)"),
        (None, "is not a rate (got None)"),
        (["36"], "is not a rate"),
    ],
)
def test_rate_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(units.UnitError) as caught:
        units.parse_rate_bps(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("1500 B", 1500),
        ("1500 bytes", 1500),
        ("64 KiB", 65_536),
        ("8 kB", 8_000),
        ("8 KB", 8_000),
        ("2.5 MB", 2_500_000),
        ("2 TB", 2 * 10**12),
        ("1 PB", 10**15),
        (1500, 1500),
    ],
)
def test_size_is_read_exactly(text: str | int, size_bytes: int) -> None:
    assert units.parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["1500", "1500 b", "64 kb", "2 T", "0 B", "-1 B", "0.5 B", "2000 PB", "B", "1,5 kB"])
def test_size_refused(text: str) -> None:
    with pytest.raises(units.UnitError, match=r"\(got .+\); .+"):
        units.parse_size_bytes(text)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("PT1H", timedelta(hours=1)),
        ("PT1H30M", timedelta(minutes=90)),
        ("P1DT12H", timedelta(hours=36)),
        ("P2W", timedelta(weeks=2)),
        ("PT0.5S", timedelta(milliseconds=500)),
        ("90 min", timedelta(minutes=90)),
        ("90min", timedelta(minutes=90)),
        ("2 h", timedelta(hours=2)),
        ("1 h 30 min", timedelta(minutes=90)),
        ("1h30min", timedelta(minutes=90)),
        ("1.5 hours", timedelta(minutes=90)),
        ("45 s", timedelta(seconds=45)),
        ("250 ms", timedelta(milliseconds=250)),
        ("2 d", timedelta(days=2)),
    ],
)
def test_duration_is_read_exactly(text: str, duration: timedelta) -> None:
    assert units.parse_duration(text) == duration


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a duration (got nothing)"),
        ("90", "has no unit (got 90); did you mean `90 min`?"),
        (90, "has no unit (got 90)"),
        ("90 m", "is not a duration (got 90 m)"),
        ("1:30", "is not a duration"),
        ("P", "is not a duration"),
        ("PT", "is not a duration"),
        ("P1DT", "is not a duration"),
        ("P1M", "months and years have no fixed length"),
        ("P1Y", "months and years have no fixed length"),
        ("-1 h", "is not a duration"),
        ("0 s", "must be longer than nothing"),
        ("PT0S", "must be longer than nothing"),
        ("20 years", "is not a duration"),
        ("4000 d", "is too long (got 4000 d); at most 3660 d"),
        ("0.1 us", "is not a whole number of microseconds"),
        (None, "has no unit"),
    ],
)
def test_duration_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(units.UnitError) as caught:
        units.parse_duration(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "latency_us"), [("40 ms", 40_000), ("250 us", 250), ("250 µs", 250), ("1.5 s", 1_500_000)]
)
def test_latency_is_read_exactly(text: str, latency_us: int) -> None:
    assert units.parse_latency_us(text) == latency_us


@pytest.mark.parametrize("text", ["40", 40, "40 m", "0 ms", "-1 ms", "61 s", "0.5 us", "1 ly", ""])
def test_latency_refused(text: str) -> None:
    with pytest.raises(units.UnitError, match=r"\(got .+\); .+"):
        units.parse_latency_us(text)


@pytest.mark.parametrize(
    ("rate_bps", "text"),
    [
        (0, "0 bit/s"),
        (999, "999 bit/s"),
        (36_000_000, "36 Mbit/s"),
        (36_500_000, "36.5 Mbit/s"),
        (155_520_000, "155.52 Mbit/s"),
        (36_123_456, "36.123456 Mbit/s"),
        (-1_500_000_000, "-1.5 Gbit/s"),
        (10**15, "1000 Tbit/s"),
    ],
)
def test_rate_is_written_for_people(rate_bps: int, text: str) -> None:
    assert units.format_rate(rate_bps) == text


def test_other_quantities_are_written_for_people() -> None:
    assert units.format_bytes(1500) == "1.5 kB"
    assert units.format_bytes_about(19_690_529_996) == "19.69 GB"
    assert units.format_bytes_about(19_690_529_996, up=True) == "19.7 GB"
    assert [units.format_bytes_about(size) for size in (0, 7, 12_345)] == ["0 B", "7 B", "12.34 kB"]
    assert units.format_latency(40_000) == "40 ms"
    assert units.format_duration(timedelta(minutes=90)) == "1 h 30 min"
    assert units.format_duration(timedelta(days=1, seconds=1, microseconds=500_000)) == "1 d 1.5 s"
    assert units.format_duration(-timedelta(seconds=5)) == "-5 s"
    assert units.format_duration(timedelta(0)) == "0 s"


@given(st.integers(1, units.MAX_RATE_BPS))
def test_written_rate_reads_back(rate_bps: int) -> None:
    assert units.parse_rate_bps(units.format_rate(rate_bps)) == rate_bps


@given(st.integers(1, units.MAX_SIZE_BYTES))
def test_written_size_reads_back(size_bytes: int) -> None:
    assert units.parse_size_bytes(units.format_bytes(size_bytes)) == size_bytes


@given(st.integers(1, units.MAX_LATENCY_US))
def test_written_latency_reads_back(latency_us: int) -> None:
    assert units.parse_latency_us(units.format_latency(latency_us)) == latency_us


@given(st.timedeltas(timedelta(microseconds=1), units.MAX_DURATION))
def test_written_duration_reads_back(duration: timedelta) -> None:
    assert units.parse_duration(units.format_duration(duration)) == duration


@given(st.one_of(st.text(), st.from_regex(r"[0-9]{1,5}(\.[0-9]+)? ?[kKmMgGTPT]?i?[a-zA-Z/ ]{0,8}", fullmatch=True)))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    for parse in (units.parse_rate_bps, units.parse_size_bytes, units.parse_duration, units.parse_latency_us):
        try:
            outcome = str(parse(text))
        except units.UnitError as error:
            outcome = str(error)
        assert outcome
        assert "\n" not in outcome


@pytest.mark.parametrize(
    "parse", [units.parse_duration, units.parse_rate_bps, units.parse_size_bytes, units.parse_latency_us]
)
@pytest.mark.parametrize("text", ["1 s " * 225_000, "1" * 900_000, "1,5" + "x" * 900_000, "1 s" + " " * 100])
def test_a_long_text_is_not_looked_at(
    parse: Callable[[str], object], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """900 kB of `1 s 1 s …` were a duration, after some seconds."""
    monkeypatch.setattr("slotcar.base.units._TIME_PART", None)
    with pytest.raises(units.UnitError, match="at most 100 characters") as refused:
        parse(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (36, "Mbit/s", "36 Mbit/s"),
        (21_900_000, "Mbit/s", "21900000 bit/s"),
        ("21900000", "Mbit/s", "21900000 bit/s"),
        (90, "min", "90 min"),
        (3600, "min", "3600 s"),
        (40, "ms", "40 ms"),
        (250_000, "ms", "250000 us"),
        (1500, "B", "1500 B"),
    ],
)
def test_a_bare_number_is_guessed_in_the_unit_that_it_was_likely_meant_in(
    number: object, unit: str, words: str
) -> None:
    assert units.likely_quantity(number, unit) == words


def test_no_rate_at_all_is_said_with_its_unit() -> None:
    assert units.parse_any_bps("0 bit/s") == units.parse_any_bps("0 Mbit/s") == 0
    with pytest.raises(units.UnitError, match="has no unit"):
        units.parse_any_bps("0")
    with pytest.raises(units.UnitError, match="is not a rate above zero"):
        units.parse_rate_bps("0 bit/s")
