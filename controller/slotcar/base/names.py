"""Names of reservations and of their owners, as whoever writes one may."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import StringConstraints

from slotcar.base import lengths

Name = Annotated[str, StringConstraints(max_length=lengths.NAME, pattern=r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$")]
OWNER = re.compile(r"[A-Za-z0-9]([A-Za-z0-9@._-]{0,126}[A-Za-z0-9])?")
Owner = Annotated[str, StringConstraints(max_length=lengths.OWNER, pattern=f"^{OWNER.pattern}$")]


def is_owner(text: str) -> bool:
    return len(text) <= lengths.OWNER and OWNER.fullmatch(text) is not None
