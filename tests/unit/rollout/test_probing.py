"""What devices say of their rights and clocks before a first push."""

from __future__ import annotations

import subprocess

import pytest

from slotcar.network.model import Device
from slotcar.rollout.linux.scripts import NEEDED
from slotcar.rollout.probing import Probe, ProbeInterval, commands, probe_of
from tests.support.networks import line_network

NOW_S = 1_800_000_000.0
SOON = ProbeInterval(NOW_S, NOW_S + 1)


def device(platform: str) -> Device:
    return line_network(platform=platform).devices["r1"]


def linux(text: str, interval: ProbeInterval = SOON) -> Probe:
    router = device("linux-tc")
    return probe_of({commands(router)[0]: text}, router, interval)


def test_a_router_that_has_all_is_fine() -> None:
    assert linux(f"uid 0\nclock {NOW_S:.0f}\n") == Probe((), True, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uid 1000\nreadonly /run\n", "set `ansible_become: true`"),
        ("uid 0\nmissing tc\nmissing flock\n", "its programs tc, flock are missing"),
        ("uid 0\nreadonly /run\n", "/run cannot be written"),
        ("uid 0\nmodule sch_htb\n", "its kernel has no sch_htb"),
        ("", "uid unknown"),
    ],
)
def test_what_is_missing_is_said(text: str, words: str) -> None:
    (obstacle,) = linux(text).obstacles
    assert words in obstacle


@pytest.mark.parametrize(
    ("ahead_s", "took_s", "off_s"),
    [(0, 1, 0), (2, 1, 0), (60, 1, 59), (-60, 1, -59), (60, 100, 10), (100, 100, 49)],
    ids=["right", "within", "ahead", "behind", "slow", "slow-and-ahead"],
)
def test_a_clock_is_off_by_what_is_certain(ahead_s: int, took_s: int, off_s: int) -> None:
    """It answered at some moment of the reading, in whole seconds."""
    interval = ProbeInterval(NOW_S, NOW_S + took_s)
    off_us = linux(f"uid 0\nclock {NOW_S + took_s / 2 + ahead_s:.0f}\n", interval).clock_off_us
    assert off_us is not None
    assert abs(off_us / 1e6 - off_s) <= 1.5


def test_an_ios_router_tells_its_clock() -> None:
    router = device("cisco-mqc")
    assert commands(router) == ("show clock",)
    interval = ProbeInterval(NOW_S, NOW_S)
    assert probe_of({"show clock": "08:00:00.000 UTC Fri Jan 15 2027\n"}, router, interval) == Probe((), False, 0)
    assert probe_of({"show clock": "08:01:00.000 UTC Fri Jan 15 2027\n"}, router, interval).clock_off_us == 60_000_000
    assert probe_of({"show clock": "% Invalid input\n"}, router, interval) == Probe()


def test_a_netconf_peer_is_asked_for_nothing_more() -> None:
    router = device("cisco-iosxe-netconf")
    assert commands(router) == ()
    assert probe_of({}, router, SOON) == Probe()


def host(**resources: dict[str, int]) -> Device:
    return Device(
        name="dtn", domain="alpha", platform="linux-host", interfaces={}, resources=resources or {"cpu": {"": 4000}}
    )


def of_host(text: str, **resources: dict[str, int]) -> Probe:
    device = host(**resources)
    return probe_of({commands(device)[0]: text}, device, SOON)


def test_a_host_is_asked_for_what_a_host_needs() -> None:
    (question,) = commands(host())
    assert f"for one in {' '.join(NEEDED)}; do" in question
    assert "tc" not in NEEDED
    assert "modprobe" not in question
    done = subprocess.run(["sh", "-c", question], capture_output=True, text=True, check=True)
    assert "module" not in done.stdout


def test_a_router_is_asked_for_the_modules_of_its_own_schedulers() -> None:
    (question,) = commands(device("linux-tc"))
    assert f"for one in {' '.join(NEEDED)} tc; do" in question
    assert "sch_htb sch_ingress cls_flower" in question
    assert "sch_hfsc" not in question


def test_cores_are_given_without_root_and_disks_are_not() -> None:
    """`systemd --user` gives an account's own cores (docs/reference/inventory.md)."""
    assert of_host("uid 0\n") == Probe((), True, None)
    assert of_host("uid 1000\n") == Probe((), True, None, "uid 1000")
    (obstacle,) = of_host("uid 1000\nreadonly /run\n").obstacles
    assert "/run cannot be written" in obstacle
    (obstacle,) = of_host("uid 1000\n", cpu={"": 4000}, storage={"vdb:read": 1}).obstacles
    assert "only root may give the bandwidth of a disk" in obstacle
    (obstacle,) = of_host("").obstacles
    assert "uid unknown" in obstacle


def test_the_question_is_one_that_a_shell_answers_and_that_always_succeeds() -> None:
    done = subprocess.run(["sh", "-c", commands(device("linux-tc"))[0]], capture_output=True, text=True, check=True)
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert words[0] == "uid"
    assert words[-1] == "clock"
    assert set(words) <= {"uid", "missing", "module", "readonly", "clock"}
