"""`host.sh` where it can do nothing: it says why, and changes nothing. What it does is shown on the lab's kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slotcar.platforms.linux_host.facts import SCRIPT


def run(*arguments: str, lines: str = "", prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, "sh", str(SCRIPT), *arguments], input=lines, capture_output=True, text=True, timeout=60, check=False
    )


def has_cpu() -> bool:
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line]
    return any("cpu" in Path(place, "cgroup.controllers").read_text().split() for place in mounted)


def test_it_is_a_script_of_any_shell() -> None:
    assert subprocess.run(["sh", "-n", str(SCRIPT)], check=False).returncode == 0


@pytest.mark.skipif(has_cpu(), reason="this machine's own cgroups would be changed")
@pytest.mark.parametrize("line", ["slice add g-one", "reserve 1000"])
def test_a_kernel_without_the_controller_is_told(line: str) -> None:
    done = run("-batch", "-", lines=f"{line}\n")
    assert done.returncode == 1
    assert any(words in done.stderr for words in ("cgroup v2", "only root"))


@pytest.mark.skipif(has_cpu(), reason="this machine's own cgroups would be read")
def test_a_host_without_slices_has_no_lines() -> None:
    assert run("show").stdout == ""


@pytest.mark.parametrize("line", ["reboot now", "slices add x", "; reboot"])
def test_a_line_that_is_no_change_is_refused(line: str) -> None:
    done = run("-batch", "-", lines=f"{line}\n")
    assert (done.returncode, done.stderr.strip()) == (1, f"there is no change `{line}`")


def test_an_unknown_verb_is_refused() -> None:
    assert run("start").returncode == 64
