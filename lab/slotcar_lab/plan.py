"""Turns a `Topology` into what the agent executes: `ip -batch` text, one shell script per namespace, files. Pure."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Any

from slotcar_lab.topology import Link, Topology

#: Every namespace that the lab makes in a kernel of its own begins so.
PREFIX = "slotcar-"
#: The namespace that holds the lab's wiring: bridges with a netem per direction. No router sees it.
WIRE = "wire"
ACCOUNT = "slotcar"
HOMES = PurePosixPath("/run/slotcar/homes")
#: Neighbours are learnt once. GARA's links were ATM's, without ARP (§5). Here its questions would be dropped with the best
#: effort that an experiment fills a link with: a second without a neighbour is a second in which all is lost.
REACHABLE_MS = 86_400_000


def prefix_for(state_dir: Path, *, own_kernel: bool) -> str:
    """How the names of a lab's namespaces begin; a lab removes no other.

    On a shared kernel each state directory has its own, so that two checkouts leave each other's routers alone.
    """
    if own_kernel:
        return PREFIX
    return f"{PREFIX}{hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:6]}-"


def namespaces(topology: Topology) -> tuple[str, ...]:
    """Names without prefix: every node, and the wiring where a link needs it."""
    names = tuple(node.name for node in topology.nodes)
    return (*names, WIRE) if any(link.bridged for link in topology.links) else names


def build_plan(
    topology: Topology,
    *,
    ports: dict[str, int],
    control_port: int,
    token: str,
    sshd_dir: Path,
    inside: str,
    own_kernel: bool,
    virtual_time: bool = False,
    prefix: str = PREFIX,
) -> dict[str, Any]:
    """Everything that the agent needs to know.

    Args:
        ports: management port of each router.
        sshd_dir: where the routers' sshd configurations are on this machine.
        inside: what goes before a path of this machine to reach it where the agent runs.
        own_kernel: the agent may set the clock and listens on every address, because the kernel is the lab's alone.
        virtual_time: the kernel's clock counts its instructions, and the agent holds it.
        prefix: how the names of the namespaces begin.
    """
    return {
        "prefix": prefix,
        "fingerprint": topology.fingerprint(),
        "token": token,
        "own_kernel": own_kernel,
        "virtual_time": virtual_time,
        "listen": "" if own_kernel else "127.0.0.1",
        "control_port": control_port,
        "environment": {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"},
        "root_batch": root_batch(topology, prefix),
        "namespaces": {
            name: {
                "script": script(topology, name),
                "etc": accounts(name, prefix) if name in topology.routers else {},
            }
            for name in namespaces(topology)
        },
        "routers": {
            name: {
                "namespace": prefix + name,
                "port": ports[name],
                "sshd_config": f"{inside}{sshd_dir / name}.sshd_config",
            }
            for name in topology.routers
        },
    }


def root_batch(topology: Topology, prefix: str = PREFIX) -> str:
    """`ip -batch` lines that make the namespaces and put every wire into them."""
    lines = [f"netns add {prefix}{name}" for name in namespaces(topology)]
    for index, link in enumerate(topology.links):
        if not link.bridged:
            near, far = link.ends
            lines.append(_veth(near.interface, prefix + near.node, far.interface, prefix + far.node))
            continue
        for number, end in enumerate(link.ends):
            lines.append(_veth(_port(index, number), prefix + WIRE, end.interface, prefix + end.node))
    return "".join(f"{line}\n" for line in lines)


def script(topology: Topology, name: str) -> str:
    """The shell script that finishes one namespace from the inside."""
    if name == WIRE:
        return _wire_script(topology)
    ends = topology.ends_of(name)
    router = name in topology.routers
    lines = [*_sysctls(router), "ip -batch - <<'END'", "link set lo up"]
    lines += [f"address add {end.address} dev {end.interface}" for end in ends]
    lines += [f"link set {end.interface} up" for end in ends]
    lines += [f"route add {route.destination} via {route.via}" for route in topology.routes(name)]
    lines.append("END")
    lines += [_no_offloads(end.interface) for end in ends]
    if not router:
        lines += [line for end in ends for line in _paced(end.interface)]
    return "".join(f"{line}\n" for line in lines)


def accounts(router: str, prefix: str = PREFIX) -> dict[str, str]:
    """A router's own /etc: one account, whose shell reads no start-up file, and no name service but files.

    A `.bashrc` that initialised a language manager added 100 ms to every ssh command (STACK-NOTES, push speed).
    """
    home = HOMES / f"{prefix}{router}"
    return {
        "passwd": "root:x:0:0:root:/root:/bin/sh\n"
        "sshd:x:74:65534:sshd:/run/sshd:/usr/sbin/nologin\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        f"{ACCOUNT}:x:0:0:Slotcar:{home}:/bin/sh\n",
        "shadow": f"root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n{ACCOUNT}:*:19000:0:99999:7:::\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    }


def _wire_script(topology: Topology) -> str:
    lines = []
    for index, link in enumerate(topology.links):
        if not link.bridged:
            continue
        lines.append(f"ip link add wire{index} type bridge stp_state 0 forward_delay 0 mcast_snooping 0")
        for number in range(len(link.ends)):
            port = _port(index, number)
            lines += [f"ip link set {port} master wire{index} up", _no_offloads(port), *_netem(link, port)]
        lines.append(f"ip link set wire{index} up")
    return "".join(f"{line}\n" for line in ["echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6", *lines])


def _netem(link: Link, port: str) -> list[str]:
    """Line rate and delay towards the end behind this port.

    netem holds what is on its way as well as what waits, so its limit is the queue plus the delay at line rate.
    """
    if not link.shaped:
        return []
    flight = link.rate_bps * link.delay_us // 1_000_000 // 8 // 500 if link.rate_bps else 100_000
    words = [f"tc qdisc add dev {port} root netem limit {link.queue_packets + flight}"]
    words += [f"delay {link.delay_us}us"] if link.delay_us else []
    words += [f"rate {link.rate_bps}bit"] if link.rate_bps else []
    return [" ".join(words)]


def _veth(near: str, near_space: str, far: str, far_space: str) -> str:
    return (
        f"link add name {near} netns {near_space} txqueuelen 1000 type veth "
        f"peer name {far} netns {far_space} txqueuelen 1000"
    )


def _port(link: int, end: int) -> str:
    return f"w{link}p{end}"


def _no_offloads(interface: str) -> str:
    # A policer or a queue that is handed 64 KB "packets" counts and drops them as one: off, as on a real wire. `gso off`
    # leaves UDP's segmentation on: eight datagrams that a sender hands over at once would cross all routers as one.
    return f"ethtool -K {interface} tso off gso off gro off tx-udp-segmentation off"


def _paced(interface: str) -> list[str]:
    """A host's queues: what a socket sends at priority 1 leaves at the pace that it asked for, all else at once.

    The kernel spaces packets evenly even when its sender is kept waiting; a program that makes up for lost time
    sends bursts, which a policer drops, and the loss would look like the network's. TCP stays unpaced.
    """
    return [
        f"tc qdisc add dev {interface} root handle 1: prio bands 2 priomap 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        f"tc qdisc add dev {interface} parent 1:1 fq limit 10000 flow_limit 1000 quantum 1514 initial_quantum 1514",
        f"tc qdisc add dev {interface} parent 1:2 pfifo limit 1000",
    ]


def _sysctls(router: bool) -> list[str]:
    ipv4 = "/proc/sys/net/ipv4"
    lines = [
        "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6",
        "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6",
    ]
    lines += [f"echo 0 >{ipv4}/conf/{scope}/rp_filter" for scope in ("all", "default")]
    # Each experiment starts from the same state: what one TCP connection learnt must not help the next.
    lines.append(f"echo 1 >{ipv4}/tcp_no_metrics_save")
    if router:
        lines.append(f"echo 1 >{ipv4}/ip_forward")
        lines.append(f"echo 0 >{ipv4}/conf/all/send_redirects")
    guarded = [f"[ ! -e {line.split('>')[1]} ] || {line}" for line in lines]
    times = f"{ipv4}/neigh/*/base_reachable_time_ms"
    return [*guarded, f"for file in {times}; do echo {REACHABLE_MS} >$file; done"]
