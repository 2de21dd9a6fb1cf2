"""A reservation that a platform has no number for: the same sentence from `plan`, `create` and `apply`, and exit code 3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Cli

SENTENCE = "edge GigabitEthernet0/0, hep/cms forward: a policer's rate of 305.8 Mbit/s wanted, 200 Mbit/s at most"
#: One router with an IOS before HQF, whose policers end at 200 Mb/s.
INVENTORY = """---
all:
  vars:
    slotcar_platform: cisco-mqc
    slotcar_options: {hqf: false}
    slotcar_shares: {ip-premium: 50 %}
    slotcar_capacity: 1 Gbit/s
  children:
    domains:
      children:
        anl:
          hosts:
            edge:
              slotcar_interfaces:
                GigabitEthernet0/0: {address: 10.1.0.1/24}
                GigabitEthernet0/1: {address: 10.2.0.1/24}
    slotcar_hosts:
      hosts:
        anl-premium: {slotcar_address: 10.1.0.2, slotcar_attached_to: "edge:GigabitEthernet0/0"}
        lbnl-premium: {slotcar_address: 10.2.0.2, slotcar_attached_to: "edge:GigabitEthernet0/1"}
"""


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "hosts.yml"
    file.write_text(INVENTORY)
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(file))
    return file


@pytest.mark.slow
def test_it_is_refused_by_every_way_in(cli: Cli, reservations: Callable[..., Path], inventory: Path) -> None:
    flow = ("-s", "anl-premium", "-t", "lbnl-premium", "-n", "cms", "--owner", "hep", "--protocol", "udp")
    file = reservations({"rate": "300 Mbit/s"})
    for command in (
        ("plan", file),
        ("plan", file, "--offline"),
        ("apply", file),
        ("create", *flow, "--rate", "300 Mbit/s", "--duration", "1 h"),
    ):
        done = cli(*command, "-i", inventory)
        assert done.code == 3, done
        assert SENTENCE in done.err, done
    assert cli("create", *flow, "--rate", "190 Mbit/s", "--duration", "1 h").code == 0
    done = cli("modify", "hep/cms", "--rate", "300 Mbit/s")
    assert done.code == 3, done
    assert SENTENCE in done.err, done
    (kept,) = cli("status", "--format", "json").items
    assert kept["reservation"]["rate_bps"] == 190_000_000


def test_a_plan_refuses_it_without_a_ledger(offline: Cli, reservations: Callable[..., Path], inventory: Path) -> None:
    done = offline("plan", reservations({"rate": "300 Mbit/s"}), "--offline", "-i", inventory)
    assert done.code == 3, done
    assert SENTENCE in done.err, done
