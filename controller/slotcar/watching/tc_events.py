"""What a line of `tc monitor` means: whether it tells of a change of what may be Slotcar's on a Linux router.

The words are iproute2's (`tc/tc_monitor.c`, and the printing functions of qdiscs, classes, filters and actions): an event
begins a line, and what belongs to it is indented.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from slotcar.platforms.linux_tc.objects import FIRST_PREFERENCE, LAST_PREFERENCE, ROOT

_EVENT = re.compile(
    r"^(?:(?P<verb>added|replaced|changed|deleted|Added|Replaced|Deleted) )?"
    r"(?P<kind>qdisc|class|filter|action)(?: |$)(?:.*?\bdev (?P<dev>\S+))?"
)
_PREFERENCE = re.compile(r" pref (\d+)(?: |$)")
_CLASS = re.compile(r"^(?:\w+ )?class \S+ (?P<handle>\S+?:)")


def change_in(line: str, interfaces: Collection[str]) -> str | None:
    """The change in words; None where the line is no event, or one of others' objects.

    Others' are the interfaces that the inventory does not have, filters outside of Slotcar's preferences, and classes of
    other trees. Every qdisc counts: whoever puts one in place of Slotcar's takes all below it away. A shared action has no
    interface, and may be a filter's of Slotcar's.
    """
    event = _EVENT.match(line)
    if event is None:
        return None
    kind, device, verb = event["kind"], event["dev"], (event["verb"] or "changed").lower()
    if kind == "action":
        return f"action {verb}"
    if device not in interfaces:
        return None
    if kind == "filter" and not _may_be_ours(line):
        return None
    if kind == "class" and (match := _CLASS.match(line)) and match["handle"] != ROOT:
        return None
    return f"{kind} {verb} on {device}"


def _may_be_ours(line: str) -> bool:
    """The kernel tells of all filters that are flushed at once without a preference, or with 0."""
    match = _PREFERENCE.search(line)
    preference = int(match[1]) if match else 0
    return preference == 0 or FIRST_PREFERENCE <= preference <= LAST_PREFERENCE
