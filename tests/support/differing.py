"""What a document lacks, or has otherwise, of what it had: it may have more."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

MISSING = "is not there any more"


def differences(then: Any, now: Any, place: str) -> Iterator[tuple[str, Any]]:
    """What a document had and has no more, or has otherwise: where, and what is there now; of texts, the lines."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key, value in then.items():
            yield from differences(value, now.get(key, MISSING), f"{place}.{key}")
    elif then == now:
        return
    elif isinstance(then, list) and isinstance(now, list) and all(isinstance(one, str) for one in (*then, *now)):
        yield place, [*unified_diff(then, now, lineterm="", n=0)][2:]
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    else:
        yield place, now
