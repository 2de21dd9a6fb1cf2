"""`playbooks/tune.yml` on a network namespace of this machine: tuned, read back, bounded in words, undone to the byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
PEER = "10.10.21.2"
FLOWS = {
    "host": "mover",
    "flows": [
        {"reservation": "hep/run", "peer": PEER, "out_bps": 4_000_000_000, "in_bps": 1_000_000, "rtt_us": 14_500}
    ],
}
READ = "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem; ip -d route; ip -d link; tc qdisc"
Play = Callable[..., tuple[int, str]]


@pytest.fixture
def namespace() -> Iterator[str]:
    name = f"slotcar-tune-{os.getpid()}"
    added = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if added.returncode != 0:
        pytest.skip(f"no network namespace can be made here: {added.stderr.strip()}")
    try:
        inside(
            name,
            "ip link set lo up; ip link add eth1 type veth peer name eth2 && ip link set eth1 up && ip link set eth2 up &&"
            " ip address add 10.10.11.2/24 dev eth1 && ip route add 10.10.0.0/16 via 10.10.11.1",
        )
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def inside(namespace: str, program: str) -> str:
    words = ["ip", "netns", "exec", namespace, "sh", "-c", program]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def play(namespace: str, tmp_path: Path) -> Play:
    """Ansible itself runs in the namespace, and takes the machine for the host."""
    folder = tmp_path / "inventory"
    folder.mkdir()
    (folder / "hosts.yml").write_text("slotcar_hosts: {hosts: {mover: {ansible_connection: local}}}\n")
    (tmp_path / "flows.json").write_text(json.dumps(FLOWS))

    def run(*arguments: str, limit: str = "mover", **tuning: object) -> tuple[int, str]:
        known = {key: value for key, value in os.environ.items() if not key.startswith(("SLOTCAR_", "ANSIBLE_"))}
        more = {"slotcar_flows": str(tmp_path / "flows.json"), "slotcar_tuning": {"pacing": False} | tuning}
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        done = subprocess.run(
            ["ip", "netns", "exec", namespace, program, "-i", str(folder), str(ROOT / "playbooks" / "tune.yml"),
             *(("--limit", limit) if limit else ()), "-e", json.dumps(more), *arguments],
            cwd=ROOT, env=known | {"ANSIBLE_HOME": str(tmp_path), "NO_COLOR": "1"}, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_host_is_tuned_and_undone_to_the_byte(namespace: str, play: Play) -> None:
    before = inside(namespace, READ)
    code, printed = play("--check", "--diff")
    assert (code, inside(namespace, READ)) == (0, before), printed
    assert "14500000" in printed
    code, printed = play(congestion_control="reno", path_mtu=1400)
    assert code == 0, printed
    tuned = inside(namespace, READ)
    assert "14500000" in tuned
    assert f"{PEER} via 10.10.11.1 dev eth1 proto 83 scope global mtu lock 1400 congctl reno" in tuned
    code, printed = play("-e", "slotcar_tuning_to=undo")
    assert (code, inside(namespace, READ)) == (0, before), printed


@pytest.mark.parametrize(
    ("arguments", "choices", "words"),
    [
        ((), {"most": 1_000_000}, "one connection has at most 275.8 Mbit/s at a round trip of 14.5 ms"),
        ((), {"congestion_control": "vegas2"}, "and not vegas2"),
        (("-e", "slotcar_tuning_to=forget"), {}, "Nothing was touched: name the hosts with --limit HOST"),
        (("-e", "slotcar_flows="), {}, "no file of flows is named"),
    ],
)
def test_what_bounds_a_flow_and_what_cannot_be_is_said(
    namespace: str, play: Play, arguments: tuple[str, ...], choices: dict[str, object], words: str
) -> None:
    before = inside(namespace, READ)
    step = arguments or ("-e", "slotcar_tuning_to=limits")
    _, printed = play(*step, **choices)
    assert words in " ".join(printed.split())
    assert inside(namespace, READ) == before


def test_no_host_is_tuned_that_nobody_named(namespace: str, play: Play) -> None:
    before = inside(namespace, READ)
    code, printed = play(limit="")
    assert code != 0
    assert "Nothing was touched" in printed
    assert inside(namespace, READ) == before
