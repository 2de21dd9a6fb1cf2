"""A world of devices in a process of its own, for Molecule, whose steps are processes."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

#: How long the process may take to end after it was told.
END_S = 30.0


def start(module: str, folder: Path) -> None:
    """Runs `python -m MODULE serve FOLDER` until `stop`; returns when it says that it is ready."""
    folder.mkdir(parents=True)
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", module, "serve", str(folder)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
        )  # fmt: skip
    (folder / "pid").write_text(str(child.pid))
    assert child.stdout is not None
    if child.stdout.readline() != b"ready\n":
        raise SystemExit((folder / "log").read_text())


def serve_until_stopped(folder: Path, different: Callable[[], list[str]]) -> None:
    """Says that all is ready, waits for `stop`, and tells it what does not run then what it ran at first.

    To be called last: ansible-runner leaves a handler of its own for SIGTERM.
    """
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    print("ready", flush=True)
    stopping.wait()
    (folder / "outcome").write_text(json.dumps(different()))


def stop(folder: Path) -> None:
    """Ends what was started; fails where it is not as it was at first. Nothing happens where nothing was started."""
    if not (folder / "pid").exists():
        return
    process = os.pidfd_open(int((folder / "pid").read_text()))
    signal.pidfd_send_signal(process, signal.SIGTERM)
    ended, _, _ = select.select([process], [], [], END_S)
    if not ended or not (folder / "outcome").exists():
        raise SystemExit(f"it did not end as it should: {(folder / 'log').read_text()}")
    if different := json.loads((folder / "outcome").read_text()):
        raise SystemExit(f"{', '.join(different)}: not as at first: {(folder / 'log').read_text()}")


def main(module: str, serve: Callable[[Path], None]) -> None:
    verb, folder = sys.argv[1], Path(sys.argv[2])
    if verb == "start":
        start(module, folder)
    elif verb == "stop":
        stop(folder)
    else:
        serve(folder)
