"""How a NETCONF peer is reached: as any router, but at a port of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slotcar.rollout.fanout.login import Login, reached_by
from slotcar.rollout.transport import DeviceError

#: NETCONF over SSH (RFC 6242 §4).
PORT = 830


class NetconfError(DeviceError):
    """A peer did not do what it was told; the message says what, and never holds a secret."""


def netconf_login(name: str, variables: Mapping[str, Any]) -> Login:
    """From a host's variables. `slotcar_netconf_port` is for a router whose `ansible_port` is that of its command line.

    Raises:
        Unreachable: no user is named. DeviceError: see `reached_by`.
    """
    keys = ("ansible_port", "ansible_ssh_port")
    port = reached_by(name, variables).slotcar_netconf_port or next(
        (variables[key] for key in keys if variables.get(key) not in (None, "")), PORT
    )
    return replace(Login.from_variables(name, variables), port=int(port))
