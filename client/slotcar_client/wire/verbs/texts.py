"""Fields that several verbs have, with what a request may say in them."""

from __future__ import annotations

from typing import Annotated

from slotcar_client.wire import LINE_PATTERN
from slotcar_client.wire.documents import Keyword, Time
from slotcar_client.wire.verbs.verb import Named, Place

LINE = Keyword("pattern", LINE_PATTERN)
#: What a rate, a size or another number with its unit has at least.
QUANTITY_PATTERN = r"[0-9]"
DURATION_PATTERN = r"^\s*(P[0-9WDTHMS.]+|[0-9][0-9.\sA-Za-zµμ]*)\s*$"
TIME_PATTERN = r"^\s*([Nn][Oo][Ww]\s*(\+[\s\S]*)?|[0-9][^\n]*)\s*$"
LONGEST_QUANTITY = Keyword("maxLength", 100)
#: No number of an event, nor of an entry, is beyond it.
MOST = Keyword("maximum", 2**62)

Handle = Annotated[
    str, Keyword("maxLength", 200), Keyword("examples", ("r-7q2m5k3c9d4e8f1a",)), "what `create` answered with"
]
HoldFor = Annotated[
    str | None, Place.QUERY, LONGEST_QUANTITY, "only hold it, for so long (`PT15M`); commit it or lose it"
]
Version = Annotated[int | None, Place.VERSION]
Device = Annotated[str, Keyword("maxLength", 320), Keyword("examples", ("anl-7507-1",)), "a device of the inventory"]
Line = Annotated[str, Keyword("maxLength", 320), LINE]
Reason = Annotated[str, Keyword("maxLength", 500), LINE, "one line, for the audit log"]
Owner = Annotated[str | None, Keyword("maxLength", 128), LINE, "only this owner's"]
Name = Annotated[str | None, Keyword("maxLength", 63), LINE, "only of this name"]
Label = Annotated[str | None, Keyword("maxLength", 320), Keyword("minLength", 1), LINE, "`KEY` or `KEY=VALUE`"]
EndsAfter = Annotated[Time | None, Named("from"), "only those that end after it"]
BeginsBefore = Annotated[Time | None, "only those that begin before it"]
Newest = Annotated[bool, "the latest first"]
After = Annotated[int, Keyword("minimum", 0), MOST, "`next` of the page before"]
#: How many of a page.
UpTo1000 = Annotated[int, Keyword("minimum", 1), Keyword("maximum", 1000)]
