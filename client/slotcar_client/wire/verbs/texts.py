"""Fields that several verbs have, with what a request may say in them."""

from __future__ import annotations

from typing import Annotated

from slotcar_client.wire import LINE_PATTERN
from slotcar_client.wire.documents import Keyword

Handle = Annotated[
    str, Keyword("maxLength", 200), Keyword("examples", ("r-7q2m5k3c9d4e8f1a",)), "what `create` answered with"
]
Device = Annotated[str, Keyword("maxLength", 320), Keyword("examples", ("anl-7507-1",)), "a device of the inventory"]
Reason = Annotated[str, Keyword("maxLength", 500), Keyword("pattern", LINE_PATTERN), "one line, for the audit log"]
Owner = Annotated[str | None, Keyword("maxLength", 128), Keyword("pattern", LINE_PATTERN), "only this owner's"]
