"""A small network for tests: hosts `src` and `dst` at the ends of a line of routers `r1` … `rN`, one domain each way.

src -- r1 -- r2 -- … -- rN -- dst. `r1` is in domain `alpha`, the last router in `omega`, those between in `transit`.
"""

from __future__ import annotations

import itertools
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from slotcar.base.vocabulary import InterfaceRole, Service
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network, Sls

SHARES_PPM = {Service.IP_PREMIUM: 450_000, Service.ASSURED_RATE: 300_000, Service.QBSS: 10_000}


def line_network(
    routers: int = 3,
    capacity_bps: int = 100_000_000,
    platform: str = "linux-tc",
    sls_bps: int = 40_000_000,
) -> Network:
    """Left interfaces are `eth1`, right ones `eth2`; an SLS binds each crossing of domains, both ways."""
    names = [f"r{number}" for number in range(1, routers + 1)]
    domain = dict.fromkeys(names, "transit") | {names[0]: "alpha"} | ({names[-1]: "omega"} if routers > 1 else {})
    devices = {
        name: Device(
            name=name,
            domain=domain[name],
            platform=platform,
            interfaces={
                "eth1": _interface(names, domain, index, left=True, capacity_bps=capacity_bps),
                "eth2": _interface(names, domain, index, left=False, capacity_bps=capacity_bps),
            },
        )
        for index, name in enumerate(names)
    }
    sls: dict[str, Sls] = {}
    for left, right in itertools.pairwise(names):
        if domain[left] == domain[right]:
            continue
        for service in (Service.IP_PREMIUM, Service.ASSURED_RATE):
            for up, down, port in ((left, right, "eth1"), (right, left, "eth2")):
                name = f"{domain[up]}-{domain[down]}-{service.value}"
                sls[name] = Sls(
                    name=name,
                    upstream=domain[up],
                    downstream=domain[down],
                    service=service,
                    rate_bps=sls_bps,
                    burst_bytes=200_000,
                    ingress=InterfaceId(device=down, name=port),
                )
    hosts = {
        "src": Host(
            name="src",
            domain=domain[names[0]],
            address=IPv4Address("10.0.0.2"),
            attached_to=InterfaceId(device=names[0], name="eth1"),
        ),
        "dst": Host(
            name="dst",
            domain=domain[names[-1]],
            address=IPv4Address(f"10.0.{routers}.2"),
            attached_to=InterfaceId(device=names[-1], name="eth2"),
        ),
    }
    return Network(
        domains={name: Domain(name=name) for name in sorted(set(domain.values()))},
        devices=devices,
        hosts=hosts,
        sls=sls,
        source="tests",
    )


def _interface(names: list[str], domain: dict[str, str], index: int, *, left: bool, capacity_bps: int) -> Interface:
    own = names[index]
    other_index = index - 1 if left else index + 1
    other = names[other_index] if 0 <= other_index < len(names) else None
    subnet = index if left else index + 1
    if other is None:
        role = InterfaceRole.EDGE
    elif domain[other] != domain[own]:
        role = InterfaceRole.INTER_DOMAIN
    else:
        role = InterfaceRole.CORE
    return Interface(
        id=InterfaceId(device=own, name="eth1" if left else "eth2"),
        role=role,
        capacity_bps=capacity_bps,
        shares_ppm=SHARES_PPM,
        address=IPv4Interface(f"10.0.{subnet}.{254 if left else 1}/24"),
        prefixes=(IPv4Network(f"10.0.{subnet}.0/24"),) if other is None else (),
        neighbour=InterfaceId(device=other, name="eth2" if left else "eth1") if other else None,
    )


def with_end_system(network: Network, name: str) -> Network:
    """The network with six cores, and with reading 400 MB/s of `vdb`, of one of its hosts to be reserved."""
    resources = {"cpu": {"": 6000}, "storage": {"vdb:read": 400_000_000}}
    host = Device(
        name=name, domain=network.hosts[name].domain, platform="linux-host", interfaces={}, resources=resources
    )
    return network.model_copy(update={"devices": {**network.devices, name: host}})
