"""Which transport serves a device, by its variables. A family's libraries are loaded where a device of it is met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from slotcar.base.registry import FOLDERS, TransportKind, facts_of
from slotcar.managers import Place
from slotcar.rollout.call_outs import CallOutTransport, with_call_outs
from slotcar.rollout.fanout.login import Login, reached_by
from slotcar.rollout.fanout.running import Job
from slotcar.rollout.ios.eem import EEM
from slotcar.rollout.transport import DeviceError, Order, Transport

#: The devices that are served together, from one process, by how they are reached.
SERVED = frozenset({TransportKind.IOS, TransportKind.NETCONF, TransportKind.CALL_OUTS})

#: Variables that a play gives each host beside its own, and that name every host: to copy them for each would take the
#: square of the hosts.
_OF_THE_PLAY = frozenset(
    {"ansible_play_batch", "ansible_play_hosts", "ansible_play_hosts_all", "groups", "hostvars", "play_hosts"}
)

Connect = Callable[[], Transport]


def serves(variables: Mapping[str, Any]) -> bool:
    """Whether a device of these variables is served here."""
    return _kind(variables) in SERVED


def job_of(name: str, variables: Mapping[str, Any], order: Order) -> Job:
    """
    Raises:
        DeviceError: the variables do not say how the device is reached. ValueError: a number of Ansible's is none.
    """
    families = {TransportKind.NETCONF: _netconf, TransportKind.CALL_OUTS: _call_outs}
    family = families.get(_kind(variables) or TransportKind.IOS, _ios)
    return Job(name, order, family(name, variables))


def _call_outs(name: str, variables: Mapping[str, Any]) -> Connect:
    own = {key: variables[key] for key in variables if key not in _OF_THE_PLAY}
    return partial(CallOutTransport, Place(name, own))


def _kind(variables: Mapping[str, Any]) -> TransportKind | None:
    platform = str(variables.get("slotcar_platform"))
    if platform in FOLDERS:
        return facts_of(platform).transport
    return TransportKind.CALL_OUTS if with_call_outs(variables) else None


def _ios(name: str, variables: Mapping[str, Any]) -> Connect:
    login, reached = Login.from_variables(name, variables), reached_by(name, variables)
    acts = _acts(variables)
    if reached.slotcar_transport == "ssh":
        from slotcar.rollout.ios.ssh import SshTransport

        return partial(SshTransport, name, login, reached.slotcar_flash, acts=acts)
    if acts:
        raise DeviceError(f"{name}: slotcar_options says that it has {EEM}, which takes slotcar_transport: ssh")
    from slotcar.rollout.ios.napalm import NapalmTransport

    return partial(NapalmTransport, name, login, reached.slotcar_flash)


def _acts(variables: Mapping[str, Any]) -> bool:
    """Whether the inventory says that a router can act by itself."""
    options = variables.get("slotcar_options") or {}
    return isinstance(options, Mapping) and options.get(EEM) is True


def _netconf(name: str, variables: Mapping[str, Any]) -> Connect:
    from slotcar.rollout.netconf.login import netconf_login
    from slotcar.rollout.netconf.transport import NetconfTransport

    if _acts(variables):
        raise DeviceError(f"{name}: slotcar_options says that it has {EEM}, which takes a router's command line")
    login = netconf_login(name, variables)
    return partial(NetconfTransport, name, login, reached_by(name, variables).slotcar_confirm_s)
