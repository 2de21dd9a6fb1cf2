"""A Python program in a copy of the agent: under emulation a new interpreter takes seconds of both cores to begin.

The copy has the modules of the standard library that the program imports already, and is in the namespaces of the thread
that makes it.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Mapping
from types import CodeType, ModuleType

_compiled: dict[str, CodeType] = {}


class Forked:
    """What `subprocess.Popen` is for a command: its streams are pipes, and it leads a process group of its own.

    Args:
        modules: texts of the modules that the program imports, by their full names; each imports only those before it.

    Raises:
        OSError: there is no process to be had.
        SyntaxError: the program is none.
    """

    def __init__(self, source: str, argv: list[str], *, stdin: bool, modules: Mapping[str, str] | None = None) -> None:
        self.returncode: int | None = None
        code = _code(source, argv[0])
        imported = {name: _code(text, name) for name, text in (modules or {}).items()}
        pipes = [os.pipe(), os.pipe(), os.pipe()]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        self.pid = os.fork()
        if self.pid == 0:
            _become(code, argv, theirs, imported)
        for end in theirs:
            os.close(end)
        self.stdin = os.fdopen(ours[0], "wb", 0)
        self.stdout, self.stderr = os.fdopen(ours[1], "rb", 0), os.fdopen(ours[2], "rb", 0)
        if not stdin:
            self.stdin.close()

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()
        self.wait()

    def poll(self) -> int | None:
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        status = self._reap(0)
        assert status is not None
        return status

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _code(source: str, name: str) -> CodeType:
    return _compiled.get(source) or _compiled.setdefault(source, compile(source, name, "exec", dont_inherit=True))


def _become(code: CodeType, argv: list[str], streams: list[int], modules: Mapping[str, CodeType]) -> None:
    """Never returns: nothing of the agent but this may run in the copy."""
    status = 1
    try:
        os.setsid()
        for number, end in enumerate(streams):
            os.dup2(end, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir("/")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = argv
        for name, body in modules.items():
            sys.modules[name] = ModuleType(name)
            exec(body, sys.modules[name].__dict__)  # noqa: S102 - a module of the lab itself
        exec(code, {"__name__": "__main__", "__builtins__": __builtins__})  # noqa: S102 - a program of the lab itself
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
