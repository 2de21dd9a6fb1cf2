"""From a form's texts to what a reservation file would say, and to an answer in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import iso
from slotcar.base.units import UnitError, format_rate
from slotcar.base.vocabulary import Profile
from slotcar.planning.enquiry import EnquiryAnswer
from slotcar.web.times import Clock

#: The form's fields, as a reservation file calls them, and what each begins with.
FIELDS = {
    "name": "", "owner": "", "source": "", "destination": "", "receivers": "", "protocol": "tcp", "profile": "",
    "service": "ip-premium", "assured_class": "",
    "direction": "forward",
    "rate": "10 Mbit/s", "volume": "", "by": "", "start": "now", "duration": "1 h", "end": "", "rtt": "", "labels": "",
}  # fmt: skip
_TIMES = ("start", "end", "by")


@dataclass(frozen=True, slots=True)
class Way:
    """One way of an enquiry's answer; `three_quarters` is a rate as the form takes it."""

    direction: str
    highest: str
    highest_bps: int
    limited_by: str
    three_quarters: str


def body_of(fields: Mapping[str, str], clock: Clock) -> dict[str, Any]:
    """What a reservation file would say: empty fields are left out, times are instants.

    Raises:
        InvalidInput: a time or a label is wrong.
    """
    body: dict[str, Any] = {key: value for key, value in fields.items() if value and key != "labels"}
    if "profile" in body:
        body.pop("service", None)  # the form always has one, and the profile's is meant
    if "volume" in body or body.get("profile") == Profile.TEST:
        for key in ("rate", "duration", "end"):
            body.pop(key, None)
    else:
        body.pop("by", None)
        if "end" in body:
            body.pop("duration", None)
    problems = []
    for key in _TIMES:
        if key in body:
            try:
                body[key] = iso(clock.parse(body[key]))
            except UnitError as error:
                problems.append(Problem("request", 0, key, error.message, error.value, error.hint))
    if problems:
        raise InvalidInput(problems)
    if labels := fields.get("labels"):
        body["labels"] = _labels(labels)
    return body


def _labels(text: str) -> dict[str, str]:
    """`run=7, group=cms`."""
    labels = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            hint = "say `KEY=VALUE`, several with commas between them"
            raise InvalidInput([Problem("request", 0, "labels", "is not a label", part, hint)])
        labels[key.strip()] = value.strip()
    return labels


def ways_of(answer: EnquiryAnswer) -> tuple[Way, ...]:
    return tuple(
        Way(
            one.direction.value, format_rate(one.rate_bps), one.rate_bps, str(one.limited_by) if one.limited_by else "",
            f"{one.rate_bps * 3 // 4} bit/s",
        )
        for one in answer.directions
    )  # fmt: skip


def address_with(fields: Mapping[str, str], rate: str) -> str:
    """The form with all that it says, and this rate."""
    return f"/request?{urlencode({**{key: value for key, value in fields.items() if value}, 'rate': rate})}"
