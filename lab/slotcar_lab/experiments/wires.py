"""The lab's topology out of an inventory: every link of it is a wire at the link's capacity. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Interface

from slotcar.network.model import Host, Interface, Network
from slotcar_lab.errors import LabError
from slotcar_lab.topology import End, Kind, Link, Node, Topology, port_base


def topology_of(network: Network) -> Topology:
    """Routers, hosts and wires as the inventory has them; a router's management port is the base's next, by name.

    A host whose cores or disks may be reserved is a device too, and no router.

    The wire between two routers has the line rate that they state as capacity. A host's wire has no rate of its own:
    it stands for a LAN that is faster than the bottleneck.

    Raises:
        LabError: an interface without an address, or two hosts on one interface.
    """
    routers = [
        Node(name=name, kind=Kind.ROUTER, domain=network.devices[name].domain, management_port=port)
        for port, name in enumerate(routers_of(network), start=port_base() + 1)
    ]
    hosts = [
        Node(name=host.name, kind=Kind.HOST, domain=host.domain)
        for host in sorted(network.hosts.values(), key=lambda one: one.name)
    ]
    return Topology(nodes=(*routers, *hosts), links=(*_between_routers(network), *_to_hosts(network)))


def routers_of(network: Network) -> list[str]:
    """The devices that forward packets, by name."""
    return sorted(name for name, device in network.devices.items() if device.interfaces)


def _between_routers(network: Network) -> Iterator[Link]:
    for device in (network.devices[name] for name in sorted(network.devices)):
        for interface in device.interfaces.values():
            if interface.neighbour is None or str(interface.id) > str(interface.neighbour):
                continue
            far = network.interface(interface.neighbour)
            yield Link(ends=(_end(interface), _end(far)), rate_bps=interface.capacity_bps)


def _to_hosts(network: Network) -> Iterator[Link]:
    taken: dict[str, str] = {}
    for host in sorted(network.hosts.values(), key=lambda one: one.name):
        where = str(host.attached_to)
        if where in taken:
            raise LabError(f"{taken[where]} and {host.name} are both behind {where}; give each an interface")
        taken[where] = host.name
        yield Link(ends=(_end(network.interface(host.attached_to)), _host_end(host, network)))


def _host_end(host: Host, network: Network) -> End:
    length = _address(network.interface(host.attached_to)).network.prefixlen
    return End(node=host.name, interface="eth1", address=IPv4Interface(f"{host.address}/{length}"))


def _end(interface: Interface) -> End:
    return End(
        node=interface.id.device,
        interface=interface.id.name,
        address=_address(interface),
        metric=interface.metric,
    )


def _address(interface: Interface) -> IPv4Interface:
    if interface.address is None:
        raise LabError(f"{interface.id} has no address in the inventory, and the lab must give it one")
    return interface.address
