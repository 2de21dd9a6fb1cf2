"""Which reservation somebody may mean who names one that is not there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from slotcar.base.model_errors import listed
from slotcar.book.model import Entry

#: More suggestions than these are a list to search, not a hint.
SUGGESTED = 3
SHOWN = 6
#: Letters from which on the beginning of a handle or a name counts as near.
BEGINNING = 3


def near_reservations(which: str, entries: Sequence[Entry]) -> str:
    """`did you mean hep/cms (5f3c…)?`, or which there are; `which` is a handle, `OWNER/NAME`, or a name alone."""
    meant: dict[str, Entry] = {}
    for entry in entries:
        owner, name = entry.reservation.key
        for word in (f"{owner}/{name}", name, entry.handle):
            meant.setdefault(word.lower(), entry)
    beginning = which.lower()
    begun = sorted(word for word in meant if len(beginning) >= BEGINNING and word.startswith(beginning))
    close = [meant[word] for word in [*begun, *get_close_matches(beginning, meant, n=2 * SUGGESTED, cutoff=0.6)]]
    if close:
        names = list(dict.fromkeys(f"{'/'.join(one.reservation.key)} ({one.handle})" for one in close))[:SUGGESTED]
        return f"did you mean {' or '.join(names)}?"
    if not entries:
        return "there is none yet"
    return f"there is {listed(['/'.join(one.reservation.key) for one in entries], SHOWN)}"
