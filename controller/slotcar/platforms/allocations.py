"""Allocations as canonical lines, and the change between two sets of them: of all places of resource managers.

A line is `KIND HANDLE PART=AMOUNT … KEY@VALUE …`; the part of a place without parts is written `-`. What would take a word
apart, such as white space or a newline out of an older ledger, or out of what a third party's manager reads, is written as
in an address: `%20`. So one reservation's words are never another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

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
    amounts = [f"{_word(part, '@') or WHOLE}={amount}" for part, amount in one.amounts]
    options = [f"{_word(key, '@')}@{_word(value)}" for key, value in one.options]
    return " ".join([_word(one.kind), _word(one.handle), *amounts, *options])


def _word(text: str, also: str = "") -> str:
    """A text as one word. `also`: characters that separate its parts."""
    if text == WHOLE and also:
        return quote(text, safe="").replace("-", "%2D")
    odd = {char for char in text if char in f"%{also}" or char.isspace() or not char.isprintable()}
    return "".join(
        quote(char, safe="", errors="surrogatepass").replace("@", "%40") if char in odd else char for char in text
    )


def allocation_of(line: str) -> Allocation:
    """
    Raises:
        Unreadable: the line is none of `line_of`.
    """
    kind, handle, *words = line.split() if line.count(" ") >= 2 else ("", "")
    try:
        pairs = [word.rpartition("=") for word in words if "@" not in word]
        amounts = {"" if part == WHOLE else unquote(part): int(amount) for part, _, amount in pairs}
        options = {
            unquote(key): unquote(value) for key, value in (word.split("@", 1) for word in words if "@" in word)
        }
    except ValueError as error:
        raise Unreadable(f"`{line}` is not an allocation") from error
    if not kind or not amounts:
        raise Unreadable(f"`{line}` is not an allocation")
    return Allocation.of(unquote(handle), unquote(kind), {str(part): one for part, one in amounts.items()}, options)


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
