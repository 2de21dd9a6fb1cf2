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

NETNS = Path("/run/netns")
ETC_NETNS = Path("/etc/netns")
HOMES = Path("/run/slotcar/homes")


class BuildError(Exception):
    """A command that the plan asked for failed."""


def build(plan: dict[str, Any]) -> None:
    """Make everything anew; what an earlier lab of the same prefix left is removed first."""
    teardown(plan["prefix"])
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    namespaces: dict[str, Any] = plan["namespaces"]
    for name, space in namespaces.items():
        _write_files(plan["prefix"] + name, space["etc"])
        (HOMES / (plan["prefix"] + name)).mkdir(parents=True, exist_ok=True)
    _run(["ip", "-batch", "-"], plan["root_batch"])
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(_run, ["ip", "netns", "exec", plan["prefix"] + name, "sh", "-e"], space["script"])
            for name, space in namespaces.items()
        ]
        for job in jobs:
            job.result()


def teardown(prefix: str) -> list[str]:
    """Remove every namespace of that prefix with its processes and files; return the names that were there."""
    found = existing(prefix)
    for name in found:
        _end_processes(name)
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    if ETC_NETNS.is_dir():
        for directory in ETC_NETNS.glob(prefix + "*"):
            shutil.rmtree(directory, ignore_errors=True)
        with contextlib.suppress(OSError):
            ETC_NETNS.rmdir()
    for home in HOMES.glob(prefix + "*"):
        shutil.rmtree(home, ignore_errors=True)
    return found


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
    found = subprocess.run(["ip", "netns", "pids", namespace], check=False, capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def _write_files(namespace: str, files: dict[str, str]) -> None:
    # `ip netns exec` mounts these over /etc, so that a router has accounts of its own.
    if not files:
        return
    directory = ETC_NETNS / namespace
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text)


def _run(argv: list[str], text: str) -> None:
    done = subprocess.run(argv, check=False, input=text, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{' '.join(argv)} failed: {done.stderr.strip() or done.stdout.strip()}")
