"""Quantities as people write them, parsed once, at the edge, to integers (docs/design.md rule 1), and written back exactly.

Arithmetic is exact, so `0.1 Gbit/s` is 100000000 bit/s and not nearly that. Prefixes are decimal (k = 1000) unless the
text says Ki, Mi, Gi, Ti. Every parser raises `UnitError`, a `ValueError` whose parts a `Problem` can take over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from fractions import Fraction

from slotcar.base import lengths
from slotcar.base.problems import shortened

#: Above any link there is, and below PostgreSQL's bigint in bytes, bits and their products with a thousand: thousands of
#: such rates at once still fit 64 bits, so that the slot tables' sums need no check.
MAX_RATE_BPS = 10**15
MAX_SIZE_BYTES = 10**18
MAX_DURATION = timedelta(days=3660)
MAX_LATENCY_US = 60_000_000

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]{1,24}(?:\.[0-9]{1,24})?)\s*(?P<unit>[^0-9\s.,+-].*)?", re.DOTALL
)
_NOTHING = re.compile(r"0(?:\.0{1,24})?\s*(?:[kKMGTP]i?)?(?:B|bytes?)")
_ISO_DURATION = re.compile(
    r"P(?:(?P<w>[0-9]{1,9})W)?(?:(?P<d>[0-9]{1,9})D)?"
    r"(?:T(?=[0-9])(?:(?P<h>[0-9]{1,9})H)?(?:(?P<m>[0-9]{1,9})M)?(?:(?P<s>[0-9]{1,12}(?:\.[0-9]{1,6})?)S)?)?"
)
_TIME_PART = re.compile(r"([0-9]{1,24}(?:\.[0-9]{1,24})?)\s*([A-Za-zµμ]+)\s*")

_DAYS_OR_WEEKS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(w|d)(?![A-Za-z])", re.IGNORECASE)


class UnitError(ValueError):
    """A quantity that cannot be read: what is wrong with it, what was given, what would be right."""

    def __init__(self, message: str, value: object, hint: str) -> None:
        self.message, self.value, self.hint = message, _value_text(value), hint
        super().__init__(f"{message} (got {self.value}); {hint}")


def _value_text(value: object) -> str:
    text = " ".join((value if isinstance(value, str) else repr(value)).split()) or "nothing"
    return shortened(text, 60)


def _rate_units() -> dict[str, Fraction]:
    """`Mbit/s`, `Mb/s`, `Mbps`, `M` and bytes a second; case counts, except where the word bit makes it clear."""
    units: dict[str, Fraction] = {}
    for prefix, factor in (_DECIMAL | _BINARY | {"K": 10**3}).items():
        bits = ["bit/s", "bits/s", "bit", "b/s", "bps"] if prefix else ["bit/s", "bits/s", "b/s", "bps"]
        units |= {prefix + suffix: Fraction(factor) for suffix in bits}
        units |= {(prefix + suffix).lower(): Fraction(factor) for suffix in bits if "bit" in suffix}
        units |= {
            prefix + suffix: Fraction(8 * factor) for suffix in ("B/s", "byte/s", "bytes/s", "Byte/s", "Bytes/s")
        }
    return units | {prefix: Fraction(factor) for prefix, factor in (_DECIMAL | {"K": 10**3}).items() if prefix}


def _size_units() -> dict[str, Fraction]:
    units = {prefix + "B": Fraction(factor) for prefix, factor in (_DECIMAL | _BINARY | {"K": 10**3}).items()}
    return units | {"byte": Fraction(1), "bytes": Fraction(1), "PB": Fraction(10**15), "PiB": Fraction(2**50)}


def _time_units() -> dict[str, Fraction]:
    """Microseconds of each unit; `m` alone is left out, because it may be minutes, months or milliseconds."""
    names = {
        1: ("us", "µs", "μs", "microsecond", "microseconds"),
        10**3: ("ms", "msec", "millisecond", "milliseconds"),
        10**6: ("s", "sec", "secs", "second", "seconds"),
        60 * 10**6: ("min", "mins", "minute", "minutes"),
        3600 * 10**6: ("h", "hr", "hrs", "hour", "hours"),
        86_400 * 10**6: ("d", "day", "days"),
        7 * 86_400 * 10**6: ("w", "week", "weeks"),
    }
    return {name: Fraction(factor) for factor, group in names.items() for name in group}


_RATES, _SIZES, _TIMES = _rate_units(), _size_units(), _time_units()
#: What nobody writes more of in this unit, and the smallest unit: 21900000 is a rate in bit/s.
_MOST_LIKELY = {"Mbit/s": (100_000, "bit/s"), "min": (1_440, "s"), "ms": (60_000, "us")}
_RATE_HINT = "say Mbit/s for megabits or MB/s for megabytes a second"
_SIZE_HINT = "say a number and a unit: `1500 B`, `64 KiB`, `2 TB`"
_TIME_HINT = "say `PT1H30M`, `90 min`, `2 h` or `45 s`"
_LATENCY_HINT = "say `40 ms`, `250 us` or `1 s`"


def parse_rate_bps(text: str | int) -> int:
    """Bits per second of `36 Mbit/s`, `36M`, `36 Mb/s`, `36 Mbps`, `4.5 MB/s`; an int is bit/s already.

    Raises:
        UnitError: no rate, no unit or an ambiguous one, no whole bit/s, not above zero, above `MAX_RATE_BPS`.
    """
    return _parse(text, "rate", _RATES, ("Mbit/s", "bit/s"), _RATE_HINT, MAX_RATE_BPS)


def parse_any_bps(text: str | int) -> int:
    """As `parse_rate_bps`, and no rate at all is one: `0 bit/s`.

    Raises:
        UnitError: as `parse_rate_bps`, and below zero.
    """
    return _parse(text, "rate", _RATES, ("Mbit/s", "bit/s"), _RATE_HINT, MAX_RATE_BPS, least=0)


def parse_size_bytes(text: str | int) -> int:
    """Bytes of `1500 B`, `64 KiB`, `2 TB`; an int is bytes already.

    Raises:
        UnitError: as `parse_rate_bps`.
    """
    return _parse(text, "size", _SIZES, ("B", "B"), _SIZE_HINT, MAX_SIZE_BYTES)


def parse_remaining_bytes(text: str | int) -> int:
    """As `parse_size_bytes`, and nothing at all may remain: `0 B`.

    Raises:
        UnitError: as `parse_rate_bps`.
    """
    return 0 if isinstance(text, str) and _NOTHING.fullmatch(text.strip()) else parse_size_bytes(text)


def parse_latency_us(text: str) -> int:
    """Microseconds of `40 ms`, at most a minute.

    Raises:
        UnitError: no latency, no unit, no whole microsecond, not above zero, above a minute.
    """
    return _parse(text, "latency", _TIMES, ("ms", "us"), _LATENCY_HINT, MAX_LATENCY_US, bare_int=False)


def parse_duration(text: str) -> timedelta:
    """A length of time: ISO 8601 (`PT1H30M`, `P1D`, a day being 24 h) or `90 min`, `1 h 30 min`.

    Raises:
        UnitError: no duration, no unit, months or years, no whole microsecond, not above zero, above `MAX_DURATION`.
    """
    if not isinstance(text, str):
        raise UnitError("has no unit", text, f"did you mean `{likely_quantity(text, 'min')}`? {_TIME_HINT}")
    _require_short(text, "duration")
    stripped = text.strip()
    microseconds = _iso_microseconds(stripped) if stripped.upper().startswith("P") else _plain_microseconds(stripped)
    if microseconds.denominator != 1:
        raise UnitError("is not a whole number of microseconds", text, _TIME_HINT)
    if microseconds <= 0:
        raise UnitError("must be longer than nothing", text, _TIME_HINT)
    if microseconds > MAX_DURATION // timedelta(microseconds=1):
        raise UnitError("is too long", text, f"at most {MAX_DURATION.days} d")
    return timedelta(microseconds=int(microseconds))


def parse_calendar_duration(text: str) -> tuple[int, timedelta]:
    """As `parse_duration`, in whole days and weeks, which a calendar counts, and the rest: `P1D` is a day of 23 h where the
    clocks change, and `PT24H` is 24 h (RFC 5545 §3.3.6).

    Raises:
        UnitError: see `parse_duration`.
    """
    length = parse_duration(text)
    date_part = text.split("T")[0]
    counts = [(Fraction(one[1]), one[2].lower()) for one in _DAYS_OR_WEEKS.finditer(date_part)]
    days = sum(int(count) * (7 if unit == "w" else 1) for count, unit in counts if count.denominator == 1)
    return days, length - timedelta(days=days)


def format_rate(rate_bps: int) -> str:
    """`36 Mbit/s`, exactly what `parse_rate_bps` reads back; the largest unit that needs at most six decimals."""
    return _format(rate_bps, "bit/s", decimals=6)


def format_rate_about(rate_bps: int, *, up: bool = False) -> str:
    """`9.733 Gbit/s`: the first four digits, rounded down (what fits still fits) or up."""
    return format_rate(_four_digits(rate_bps, up))


def format_bytes(size_bytes: int) -> str:
    """`1.5 kB`, decimal, exactly what `parse_size_bytes` reads back."""
    return _format(size_bytes, "B")


def format_bytes_about(size_bytes: int, *, up: bool = False) -> str:
    """`19.69 GB`: the first four digits, rounded down (what fits still fits) or up."""
    return format_bytes(_four_digits(size_bytes, up))


def _four_digits(number: int, up: bool) -> int:
    step: int = 10 ** max(0, len(str(number)) - 4)
    return (-(-number // step) if up else number // step) * step


def format_latency(latency_us: int) -> str:
    """`40 ms`, exactly what `parse_latency_us` reads back."""
    return _format_scaled(latency_us, (("s", 10**6), ("ms", 10**3), ("us", 1)))


def format_duration(duration: timedelta) -> str:
    """`1 h 30 min`, exactly what `parse_duration` reads back."""
    rest = duration // timedelta(microseconds=1)
    if rest == 0:
        return "0 s"
    sign, rest = ("-", -rest) if rest < 0 else ("", rest)
    parts = []
    for unit, factor in (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000)):
        count, rest = divmod(rest, factor)
        if count:
            parts.append(f"{count} {unit}")
    if rest:
        parts.append(f"{_decimal(rest, 10**6)} s")
    return sign + " ".join(parts)


def _parse(
    text: object,
    what: str,
    units: Mapping[str, Fraction],
    units_named: tuple[str, str],
    hint: str,
    largest: int,
    *,
    bare_int: bool = True,
    least: int = 1,
) -> int:
    """`units_named`: the unit that a bare number is guessed to have been meant in, and the unit of the result; `least`: 0
    where that is allowed, too."""
    guess, base = units_named
    if isinstance(text, int) and not isinstance(text, bool) and bare_int:
        exact = Fraction(text)
    elif isinstance(text, str):
        exact = _quantity(text, what, units, guess, hint)
    elif isinstance(text, int | float) and not isinstance(text, bool):
        raise UnitError("has no unit", text, f"did you mean `{likely_quantity(text, guess)}`? {hint}")
    else:
        raise UnitError(f"is not a {what}", text, hint)
    if exact < 0 or (not exact and least):
        raise UnitError(f"is not a {what} above zero", text, f"say more than 0 {base}")
    if exact.denominator != 1:
        raise UnitError(f"is not a whole number of {base}", text, f"{float(exact):.10g} {base} has a fraction")
    if exact > largest:
        raise UnitError(f"is too large a {what}", text, f"at most {_largest(largest, base)}")
    return int(exact)


def _require_short(text: str, what: str) -> None:
    """A longer text is not looked at."""
    if len(text) > lengths.QUANTITY:
        raise UnitError(f"is not a {what}", text, f"say it in at most {lengths.QUANTITY} characters")


def likely_quantity(number: object, unit: str) -> str:
    """A number without a unit as it was likely meant: in `unit`, or where it is too great for that in the smallest one."""
    most, smallest = _MOST_LIKELY.get(unit, (0, ""))
    try:
        too_great = bool(smallest) and abs(float(str(number))) > most
    except ValueError:
        too_great = False
    return f"{number} {smallest if too_great else unit}"


def _largest(largest: int, base: str) -> str:
    return format_latency(largest) if base == "us" else _format(largest, base)


def _quantity(text: str, what: str, units: Mapping[str, Fraction], guess: str, hint: str) -> Fraction:
    _require_short(text, what)
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        comma = re.fullmatch(r"([0-9]+),([0-9]+)(.*)", text.strip(), re.DOTALL)
        hint = f"the decimal sign is a point: `{comma[1]}.{comma[2]}{comma[3]}`" if comma else hint
        raise UnitError(f"is not a {what}", text, hint)
    number, unit = match["sign"] + match["number"], match["unit"]
    if unit is None:
        raise UnitError("has no unit", text, f"did you mean `{likely_quantity(number, guess)}`? {hint}")
    factor = units.get(unit.strip())
    if factor is None:
        near = _nearest(unit.strip(), units)
        raise UnitError(f"is not a {what}", text, f"did you mean `{number} {near}`? {hint}" if near else hint)
    return Fraction(number) * factor


def _nearest(unit: str, units: Iterable[str]) -> str | None:
    """The known unit meant by a word in another case or with spaces: `Mbyte / S`, but never `mb` or `m`."""
    squeezed = "".join(unit.split()).lower()
    if not re.search("bit|byte|sec|min|hour|day", squeezed):
        return None
    return next((one for one in units if one.lower() == squeezed), None)


def _iso_microseconds(text: str) -> Fraction:
    match = _ISO_DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        calendar = re.match(r"P[0-9.]+[YM]", text)
        hint = "months and years have no fixed length: say days, `P30D`" if calendar else _TIME_HINT
        raise UnitError("is not a duration", text, hint)
    counts = {unit: Fraction(count) for unit, count in match.groupdict().items() if count}
    factors = {"w": _TIMES["w"], "d": _TIMES["d"], "h": _TIMES["h"], "m": _TIMES["min"], "s": _TIMES["s"]}
    return sum((counts[unit] * factors[unit] for unit in counts), Fraction(0))


def _plain_microseconds(text: str) -> Fraction:
    if re.fullmatch(r"[0-9.]{1,40}", text):
        raise UnitError("has no unit", text, f"did you mean `{likely_quantity(text, 'min')}`? {_TIME_HINT}")
    position, total = 0, Fraction(0)
    while position < len(text) or position == 0:
        match = _TIME_PART.match(text, position)
        if match is None or match[2] not in _TIMES:
            raise UnitError("is not a duration", text, _TIME_HINT)
        total += Fraction(match[1]) * _TIMES[match[2]]
        position = match.end()
    return total


def _format(value: int, base: str, decimals: int = 3) -> str:
    scales = tuple((prefix + base, factor) for prefix, factor in reversed(_DECIMAL.items()))
    return _format_scaled(value, scales, decimals)


def _format_scaled(value: int, scales: tuple[tuple[str, int], ...], decimals: int = 3) -> str:
    sign, value = ("-", -value) if value < 0 else ("", value)
    for unit, factor in scales:
        if value >= factor and value * 10**decimals % factor == 0:
            return f"{sign}{_decimal(value, factor)} {unit}"
    return f"{sign}{value} {scales[-1][0]}"


def _decimal(value: int, factor: int) -> str:
    """`value / factor` in decimal notation, exactly; the factor is a power of ten."""
    whole, rest = divmod(value, factor)
    digits = f"{rest:0{len(str(factor)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
