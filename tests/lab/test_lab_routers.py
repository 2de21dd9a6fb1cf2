"""The lab's routers answer, forward, and can be read."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.requirements import as_root, which
from slotcar_lab.snapshot import snapshot, snapshots
from slotcar_lab.traffic import start_udp
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]


def test_every_router_answers_ssh_with_the_labs_key(lab: Lab) -> None:
    ssh = which("ssh") or "ssh"
    for router in lab.topology.routers:
        done = subprocess.run(
            [ssh, "-F", str(lab.ssh_config_path), router, "cat /proc/sys/net/ipv4/ip_forward; ip -br address"],
            check=False, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("1\n")
        assert str(lab.topology.ends_of(router)[0].address) in done.stdout


def test_a_key_that_is_not_the_labs_is_refused(lab: Lab, tmp_path: Path) -> None:
    key = tmp_path / "stranger"
    subprocess.run([which("ssh-keygen") or "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    facts = lab.facts()["anl-edge"]
    argv = [
        which("ssh") or "ssh",
        "-F",
        "/dev/null",
        "-i",
        str(key),
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        "BatchMode=yes",
    ]
    argv += ["-o", f"UserKnownHostsFile={facts['known_hosts']}", "-o", "GlobalKnownHostsFile=/dev/null"]
    done = subprocess.run(
        [*argv, "-p", str(facts["ansible_port"]), f"{facts['ansible_user']}@{facts['ansible_host']}", "true"],
        check=False, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr


def test_the_inventory_reaches_the_routers(lab: Lab) -> None:
    ansible = ROOT / ".venv" / "bin" / "ansible"
    if not ansible.exists():
        pytest.skip("no ansible beside the code")
    environment = {**os.environ, "SLOTCAR_STATE_DIR": str(lab.state_dir.parent)}
    done = subprocess.run(
        [ansible, "-i", ROOT / "inventories" / "lab", "domains", "-m", "ansible.builtin.raw", "-a", "uname -r"],
        check=False, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(lab.running.kernel) == len(lab.topology.routers)


def test_every_host_reaches_every_other(lab: Lab) -> None:
    for source, destination in itertools.permutations(lab.topology.hosts, 2):
        lab.check(source, ["ping", "-q", "-c1", "-W60", lab.topology.address_of(destination)])


def test_a_premium_packet_crosses_every_router(lab: Lab) -> None:
    done = lab.check("anl-premium", ["ping", "-c1", "-W60", "-R", lab.topology.address_of("lbnl-premium")])
    crossed = [line.split()[-1] for line in done.splitlines() if line.strip().startswith(("RR:", "10."))]
    assert [address for address in crossed if address.startswith("10.10.")][1:5] == [
        "10.10.1.1", "10.10.2.1", "10.10.3.1", "10.10.21.1",
    ]  # fmt: skip


def test_two_snapshots_are_equal_also_after_traffic(lab: Lab) -> None:
    before = snapshots(lab)
    with start_udp(
        lab, "anl-traffic", "lbnl-traffic", port=5301, rate_bps=8_000_000, payload_bytes=1000, duration_s=1
    ) as flow:
        assert flow.wait(PATIENCE_S).received_packets
    assert snapshots(lab) == before


def test_a_snapshot_shows_what_a_push_would_change(lab: Lab) -> None:
    before = snapshot(lab, "lbnl-edge")
    lab.check("lbnl-edge", ["tc", "qdisc", "add", "dev", "eth3", "clsact"])
    try:
        lab.check(
            "lbnl-edge",
            [
                *("tc", "filter", "add", "dev", "eth3", "ingress", "protocol", "ip", "pref", "999"),
                *("flower", "ip_proto", "udp", "dst_port", "9"),
                *("action", "police", "rate", "1mbit", "burst", "10k", "conform-exceed", "drop/pipe"),
            ],
        )
        assert "1Mbit" in snapshot(lab, "lbnl-edge")
    finally:
        lab.check("lbnl-edge", ["tc", "qdisc", "del", "dev", "eth3", "clsact"])
    assert snapshot(lab, "lbnl-edge") == before


def test_a_node_that_is_not_there_is_named(lab: Lab) -> None:
    with pytest.raises(LabError, match=r"the lab has no node geneva; it has anl-edge, "):
        lab.exec("geneva", ["true"])


def test_a_strangers_namespace_stays_as_it_is(lab: Lab) -> None:
    root = as_root()
    if root is None:
        pytest.skip("making a namespace needs root")
    name = f"stranger-{os.getpid()}"
    subprocess.run([*root, which("ip") or "ip", "netns", "add", name], check=True)
    try:
        lab.check("anl-edge", ["ip", "link", "show", "eth1"])
        listed = subprocess.run([which("ip") or "ip", "netns", "list"], check=True, capture_output=True, text=True)
        assert name in listed.stdout
        links = subprocess.run(
            [*root, which("ip") or "ip", "netns", "exec", name, "ls", "/sys/class/net"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert links.stdout.split() == ["lo"]
    finally:
        subprocess.run([*root, which("ip") or "ip", "netns", "delete", name], check=True)
