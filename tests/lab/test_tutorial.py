"""docs/tutorial.md is true: every command of it is run, from pip in an empty folder to a slot that opened and closed, and
that left its routers byte for byte as they were.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base
from tests.support import wheels as building
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
#: Whatever happens, nothing is left running.
CLEAN_UP = (
    'trap "kill \\$(jobs -p) 2>/dev/null || true; wait; venv/bin/slotcar lab down >/dev/null 2>&1 || true" EXIT\n'
)
#: What a router has, as its kernel tells it, into a file.
KEEP = "\n".join(
    f"slotcar lab exec {router} -- sh -c 'for dev in eth1 eth2; do tc qdisc show dev $dev; tc class show dev $dev;"
    f" tc filter show dev $dev; tc filter show dev $dev ingress; done' > {router}-{{when}}"
    for router in ("edge-a", "edge-b")
)


def script() -> str:
    """The commands of the page; the routers are kept before the reservation and after its end."""
    before, after = (KEEP.format(when=when) for when in ("before", "after"))
    blocks = list(BLOCKS)
    (reserved,) = (number for number, block in enumerate(blocks) if "--name first" in block)
    (ended,) = (number for number, block in enumerate(blocks) if "slotcar diff --exit-code" in block)
    blocks[reserved] = f"until slotcar diff --exit-code; do sleep 2; done\n{before}\n{blocks[reserved]}"
    blocks[ended] = f"{blocks[ended]}{after}\ncmp edge-a-before edge-a-after\ncmp edge-b-before edge-b-after\n"
    return "set -e\n" + CLEAN_UP + "".join(blocks)


@pytest.mark.timeout(2400)
def test_every_command_of_the_tutorial(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for wheel in building.build(tmp_path):
        (folder / wheel.name).symlink_to(wheel)
    port = free_port()
    environment = building.bare_environment(folder) | {
        "SLOTCAR_LISTEN_PORT": str(port), PORT_BASE_VARIABLE: str(free_base()), "TERM": "dumb",
        # The packages and the kernel that were fetched once; and most modules of the packages are never imported.
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"), "PIP_COMPILE": "0",
    }  # fmt: skip
    with (folder / "shown").open("w") as shown:
        done = subprocess.run(
            ["bash", "-c", script().replace("8470", str(port))],
            cwd=folder, env=environment, stdout=shown, stderr=subprocess.STDOUT,
            timeout=2300, check=False,
        )  # fmt: skip
    text = (folder / "shown").read_text()
    assert done.returncode == 0, text[-4000:]
    assert "Nothing stands in the way of a push" in text
    assert "refused with exit code 3" in text
    counted = [
        int(number) for number in re.findall(r"action order 1:  police.*?Sent \d+ bytes (\d+) pkt", text, re.DOTALL)
    ]
    assert max(counted, default=0) > 0, "the reserved flow met its policer"
    assert "edge-a: has what is wanted" in text
    assert "reservation.ended" in text
    kept = (folder / "edge-a-after").read_text()
    assert "qdisc" in kept
    assert "5001" not in kept
