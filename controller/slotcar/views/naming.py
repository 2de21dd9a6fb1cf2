"""Which reservation somebody may mean who names one that is not there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from slotcar.base.model_errors import listed

#: More suggestions than these are a list to search, not a hint.
SUGGESTED = 3
SHOWN = 6
#: Letters from which on the beginning of a handle or a name counts as near.
BEGINNING = 3


class Named(NamedTuple):
    """A reservation by the words that somebody may say for it."""

    owner: str
    name: str
    handle: str

    @property
    def key(self) -> str:
        return f"{self.owner}/{self.name}"


def near_reservations(which: str, known: Sequence[Named]) -> str:
    """`did you mean hep/cms (5f3c…)?`, or which there are; `which` is a handle, `OWNER/NAME`, or a name alone."""
    meant: dict[str, Named] = {}
    for one in known:
        for word in (one.key, one.name, one.handle):
            meant.setdefault(word.lower(), one)
    beginning = which.lower()
    begun = sorted(word for word in meant if len(beginning) >= BEGINNING and word.startswith(beginning))
    close = [meant[word] for word in [*begun, *get_close_matches(beginning, meant, n=2 * SUGGESTED, cutoff=0.6)]]
    if close:
        names = list(dict.fromkeys(f"{one.key} ({one.handle})" for one in close))[:SUGGESTED]
        return f"did you mean {' or '.join(names)}?"
    if not known:
        return "there is none yet"
    return f"there is {listed([one.key for one in known], SHOWN)}"
