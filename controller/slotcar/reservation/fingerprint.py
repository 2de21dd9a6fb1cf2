"""What a repeated request must equal to be the same: one short text for whichever way it came in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping


def fingerprint_of(document: Mapping[str, object], hold: str | None = None) -> str:
    """The fingerprint of a request as it was written: two requests that both say `start: now` have the same."""
    text = json.dumps([dict(document), hold], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
