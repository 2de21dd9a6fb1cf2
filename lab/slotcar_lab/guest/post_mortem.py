"""What a guest that no longer answers was doing: its processors' registers and its kernel's stacks."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from pathlib import Path
from typing import Any

MONITOR = "qmp.sock"
#: What the kernel is told, so that an interrupt that nobody expects ends it with the stacks of all its processors.
KERNEL_WORDS = "unknown_nmi_panic panic_print=0x40"
LONGEST_SOCKET_PATH = 100
ANSWER_S = 10.0
LINES = 200
#: Lines of a kernel's stacks that only repeat what processors held.
HELD = re.compile(r"\] (Code|R[A-Z0-9]{2}): |\]  \? ")


def monitor_words(folder: Path) -> list[str]:
    """QEMU's words for the socket that it takes commands at; none where the folder's path is too long for a socket's."""
    path = str(folder / MONITOR)
    return ["-qmp", f"unix:{path},server=on,wait=off"] if len(path) <= LONGEST_SOCKET_PATH else []


def examine(folder: Path, patience_s: float = ANSWER_S) -> str:
    """End a guest by an interrupt that makes its kernel write all stacks; what its processors and its console show.

    Args:
        folder: where `machine.start` put the guest's console.
        patience_s: how long each answer may take, and the guest to end.
    """
    written: list[str] = []
    try:
        with _Monitor(folder / MONITOR, patience_s) as monitor:
            written += monitor.registers()
            monitor.command("inject-nmi")
            monitor.wait_until_closed()  # QEMU ends with the kernel (panic=-1, -no-reboot)
    except (OSError, ValueError) as error:
        written.append(f"QEMU does not take commands: {error}")
    with contextlib.suppress(OSError):
        console = (folder / "console.log").read_text(errors="replace").splitlines()[-LINES:]
        written += [line for line in console if not HELD.search(line)]
    return "\n".join(written)


class _Monitor:
    """QEMU's machine protocol: one line of JSON for each command, and one for each answer."""

    def __init__(self, path: Path, patience_s: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(patience_s)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rw", encoding="utf-8")

    def __enter__(self) -> _Monitor:
        self._file.readline()
        self.command("qmp_capabilities")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def command(self, name: str, **arguments: str) -> Any:
        self._file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self._file.flush()
        while line := self._file.readline():
            answer = json.loads(line)
            if "event" not in answer:
                return answer.get("return")
        raise OSError("it closed the connection")

    def wait_until_closed(self) -> None:
        while self._file.readline():
            continue

    def registers(self) -> list[str]:
        """Of each processor, where it is (RIP), its flags, and whether it is halted."""
        shown = str(self.command("human-monitor-command", **{"command-line": "info registers -a"}))
        return re.findall(r"CPU#\d+|RIP=.*", shown)
