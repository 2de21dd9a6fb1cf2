"""The commands that a NETCONF transport understands: `get-config` of `running` and `get`, both with a subtree filter
(RFC 6241 §6, §7), and requests of a vendor's own that only read.
"""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.platforms.model import Unreadable
from slotcar.platforms.netconf.tree import Node, parse

#: A readback command is this, then the filter on one line.
MARKER = "get-config running "
#: What asks for state: this, then the filter on one line; or this, then the name of a request without arguments.
STATE, REQUEST = "get ", "rpc "
#: How the answer begins where the peer refused to tell its state, as a router's command line would say it.
REFUSED = "% "


def get_config(wanted: Node) -> str:
    """The readback command that asks for the parts that `wanted` names."""
    return MARKER + _on_one_line(wanted)


def get_state(wanted: Node) -> str:
    """The command that asks for the state that `wanted` names."""
    return STATE + _on_one_line(wanted)


def request(name: str) -> str:
    """The command that sends a vendor's own request, which only reads: its name begins with `get-`.

    >>> request("get-firewall-information")
    'rpc get-firewall-information'
    """
    return REQUEST + name


def _on_one_line(wanted: Node) -> str:
    return "".join(line.strip() for line in wanted.lines())


def reply_in(outputs: Mapping[str, str]) -> str:
    """The reply among a device's answers; empty where it gave none. A revision that an older Slotcar archived asks in
    another way, and is read all the same."""
    return next((reply for command, reply in outputs.items() if command.startswith(MARKER)), "")


def state_in(outputs: Mapping[str, str], command: str, device: str) -> Node:
    """What a peer told of its state.

    Raises:
        Unreadable: it was not asked, refused, or gave no XML.
    """
    if command not in outputs:
        raise Unreadable(f"{device}: no answer to `{command.split('<')[0].strip()}`")
    if outputs[command].startswith(REFUSED):
        raise Unreadable(f"{device}: it does not tell its counters: {outputs[command].removeprefix(REFUSED)}")
    return parse(outputs[command], device)
