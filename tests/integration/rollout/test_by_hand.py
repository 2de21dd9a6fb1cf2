"""The playbooks by hand: nothing is touched unless somebody named the inventory, the devices and the folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support import forked_ansible
from tests.support.forked_ansible import PLAYBOOK
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
LAB = str(ROOT / "inventories" / "lab")
EMERGENCY = "emergency-rollback"


def play(folder: Path, name: str, *arguments: str, cwd: Path = ROOT, **environment: str) -> tuple[int, str]:
    """As in a shell in which neither SLOTCAR_INVENTORY nor SLOTCAR_STATE_DIR is set, but for what is given."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("SLOTCAR_", "ANSIBLE_"))}
    given = known | {"PWD": str(cwd), "ANSIBLE_HOME": str(folder)} | environment
    done = subprocess.run(
        [*forked_ansible.command(PLAYBOOK, given), str(ROOT / "playbooks" / f"{name}.yml"), *arguments],
        cwd=cwd, env=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.in_short("empty-limit", "unknown-device", "no-revision-of-one-kind")
@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (EMERGENCY, ("-i", "", "--limit", "domains"), "Completely failed to parse inventory source"),
        (EMERGENCY, ("-i", LAB), "no device is named: say --limit DEVICE,DEVICE"),
        (EMERGENCY, ("-i", LAB, "--limit", "anl-edge"), "SLOTCAR_STATE_DIR is not set"),
        (
            EMERGENCY,
            ("-i", LAB, "--limit", "anl-edge,anl-egde", "-e", "slotcar_emergency_to=befor"),
            "has no anl-egde;",
        ),
        (
            EMERGENCY,
            ("-i", LAB, "--limit", "anl-edge", "-e", '{"slotcar_emergency_to": null}'),
            "slotcar_emergency_to is None, and can be good, before, unmanaged",
        ),
        ("rollback", ("-i", LAB, "--limit", "", "-e", f"slotcar_revision={ROOT}"), "no device is named"),
        ("push", ("-i", LAB, "--limit", "anl-edge"), "slotcar_revision=FOLDER"),
        ("push-ios", ("-i", LAB, "--limit", "anl-edge"), "slotcar_revision=FOLDER"),
        ("read-ios", ("-i", LAB, "-e", f"slotcar_revision={ROOT}"), "no device is named"),
    ],
    ids=[
        "no-inventory",
        "no-device",
        "no-state",
        "unknown-device",
        "no-target",
        "empty-limit",
        "no-revision",
        "no-revision-of-one-kind",
        "no-device-of-one-kind",
    ],
)
def test_a_play_refuses_what_nobody_named(tmp_path: Path, name: str, arguments: tuple[str, ...], words: str) -> None:
    code, printed = play(tmp_path, name, *arguments)
    assert code != 0
    assert words in printed
    assert printed.count("TASK [") <= 1, "no task after the first one was begun"


def test_a_folder_that_is_taken_for_an_inventory_by_mistake_is_refused(tmp_path: Path) -> None:
    """`-i "$SLOTCAR_INVENTORY"` with the variable unset means the current folder."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "hosts.yml").write_text("all: {children: {domains: {hosts: {anl-edge: {slotcar_platform: linux-tc}}}}}\n")
    settings = {"SLOTCAR_STATE_DIR": str(tmp_path), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    code, printed = play(tmp_path, EMERGENCY, "-i", "", "--limit", "domains", cwd=here, **settings)
    assert code != 0
    assert f"no inventory is named, but the folder {here}" in printed


def test_a_play_names_the_devices_before_it_touches_one(tmp_path: Path) -> None:
    (tmp_path / "known-good").mkdir()
    code, printed = play(tmp_path, EMERGENCY, "-i", LAB, "--limit", "domains", SLOTCAR_STATE_DIR=str(tmp_path))
    assert code != 0, "nothing was ever pushed to them"
    named = printed.index("works on anl-edge, anl-border, esnet-hub, lbnl-edge")
    assert named < printed.index("Slotcar has never pushed to")
