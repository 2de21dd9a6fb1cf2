"""`slotcar` in processes that begin with its modules loaded: two of the three seconds of a command are imports.

    python -m tests.support.prefork SOCKET

A server that has imported what the commands import forks one process for each request on its Unix socket. That process is
given a command line, an environment, a folder and its two output streams, and calls `slotcar.cli.main` as the installed
script does. The server ends when its standard input ends: with the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

from tests.support import inventories
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
_REQUEST_BYTES = 1_000_000


class Command:
    """A `slotcar` that runs: what `subprocess.Popen` has of it."""

    def __init__(
        self,
        argv: list[str],
        environment: dict[str, str],
        stdout: IO[bytes],
        stderr: IO[bytes],
        cwd: Path | None = None,
    ) -> None:
        self.returncode: int | None = None
        request = json.dumps({"argv": argv, "environment": environment, "cwd": str(cwd or Path.cwd())}).encode()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(_started())
        socket.send_fds(self._server, [request], [stdout.fileno(), stderr.fileno()])
        self.pid = int(self._server.recv(64))

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, or minus the signal that ended it.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        if self.returncode is None:
            self._server.settimeout(timeout)
            try:
                self.returncode = int(self._server.recv(64))
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired(f"slotcar (process {self.pid})", timeout or 0) from error
            self.close()
        return self.returncode

    def close(self) -> None:
        """Its status is not to be had any more, where nobody waited for it."""
        self._server.close()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(
    argv: list[str], environment: dict[str, str], timeout: float, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """`slotcar ARGV` to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = Command(argv, environment, out, err, cwd)
        try:
            code = command.wait(timeout)
        except subprocess.TimeoutExpired:
            command.kill()
            raise
        finally:
            command.close()
        texts = [(stream.seek(0), stream.read().decode())[1] for stream in (out, err)]
    return subprocess.CompletedProcess(argv, code, *texts)


_lock = threading.Lock()
_server: subprocess.Popen[bytes] | None = None
_folder: tempfile.TemporaryDirectory[str] | None = None


def _started() -> str:
    """The socket of this process's server, which is started when it is needed first."""
    global _server, _folder
    with _lock:
        if _server is None:
            _folder = tempfile.TemporaryDirectory(prefix="prefork-")
            argv = [sys.executable, "-m", "tests.support.prefork", f"{_folder.name}/socket"]
            _server = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert _server.stdout is not None
            assert _server.stdout.readline() == b"ready\n"
        assert _folder is not None
        return f"{_folder.name}/socket"


def stop() -> None:
    """Ends this process's server; commands that still run go on."""
    global _server, _folder
    with _lock:
        if _server is not None and _folder is not None:
            _server.communicate(timeout=PATIENCE_S)
            _folder.cleanup()
        _server = _folder = None


def serve(path: str) -> None:
    import ansible_runner
    import uvicorn

    del ansible_runner, uvicorn
    inventories.keep_answers()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that hand on a status are not waited for
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, selectors.DefaultSelector() as selector:
        listener.bind(path)
        listener.listen(32)
        print("ready", flush=True)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            if listener not in ready:
                return
            peer, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _hand_on(peer)
            peer.close()


def _hand_on(peer: socket.socket) -> None:
    """Starts the process of a request, tells its number, and when it has ended its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, ends, _, _ = socket.recv_fds(peer, _REQUEST_BYTES, 2)
    pid = os.fork()
    if pid == 0:
        peer.close()
        _become(json.loads(text), ends)
    for end in ends:
        os.close(end)
    os.closerange(0, 3)
    with contextlib.suppress(OSError):
        peer.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        peer.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(request: dict[str, object], ends: list[int]) -> None:
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, end in enumerate((nothing, *ends)):
            os.dup2(end, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(str(request["cwd"]))
        os.environ.clear()
        os.environ.update(request["environment"])  # type: ignore[call-overload]
        tempfile.tempdir = None
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["slotcar", *request["argv"]]  # type: ignore[misc]
        from slotcar.cli import main

        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        # What an interpreter does at its end.
        with contextlib.suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
