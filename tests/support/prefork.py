"""Slotcar's programs in processes that begin with its modules loaded: two of the three seconds of a command are imports.

    python -m tests.support.prefork SOCKET

A server that has imported all of `slotcar` forks one process for each request on its Unix socket. That process is given a
program, a command line, an environment, a folder and its open files, and calls the program as its own start does: that of
`slotcar`, that of the process that makes plans, or Ansible's (`tests/support/forked_ansible.py`). The server ends when its
standard input ends: with the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import slotcar
from slotcar.network import reading
from tests.support import forked_ansible, inventories
from tests.support.forked_ansible import PLAYBOOK, READER
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
_REQUEST_BYTES = 1_000_000
#: Of one request: the two output streams, and one more.
_MOST_FILES = 3
#: Numbers from here on are none that a process is given.
_ABOVE_GIVEN = 64
#: Programs that end with the process that stands for them, and have its environment for whoever looks for it.
_STOOD_FOR = frozenset({PLAYBOOK, READER})
#: Where a forked process writes its environment: what the server was started with, with room in it.
_ROOM = ("SLOTCAR_ROOM_FOR_AN_ENVIRONMENT", " " * 65_536)


def _cli(_argv: list[str]) -> None:
    from slotcar.cli import main

    main()


def _plan_process(argv: list[str]) -> None:
    from slotcar.api import plan_process

    os.setsid()
    plan_process.main(int(argv[0]))


def _ansible_playbook(_argv: list[str]) -> None:
    from ansible.cli import playbook

    sys.argv[0] = str(Path(sys.executable).with_name(PLAYBOOK))
    playbook.main()


def _ansible_reader(_argv: list[str]) -> None:
    runpy.run_path(str(reading.READER), run_name="__main__")


_PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "slotcar": _cli,
    "slotcar.api.plan_process": _plan_process,
    PLAYBOOK: _ansible_playbook,
    READER: _ansible_reader,
}


class Command:
    """A `slotcar`, or another program of `_PROGRAMS`, that runs: what `subprocess.Popen` has of it.

    Args:
        more: what it has open beside its standard streams, from 3 on.
    """

    def __init__(
        self,
        argv: list[str],
        environment: dict[str, str],
        stdout: IO[bytes] | int,
        stderr: IO[bytes] | int,
        cwd: Path | None = None,
        program: str = "slotcar",
        more: Sequence[int] = (),
    ) -> None:
        self.returncode: int | None = None
        request = {"program": program, "argv": argv, "environment": environment, "cwd": str(cwd or Path.cwd())}
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(started())
        files = [one if isinstance(one, int) else one.fileno() for one in (stdout, stderr, *more)]
        socket.send_fds(self._server, [json.dumps(request).encode()], files)
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


def fork_plan_processes() -> None:
    """From now on the APIs of this process have their plans made in processes that begin with the modules loaded."""
    from slotcar.api import plan_workers

    plan_workers.start_process = _start_plan_process


def _start_plan_process(descriptor: int) -> Command:
    return Command(["3"], dict(os.environ), 1, 2, program="slotcar.api.plan_process", more=[descriptor])


_lock = threading.Lock()
_server: subprocess.Popen[bytes] | None = None
_folder: tempfile.TemporaryDirectory[str] | None = None
#: In a process that a server forked: that one's socket.
_forked_by: str | None = None


def is_started() -> bool:
    return _forked_by is not None or _server is not None


def started() -> str:
    """The socket of this process's server, which is started when it is needed first."""
    global _server, _folder
    if _forked_by is not None:
        return _forked_by
    with _lock:
        if _server is None:
            _folder = tempfile.TemporaryDirectory(prefix="prefork-")
            argv = [sys.executable, "-m", "tests.support.prefork", f"{_folder.name}/socket"]
            environment = os.environ | {_ROOM[0]: _ROOM[1]}
            _server = subprocess.Popen(
                argv, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )  # fmt: skip
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
    from tests.support import prefork  # not this module, which is `__main__`

    prefork._forked_by = path
    _import_all()
    inventories.keep_answers()
    forked_ansible.fork()
    gc.freeze()  # so that no process that is forked copies what its collector only looks at
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


def _import_all() -> None:
    """All of `slotcar`, and the packages that its commands import when they run."""
    for module in pkgutil.walk_packages(slotcar.__path__, "slotcar."):
        if ".migrations." not in module.name:  # alembic runs these
            importlib.import_module(module.name)
    for name in ("ansible_runner", "uvicorn", *forked_ansible.WITHOUT_CONFIGURATION):
        importlib.import_module(name)
    assert "ansible.constants" not in sys.modules, "Ansible has read its configuration, which is that of each run"


def _hand_on(peer: socket.socket) -> None:
    """Starts the process of a request, tells its number, and when it has ended its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, ends, _, _ = socket.recv_fds(peer, _REQUEST_BYTES, _MOST_FILES)
    request = json.loads(text)
    pid = os.fork()
    if pid == 0:
        peer.close()
        _become(request, ends)
    for end in ends:
        os.close(end)
    os.closerange(0, 3)
    with contextlib.suppress(OSError):
        peer.send(str(pid).encode())
        if request["program"] in _STOOD_FOR:
            _end_with(peer, pid)
        _, status = os.waitpid(pid, 0)
        peer.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _end_with(peer: socket.socket, pid: int) -> None:
    """Returns when that child has ended, which it is made to do when whoever asked for it is there no more."""
    ended = os.pidfd_open(pid)
    with selectors.DefaultSelector() as selector:
        selector.register(peer, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        if ended not in [key.fileobj for key, _ in selector.select()]:
            os.kill(pid, signal.SIGKILL)


def _show_environment(environment: dict[str, str]) -> None:
    """/proc tells of a process what it was started with, which a forked one writes there itself: whoever ends a play finds
    its processes by their environment.
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    text = "".join(f"{name}={value}\0" for name, value in environment.items()).encode()
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, min(len(text), end - start))


def _become(request: dict[str, object], ends: list[int]) -> None:
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        given = [fcntl.fcntl(end, fcntl.F_DUPFD, _ABOVE_GIVEN) for end in (nothing, *ends)]
        for number, end in enumerate(given):
            os.dup2(end, number)
        os.closerange(len(given), os.sysconf("SC_OPEN_MAX"))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(str(request["cwd"]))
        os.environ.clear()
        os.environ.update(request["environment"])  # type: ignore[call-overload]
        if request["program"] in _STOOD_FOR:
            _show_environment(request["environment"])  # type: ignore[arg-type]
            os.umask(int(str(request["umask"])))
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        tempfile.tempdir = None
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        argv: list[str] = request["argv"]  # type: ignore[assignment]
        program = str(request["program"])
        sys.argv = [program, *argv]
        _PROGRAMS[program](argv)
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
