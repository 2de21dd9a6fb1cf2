"""Allocations as canonical lines, and the change between two sets of them: of all places of resource managers.

A line is `KIND HANDLE PART=AMOUNT … KEY:VALUE …`; the part of a place without parts is written `-`. Words hold no white
space, `=` separates a part from its amount, and a key of an option comes before `@`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slotcar.managers import Allocation
from slotcar.platforms.model import Unreadable

#: Of a place without parts.
WHOLE = "-"
#: The first words of a change's lines.
ENABLE, DISABLE = "enable", "disable"


@dataclass(frozen=True, slots=True)
class Allocations:
    """The objects of a place: what reservations have of it."""

    of: tuple[Allocation, ...] = ()

    def lines(self) -> tuple[str, ...]:
        return tuple(map(line_of, sorted(self.of)))


def line_of(one: Allocation) -> str:
    amounts = [f"{part or WHOLE}={amount}" for part, amount in one.amounts]
    return " ".join([one.kind, one.handle, *amounts, *(f"{key}@{value}" for key, value in one.options)])


def allocation_of(line: str) -> Allocation:
    """
    Raises:
        Unreadable: the line is none of `line_of`.
    """
    kind, handle, *words = line.split() if line.count(" ") >= 2 else ("", "")
    try:
        pairs = [word.rpartition("=") for word in words if "@" not in word]
        amounts = {"" if part == WHOLE else part: int(amount) for part, _, amount in pairs}
        options = dict(word.split("@", 1) for word in words if "@" in word)
    except ValueError as error:
        raise Unreadable(f"`{line}` is not an allocation") from error
    if not kind or not amounts:
        raise Unreadable(f"`{line}` is not an allocation")
    return Allocation.of(handle, kind, {str(part): one for part, one in amounts.items()}, options)


def read_allocations(lines: Iterable[str]) -> Allocations:
    """
    Raises:
        Unreadable: see `allocation_of`.
    """
    return Allocations(tuple(sorted(map(allocation_of, lines))))


def change_lines(before: Allocations, after: Allocations) -> tuple[str, ...]:
    """The lines of a change: allocations that end come first, so that new ones have room."""
    old, new_ones = ({(one.kind, one.handle): one for one in some.of} for some in (before, after))
    removed = [line_of(one) for key, one in sorted(old.items()) if key not in new_ones]
    new = [line_of(one) for key, one in sorted(new_ones.items()) if old.get(key) != one]
    return (*(f"{DISABLE} {line}" for line in removed), *(f"{ENABLE} {line}" for line in new))


def split_change(lines: Sequence[str]) -> tuple[tuple[str, Allocation], ...]:
    """The verb and the allocation of each line of a change.

    Raises:
        Unreadable: see `allocation_of`.
    """
    return tuple((verb, allocation_of(rest)) for verb, _, rest in (line.partition(" ") for line in lines))
