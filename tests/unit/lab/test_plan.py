"""A plan says exactly what the agent will do."""

from __future__ import annotations

import json
from ipaddress import IPv4Interface
from pathlib import Path

from slotcar_lab import plan
from slotcar_lab.topology import End, Kind, Link, Node, Topology, garnet

PLAIN = garnet((0, 0, 0))


def built(topology: Topology, inside: str = "") -> dict[str, object]:
    return plan.build_plan(
        topology,
        ports=dict.fromkeys(topology.routers, 2200),
        control_port=2300,
        token="t",
        sshd_dir=Path("/state/sshd"),
        inside=inside,
        own_kernel=bool(inside),
    )


def test_unshaped_links_are_plain_veth_pairs() -> None:
    batch = plan.root_batch(PLAIN)
    assert "netns add slotcar-wire" not in batch
    assert (
        "link add name eth1 netns slotcar-anl-edge txqueuelen 1000 type veth "
        "peer name eth1 netns slotcar-anl-border txqueuelen 1000\n"
    ) in batch


def test_a_shaped_link_passes_a_bridge_with_netem_each_way() -> None:
    script = plan.script(garnet(), plan.WIRE)
    assert "tc qdisc add dev w1p0 root netem limit 500 rate 60000000bit" in script
    assert "tc qdisc add dev w1p1 root netem limit 500 rate 60000000bit" in script


def test_netem_can_hold_what_is_in_flight_besides_the_queue() -> None:
    ends = tuple(End(node=n, interface="eth1", address=IPv4Interface(f"10.0.0.{i}/24")) for i, n in enumerate("ab", 1))
    nodes = tuple(Node(name=name, kind=Kind.ROUTER) for name in "ab")
    slow = Topology(nodes=nodes, links=(Link(ends=ends, rate_bps=80_000_000, delay_us=50_000, queue_packets=100),))
    # 80 Mb/s for 50 ms is 500 kB: a thousand packets of 500 bytes.
    assert "netem limit 1100 delay 50000us rate 80000000bit" in plan.script(slow, plan.WIRE)


def test_no_interface_carries_several_packets_as_one() -> None:
    for name in plan.namespaces(garnet()):
        script = plan.script(garnet(), name)
        set_options = [line for line in script.splitlines() if line.startswith("ethtool")]
        assert set_options
        for kind in ("tso", "gso", "gro", "tx-udp-segmentation"):
            assert all(f" {kind} off" in line for line in set_options)


def test_a_lan_of_three_is_a_bridge_without_netem() -> None:
    ends = tuple(
        End(node=name, interface="eth1", address=IPv4Interface(f"10.0.0.{i}/24")) for i, name in enumerate("abc", 1)
    )
    lan = Topology(nodes=tuple(Node(name=name, kind=Kind.HOST) for name in "abc"), links=(Link(ends=ends),))
    assert "netem" not in plan.script(lan, plan.WIRE)
    assert plan.root_batch(lan).count("type veth") == 3


def test_only_routers_forward_and_have_an_account() -> None:
    assert "ip_forward" in plan.script(PLAIN, "anl-edge")
    assert "ip_forward" not in plan.script(PLAIN, "anl-premium")
    spaces = built(PLAIN)["namespaces"]
    assert isinstance(spaces, dict)
    assert "slotcar:x:0:0:" in spaces["anl-edge"]["etc"]["passwd"]
    assert spaces["anl-premium"]["etc"] == {}


def test_paths_are_those_of_where_the_agent_runs() -> None:
    document = built(PLAIN, inside="/run/host")
    assert "/run/host/state/sshd/anl-edge.sshd_config" in json.dumps(document)
    assert document["listen"] == ""
    assert built(PLAIN)["listen"] == "127.0.0.1"
