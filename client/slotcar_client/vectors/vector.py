"""A1's QoS vector: what an application wants of a connection, with the reference's fields (Mapp and Hodges, QoS-Based
Transport, §2).

The reference gives no units. Here sizes and bursts are bytes, rates are bytes per second, and times are microseconds, as 32
bits then reach to 34 Gbit/s and to an hour. A text may say its unit: `4 Mbit/s`, `64 kB`, `20 ms`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Flag
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from slotcar_client.wire.errors import SlotcarError

#: A datagram's payload and a record of a stream have a length of 16 bits here; A1 was tried with 16 kB.
LARGEST_MESSAGE_BYTES = 65_000
#: The reference's struct names sizes of messages so; its text calls the same two fields otherwise.
_OTHER_NAMES = {"max_alloc_r": "max_data_r", "max_alloc_t": "max_data_t"}


class Option(Flag):
    """`coptions`: bits of the connection's properties, from the lowest on in the reference's order."""

    DATA_CHECK = 1
    RETRAN = 2
    MBP = 4
    RJ = 8
    FASTCLOSE = 16
    UNI = 32


NOTHING = Option(0)


class InvalidVector(SlotcarError):
    """Attributes:
    mistakes: every wrong field, as a sentence that begins with its name.
    """

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class Vector:
    """What a connection is to have at most. In and out are seen from the side that says it.

    Attributes:
        sort: 0 to 255; the greater, the more urgent beside other connections of the same host.
        coptions: its properties.
        max_alloc: messages that may be pending each way, 1 to 65535.
        max_data_r, max_data_t: the longest message that comes, that goes; bytes, 0 for none that way.
        max_data_inrate, max_data_outrate: bytes of messages per second; 0 asks for no rate that way.
        max_data_inburst, max_data_outburst: bytes that may come, go, at once; 0 leaves it to the network.
        max_latency, max_jitter: one way, microseconds; 0 asks for no bound.
    """

    sort: int = 0
    coptions: Option = NOTHING
    max_alloc: int = 1
    max_data_r: int = 0
    max_data_t: int = 0
    max_data_inrate: int = 0
    max_data_inburst: int = 0
    max_data_outrate: int = 0
    max_data_outburst: int = 0
    max_latency: int = 0
    max_jitter: int = 0

    def __post_init__(self) -> None:
        mistakes = [*_out_of_range(self), *_contradictions(self)]
        if mistakes:
            raise InvalidVector(mistakes)

    @classmethod
    def from_mapping(cls, document: Mapping[str, Any]) -> Self:
        """Of fields as JSON or YAML has them; `coptions` is a number or a list of names.

        Raises:
            InvalidVector: of every mistake.
        """
        names = [one.name for one in fields(cls)]
        values: dict[str, Any] = {}
        mistakes = []
        for name, value in document.items():
            if name not in names:
                mistakes.append(f"{name}: {_no_field(name, names)}")
                continue
            try:
                values[name] = _options(value) if name == "coptions" else _number(name, value)
            except ValueError as error:
                mistakes.append(f"{name}: {error}")
        try:
            vector = cls(**values)
        except InvalidVector as error:
            raise InvalidVector(mistakes + error.mistakes) from None
        if mistakes:
            raise InvalidVector(mistakes)
        return vector

    def document(self) -> dict[str, Any]:
        """As JSON has it; `from_mapping` reads it back."""
        return {**asdict(self), "coptions": [one.name for one in self.coptions]}


def read(path: Path) -> Vector:
    """Of a file: JSON, or YAML where `slotcar-client[yaml]` is installed.

    Raises:
        InvalidVector: it is none. OSError: it cannot be read.
    """
    text = path.read_text(encoding="utf-8")
    try:
        document = json.loads(text) if path.suffix == ".json" else _yaml(text)
    except (ValueError, RecursionError) as error:
        raise InvalidVector([f"{path} is not JSON: {error}"]) from None
    if not isinstance(document, dict):
        raise InvalidVector([f"{path} has no fields: it is to be a mapping, such as {{max_data_t: 1400}}"])
    return Vector.from_mapping({str(name): value for name, value in document.items()})


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise InvalidVector(
            ["reading YAML needs PyYAML: install slotcar-client[yaml], or write the vector as .json"]
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidVector([f"it is not YAML: {' '.join(str(error).split())}"]) from None


def _no_field(name: str, names: list[str]) -> str:
    if name in _OTHER_NAMES:
        return f"the struct of the reference calls it {_OTHER_NAMES[name]}; say that"
    return f"a vector has no such field; they are {', '.join(names)}"


def _options(value: Any) -> Option:
    known = ", ".join(name for name in Option.__members__)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < 64:
            raise ValueError(f"the bits are those of {known}, 0 to 63 together (got {value})")
        return Option(value)
    if not isinstance(value, list):
        raise ValueError(f"is a list of {known}, or a number (got {value!r})")
    chosen = Option(0)
    for name in value:
        if name not in Option.__members__:
            raise ValueError(f"there is no option {name!r}; they are {known}")
        chosen |= Option[name]
    return chosen


_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_RATES = {f"{unit}/s": factor for unit, factor in _SIZES.items()} | {
    f"{unit}bit/s": Fraction(factor, 8) for unit, factor in {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}.items()
}
_TIMES = {"us": 1, "ms": 10**3, "s": 10**6}
_UNITS: dict[str, Mapping[str, int | Fraction]] = {
    **dict.fromkeys(("max_data_r", "max_data_t", "max_data_inburst", "max_data_outburst"), _SIZES),
    **dict.fromkeys(("max_data_inrate", "max_data_outrate"), _RATES),
    **dict.fromkeys(("max_latency", "max_jitter"), _TIMES),
}
_WITH_UNIT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?([A-Za-z/]{1,8})")


def _number(name: str, value: Any) -> int:
    """The field's value in its own unit; a fraction of it is rounded up."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    units = _UNITS.get(name, {})
    match = _WITH_UNIT.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in units:
        example = f", or a text with one of the units {', '.join(units)}" if units else ""
        raise ValueError(f"is a whole number{example} (got {str(value)[:40]!r})")
    exact = Fraction(match[1]) * units[match[2]]
    return -int(-exact // 1)


def _out_of_range(vector: Vector) -> list[str]:
    bounds = {"sort": (0, 255), "max_alloc": (1, 65_535)}
    bounds |= dict.fromkeys(("max_data_r", "max_data_t"), (0, LARGEST_MESSAGE_BYTES))
    mistakes = []
    for one in fields(vector):
        if one.name == "coptions":
            continue
        least, most = bounds.get(one.name, (0, 2**32 - 1))
        value = getattr(vector, one.name)
        if not least <= value <= most:
            mistakes.append(f"{one.name}: is {least} to {most} (got {value})")
    return mistakes


def _contradictions(vector: Vector) -> list[str]:
    mistakes = []
    if not vector.max_data_r and not vector.max_data_t:
        mistakes.append("max_data_t: it and max_data_r are 0, so that nothing could be sent either way")
    if Option.UNI in vector.coptions and vector.max_data_r and vector.max_data_t:
        mistakes.append("coptions: UNI is data one way, and both max_data_r and max_data_t are above 0")
    for size, rate, burst in (
        ("max_data_r", "max_data_inrate", "max_data_inburst"), ("max_data_t", "max_data_outrate", "max_data_outburst")
    ):  # fmt: skip
        size_bytes, rate_ps, burst_bytes = (getattr(vector, name) for name in (size, rate, burst))
        if rate_ps and not size_bytes:
            mistakes.append(f"{rate}: there are no messages that way, as {size} is 0")
        if burst_bytes and not rate_ps:
            mistakes.append(f"{burst}: a burst goes with a rate, and {rate} is 0")
        if burst_bytes and burst_bytes < size_bytes:
            mistakes.append(f"{burst}: is smaller than a single message, {size} is {size_bytes}")
    if (vector.max_latency or vector.max_jitter) and not vector.max_data_inrate and not vector.max_data_outrate:
        mistakes.append("max_latency: a time is promised to a rate only; say max_data_outrate or max_data_inrate")
    return mistakes
