"""The command that a NETCONF transport understands: `get-config` of `running` with a subtree filter (RFC 6241 §6, §7.1)."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.platforms.netconf.tree import Node

#: A readback command is this, then the filter on one line.
MARKER = "get-config running "


def get_config(wanted: Node) -> str:
    """The readback command that asks for the parts that `wanted` names."""
    return MARKER + "".join(line.strip() for line in wanted.lines())


def reply_in(outputs: Mapping[str, str]) -> str:
    """The reply among a device's answers; empty where it gave none. A revision that an older Slotcar archived asks in
    another way, and is read all the same."""
    return next((reply for command, reply in outputs.items() if command.startswith(MARKER)), "")
