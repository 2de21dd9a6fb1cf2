"""Which connection a device's changes are reported over, by what its platform names (`Facts.watch`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar.base.registry import Watch, facts_of
from slotcar.network.model import Device
from slotcar.watching.linux import LinuxSource, ssh_command
from slotcar.watching.model import ChangeSource, Unwatched
from slotcar.watching.netconf import NetconfSource

BY_SYSLOG = "it tells by syslog only, and SLOTCAR_SYSLOG_LISTEN names no port"
BY_NOTHING = "nothing on it tells of changes: they show when it is read, every SLOTCAR_CHECK_INTERVAL"


def source_of(device: Device, variables: Mapping[str, Any]) -> ChangeSource:
    """The connection, not made yet.

    Args:
        variables: how the device is reached.

    Raises:
        Unwatched: there is none of its own, or not the way that it is reached. Unreachable: no user is named.
    """
    match facts_of(device.platform).watch:
        case Watch.TC_MONITOR:
            return LinuxSource(ssh_command(variables), device.interfaces)
        case Watch.NETCONF:
            return NetconfSource(device.name, variables)
        case Watch.SYSLOG:
            raise Unwatched(BY_SYSLOG)
        case None:
            raise Unwatched(BY_NOTHING)
