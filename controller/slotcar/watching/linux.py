"""A Linux router that tells of changes: `tc monitor` over ssh, by the inventory's variables for Ansible's connection.

`tc monitor` listens to rtnetlink's notices of qdiscs, classes, filters and actions, and needs no rights for that.
"""

from __future__ import annotations

import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from slotcar.base.problems import printable
from slotcar.base.texts import lines_of
from slotcar.rollout.playbook import OF_THIS_PROCESS
from slotcar.watching.model import ChangeListener, Unwatched, WatchBroken
from slotcar.watching.tc_events import change_in

READY = "slotcar: watching"
#: Ends on the router when the connection does: a `tc monitor` alone would stay until the next change after that.
REMOTE = (
    "PATH=$PATH:/usr/sbin:/sbin; command -v tc >/dev/null || { echo there is no tc on this router >&2; exit 69; }; "
    "exec 3<&0; tc monitor </dev/null 3<&- & monitor=$!; "
    "{ cat <&3; kill $monitor; } >/dev/null 2>&1 & "
    f"exec 3<&-; echo {shlex.quote(READY)}; wait $monitor"
)
#: A dead link is found within three of these, in seconds.
ALIVE_S = 5
#: Beyond ssh's own time for a connection: for the keys, the login and the shell.
LOGIN_S = 30.0
LONGEST_LINE = 65_536
#: Between two looks at what came: a flood of notices waits at the router, and costs the controller little.
PACE_S = 0.05
_LOOK_S = 0.5
_END_S = 3.0
_LAST_WORDS = 400
#: iproute2's own word for notices that the kernel had no room for (`libnetlink.c`).
_OVERFLOW = b"No buffer space"


def ssh_command(variables: Mapping[str, Any]) -> list[str]:
    """As Ansible would log in, by a key, and on a connection that is shared with nobody.

    Raises:
        Unwatched: the inventory says that the router is reached in another way.
    """

    def first(*keys: str) -> str:
        return str(next((variables[key] for key in keys if variables.get(key) not in (None, "")), ""))

    connection = first("ansible_connection").removeprefix("ansible.builtin.")
    if connection not in ("", "ssh", "smart"):
        raise Unwatched(f"ansible_connection is {connection}: Linux routers are watched over ssh only")
    key = first("ansible_ssh_private_key_file", "ansible_private_key_file")
    if not key and first("ansible_password", "ansible_ssh_pass", "ansible_ssh_password"):
        raise Unwatched(
            "it is logged in to with a password, and watched with a key only (ansible_ssh_private_key_file)"
        )
    host = first("ansible_host", "ansible_ssh_host")
    if not host or host.startswith("-"):
        raise Unwatched("the inventory says no ansible_host")
    own = {
        "BatchMode": "yes", "ControlMaster": "no", "ControlPath": "none", "ServerAliveInterval": ALIVE_S,
        "ServerAliveCountMax": 3, "ConnectTimeout": _connect_s(first("ansible_ssh_timeout", "ansible_timeout")),
        "Port": first("ansible_port", "ansible_ssh_port"), "User": first("ansible_user", "ansible_ssh_user"),
    }  # fmt: skip
    command = [first("ansible_ssh_executable") or "ssh", "-T"]
    for option, value in own.items():
        command += ["-o", f"{option}={value}"] if value != "" else []
    command += ["-i", str(Path(key).expanduser())] if key else []
    for extra in ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"):
        command += shlex.split(first(extra))
    return [*command, "--", host, f"/bin/sh -c {shlex.quote(REMOTE)}"]


def _connect_s(value: str) -> int:
    return int(value) if value.isdigit() else 10


class LinuxSource:
    """The `Source` of one router. `command` prints `READY`, and then what `tc monitor` prints, until its input ends."""

    how = "tc monitor"
    echo_s = 0.0  # the kernel tells at once, and the comparison is a task of Ansible's of its own

    def __init__(self, command: Sequence[str], interfaces: Collection[str]) -> None:
        self._command = list(command)
        self._interfaces = frozenset(interfaces)

    def watch(self, listener: ChangeListener) -> None:
        environment = os.environ | dict([OF_THIS_PROCESS])
        try:
            process = subprocess.Popen(  # noqa: S603 - ssh, as a list and without a shell of this machine
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise WatchBroken(f"{self._command[0]} cannot be started: {error.strerror}") from error
        with process:
            try:
                _MonitorOutput(process, listener, self._interfaces).listen()
            finally:
                _end(process)


class _MonitorOutput:
    """What one process prints, taken apart into lines."""

    def __init__(self, process: subprocess.Popen[bytes], listener: ChangeListener, interfaces: frozenset[str]) -> None:
        self._process, self._listener, self._interfaces = process, listener, interfaces
        self._rest, self._errors = b"", b""
        self._is_up = False

    def listen(self) -> None:
        """
        Raises:
            WatchBroken: the process ended, printed no `READY` in time, or a line that is none.
        """
        login_ends_s = time.monotonic() + LOGIN_S
        with selectors.DefaultSelector() as selector:
            for stream in (self._process.stdout, self._process.stderr):
                assert stream is not None
                selector.register(stream, selectors.EVENT_READ)
            while not self._listener.ended.is_set():
                if not self._is_up and time.monotonic() > login_ends_s:
                    raise WatchBroken(f"no answer within {LOGIN_S:.0f} s")
                for key, _ in selector.select(_LOOK_S):
                    self._take(key.fileobj, selector)  # type: ignore[arg-type]
                self._listener.ended.wait(PACE_S)

    def _take(self, stream: IO[bytes], selector: selectors.BaseSelector) -> None:
        data = os.read(stream.fileno(), LONGEST_LINE)
        if not data:
            selector.unregister(stream)
            if stream is self._process.stdout:
                raise WatchBroken(self._last_words(selector))
        elif stream is self._process.stdout:
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._line(line.decode("utf-8", "replace"))
            if len(self._rest) > LONGEST_LINE:
                raise WatchBroken("it prints what tc monitor does not print")
        else:
            self._errors = (self._errors + data)[-_LAST_WORDS:]
            if _OVERFLOW in data:
                self._listener.changed("more changed than its kernel could tell")

    def _line(self, line: str) -> None:
        if not self._is_up:
            self._is_up = line.strip() == READY
            if self._is_up:
                self._listener.up()
        elif what := change_in(line, self._interfaces):
            self._listener.changed(what)

    def _last_words(self, selector: selectors.BaseSelector) -> str:
        while selector.get_map() and selector.select(_LOOK_S):
            data = os.read(self._process.stderr.fileno(), LONGEST_LINE)  # type: ignore[union-attr]
            self._errors = (self._errors + data)[-_LAST_WORDS:]
            if not data:
                break
        error_lines = lines_of(self._errors.decode("utf-8", "replace").strip())
        return printable(error_lines[-1].strip()) if error_lines else "the connection ended"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its input ends first, which ends `tc monitor` on the router."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
