"""docs/tutorial.md is true: every command of it is run, from pip in an empty folder to a slot that opened and closed."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest

from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base
from tests.support import wheels as building

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
#: Whatever happens, nothing is left running.
CLEAN_UP = (
    'trap "kill \\$(jobs -p) 2>/dev/null || true; wait; venv/bin/slotcar lab down >/dev/null 2>&1 || true" EXIT\n'
)


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


@pytest.mark.slow  # in short: the commands one by one, in the tests of init, check, wheels and the main job
@pytest.mark.timeout(2400)
def test_every_command_of_the_tutorial(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for wheel in building.build(tmp_path):
        (folder / wheel.name).symlink_to(wheel)
    port = _free_port()
    environment = building.bare_environment(folder) | {
        "SLOTCAR_LISTEN_PORT": str(port), PORT_BASE_VARIABLE: str(free_base()), "TERM": "dumb",
    }  # fmt: skip
    script = "set -e\n" + CLEAN_UP + "".join(BLOCKS).replace("8470", str(port))
    with (folder / "shown").open("w") as shown:
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=environment, stdout=shown, stderr=subprocess.STDOUT,
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
