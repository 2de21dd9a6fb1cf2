"""Makes and removes the namespaces that a plan describes, and nothing that it did not make."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from slotcar_lab.agent.namespaces import ETC_NETNS, NETNS, Namespace

HOMES = Path("/run/slotcar/homes")


class BuildError(Exception):
    """A command that the plan asked for failed."""


def build(plan: dict[str, Any]) -> dict[str, Namespace]:
    """Make everything anew, and enter it; what an earlier lab of the same prefix left is removed first.

    Raises:
        BuildError: a command failed, or a namespace cannot be entered.
    """
    teardown(plan["prefix"])
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    planned: dict[str, Any] = plan["namespaces"]
    for name, one in planned.items():
        _write_files(plan["prefix"] + name, one["etc"])
        (HOMES / (plan["prefix"] + name)).mkdir(parents=True, exist_ok=True)
    _finish(_start(["ip", "-batch", "-"]), plan["root_batch"])
    try:
        entered = {plan["prefix"] + name: Namespace(plan["prefix"] + name) for name in planned}
    except OSError as error:
        raise BuildError(f"a namespace cannot be entered: {error}") from error
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(_run_in, entered[plan["prefix"] + name], one["script"]) for name, one in planned.items()]
        for job in jobs:
            job.result()
    return entered


def teardown(prefix: str) -> list[str]:
    """Remove every namespace of that prefix with its processes and files; return the names that were there."""
    namespaces = existing(prefix)
    for name in namespaces:
        _end_processes(name)
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    if ETC_NETNS.is_dir():
        for directory in ETC_NETNS.glob(prefix + "*"):
            shutil.rmtree(directory, ignore_errors=True)
        with contextlib.suppress(OSError):
            ETC_NETNS.rmdir()
    for home in HOMES.glob(prefix + "*"):
        shutil.rmtree(home, ignore_errors=True)
    return namespaces


def existing(prefix: str) -> list[str]:
    """Namespaces of that prefix that exist now."""
    return sorted(path.name for path in NETNS.glob(prefix + "*")) if NETNS.is_dir() else []


def _end_processes(namespace: str) -> None:
    for sent in (signal.SIGTERM, signal.SIGKILL):
        pids = _processes(namespace)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)
        deadline = time.monotonic() + 1.0
        while pids and time.monotonic() < deadline:
            time.sleep(0.02)
            pids = _processes(namespace)
        if not pids:
            return


def _processes(namespace: str) -> list[int]:
    listed = subprocess.run(["ip", "netns", "pids", namespace], check=False, capture_output=True, text=True)
    return [int(word) for word in listed.stdout.split()]


def _write_files(namespace: str, files: dict[str, str]) -> None:
    # They are mounted over /etc in the namespace, so that a router has accounts of its own.
    if not files:
        return
    directory = ETC_NETNS / namespace
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text)


def _run_in(namespace: Namespace, script: str) -> None:
    _finish(namespace.start(lambda: _start(["sh", "-e"])), script)


def _start(argv: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    )


def _finish(child: subprocess.Popen[str], text: str) -> None:
    out, err = child.communicate(text)
    if child.returncode:
        assert isinstance(child.args, list)
        raise BuildError(f"{' '.join(child.args)} failed: {err.strip() or out.strip()}")
