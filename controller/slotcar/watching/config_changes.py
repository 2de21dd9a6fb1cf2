"""What a notification of a NETCONF server means (RFC 5277): whether it tells of a change of the running configuration."""

from __future__ import annotations

from typing import Any

from slotcar.base.problems import printable

#: RFC 6470.
NAMESPACE = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"
#: What becomes of a confirmed commit (RFC 6470 §2.2) that changes the configuration back.
_TAKEN_BACK = frozenset({"cancel", "timeout"})
_LONGEST = 120


def change_in(notification: Any) -> str | None:
    """The change in words; None where nothing of `running` changed.

    Args:
        notification: the element `notification` of RFC 5277 §4.
    """
    for event in notification:
        if event.tag == f"{{{NAMESPACE}}}netconf-config-change":
            return _config_change(event)
        if event.tag == f"{{{NAMESPACE}}}netconf-confirmed-commit":
            what = _text(event, "confirm-event")
            return f"a confirmed commit ended: {what}" if what in _TAKEN_BACK else None
    return None


def _config_change(event: Any) -> str | None:
    """Without a `datastore`, it is `running` (RFC 6470 §2.2)."""
    if _text(event, "datastore") not in ("", "running"):
        return None
    who = _text(event, "changed-by", "username")
    target = _text(event, "edit", "target")
    words = f"the configuration changed{f', {target}' if target else ''}{f', by {who}' if who else ''}"
    return printable(words)[:_LONGEST]


def _text(event: Any, *path: str) -> str:
    element = event.find("/".join(f"{{{NAMESPACE}}}{name}" for name in path))
    return "" if element is None else (element.text or "").strip()
