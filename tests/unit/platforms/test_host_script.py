"""`host.sh` where it can do nothing: it says why, and changes nothing. What it does is shown on the lab's kernel."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar.platforms.linux_host.facts import script
from tests.support.patience import PATIENCE_S


def run(*arguments: str, lines: str = "", prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, "sh", "-c", script(), "host.sh", *arguments],
        input=lines,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def has_cpu() -> bool:
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line]
    return any("cpu" in Path(place, "cgroup.controllers").read_text().split() for place in mounted)


def test_it_is_a_script_of_any_shell() -> None:
    assert subprocess.run(["sh", "-n"], input=script(), text=True, check=False).returncode == 0


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


# -- whose processes may be bound ------------------------------------------------------------------------------------


def own_account() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def stranger() -> str:
    """An account that is not this one, and not root."""
    return next(one.pw_name for one in pwd.getpwall() if one.pw_uid not in (0, os.getuid()))


@pytest.fixture
def process() -> Iterator[int]:
    """One of an account that is not root, where this one may start it; else of this account."""
    change = {} if os.getuid() else {"user": stranger(), "group": 0, "extra_groups": []}
    with subprocess.Popen(["sleep", "60"], cwd="/", **change) as one:
        yield one.pid
        one.kill()


def account_of(pid: int) -> str:
    return pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name


def test_a_process_is_bound_for_its_own_account_alone(process: int) -> None:
    account = account_of(process)
    for allowed in ("", f"/{account}", f"/nobody-here,{account}"):
        done = run("processes", f"process:{process}{allowed}")
        assert (done.returncode, done.stdout.split(), done.stderr) == (0, [str(process)], "")
    other = next(
        one.pw_name for one in pwd.getpwall() if one.pw_uid not in (0, Path(f"/proc/{process}").stat().st_uid)
    )
    for refused in ("/", f"/{other}", "/root", "/nobody-here"):
        done = run("processes", f"process:{process}{refused}")
        words = f"process {process} is another account's, and is not bound"
        assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", words)


def test_all_of_a_users_are_bound_for_that_account_alone(process: int) -> None:
    account = account_of(process)
    assert str(process) in run("processes", f"user:{account}").stdout.split()
    assert str(process) in run("processes", f"user:{account}/{account}").stdout.split()
    for refused in ("/", f"/{'root' if account != 'root' else 'nobody'}"):
        done = run("processes", f"user:{account}{refused}")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"user {account} is not bound: it is another account" in done.stderr


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("user:root", "user root is not bound: it is root"),
        ("user:root/root", "user root is not bound: it is root"),
        ("user:nobody-here", "this host has no user nobody-here"),
        ("process:1", "process 1 is the machine's own, and is not bound"),
        ("process:1/root", "process 1 is the machine's own, and is not bound"),
        ("process:4194304", "this host has no process 4194304, and is not bound"),
        ("unit:no-such.service", "this host has no running unit no-such.service"),
        ("all", "all is nothing that can be bound"),
    ],
)
def test_what_is_never_bound_is_said(what: str, words: str) -> None:
    done = run("processes", what)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", words)


def test_threads_of_the_kernel_are_never_bound() -> None:
    threads = [
        status.parent.name
        for status in Path("/proc").glob("[0-9]*/status")
        if "\nPPid:\t2\n" in status.read_text() and not (status.parent / "cmdline").read_bytes()
    ]
    if not threads or Path("/proc/2/comm").read_text() != "kthreadd\n":
        pytest.skip("no thread of the kernel can be seen here")
    for pid in ("2", threads[0]):
        assert (
            run("processes", f"process:{pid}").stderr.strip().endswith("is a thread of the kernel, and is not bound")
        )


def test_the_ssh_daemons_are_never_bound(tmp_path: Path) -> None:
    daemon = tmp_path / "sshd"
    shutil.copy(shutil.which("sleep") or "", daemon)
    with subprocess.Popen([daemon, "60"]) as one:
        done = run("processes", f"process:{one.pid}")
        assert done.stderr.strip() == f"process {one.pid} is the ssh daemon's, and is not bound"
        assert str(one.pid) not in run("processes", f"user:{own_account()}").stdout.split()
        one.kill()


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes cgroups")
def test_a_unit_is_bound_where_all_its_processes_may_be(process: int, tmp_path: Path) -> None:
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line]
    unit = Path(mounted[0] if mounted else "/nowhere", f"slotcar-test-{process}.service")
    try:
        unit.mkdir()
        (unit / "cgroup.procs").write_text(str(process))
    except OSError:
        pytest.skip("no cgroup can be made here")
    account, whole = account_of(process), unit / "inside"
    try:
        assert run("processes", f"unit:{unit.name}/{account}").stdout.split() == [str(process)]
        assert run("processes", f"unit:{unit.name}").stdout.split() == [str(process)]
        whole.mkdir()
        with subprocess.Popen(["sleep", "60"]) as other:
            (whole / "cgroup.procs").write_text(str(other.pid))
            done = run("processes", f"unit:{unit.name}/{account}")
            words = f"unit {unit.name} is not bound: process {other.pid} is another account's"
            assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", words)
            other.kill()
    finally:
        for one in (whole, unit):
            for pid in (one / "cgroup.procs").read_text().split() if one.exists() else ():
                Path(mounted[0], "cgroup.procs").write_text(pid)
            if one.exists():
                one.rmdir()


def test_an_unknown_verb_is_refused() -> None:
    assert run("start").returncode == 64
