"""Plays run under an Ansible that has what `meta/ee-requirements.txt` names, and nothing else of Slotcar's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: What plays import: each platform's renderer, and whatever carries to a device.
IMPORTS = """
import json, sys
from importlib import import_module
from slotcar.base.registry import FOLDERS
for name in ("steps", "fanout", "linux.transport", "ios.ssh", "ios.napalm", "netconf.login", "netconf.transport"):
    import_module(f"slotcar.rollout.{name}")
for folder in FOLDERS.values():
    import_module(f"{folder}.renderer")
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def needed_by(names: Iterable[str]) -> set[str]:
    """The distributions that these bring along, themselves included; extras are left out."""
    reached: set[str] = set()
    todo = [*names]
    while todo:
        name = plain(todo.pop())
        if name in reached:
            continue
        reached.add(name)
        try:
            todo += [one for one in requires(name) or () if "extra ==" not in one]
        except PackageNotFoundError:  # of another platform or Python
            continue
    return reached


def plain(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def test_what_plays_import_is_in_their_requirements() -> None:
    lines = (ROOT / "meta" / "ee-requirements.txt").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    ours = {"slotcar", "slotcar-client", "slotcar-lab", "slotcar-transfer", "setuptools"}
    allowed = needed_by(["ansible-core", *named]) | ours
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    distributions = packages_distributions()
    imported = {
        plain(distribution) for name in json.loads(done.stdout) for distribution in distributions.get(name, ())
    }
    assert imported - allowed == set()
    assert {"pydantic", "ncclient", "asyncssh"} <= imported
