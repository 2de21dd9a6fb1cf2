"""Commands as a person types them, in a pseudo-terminal of 80 columns or through pipes, and what they show: golden files.

What differs from run to run (times, handles, revisions, numbers of events) is replaced by letters of the same width.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.patience import PATIENCE_S

SLOTCAR = Path(sys.executable).with_name("slotcar")
COLUMNS, ROWS = 80, 50
_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_VARYING = (
    (re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}"), "YYYYMMDDThhmmss.uuuuuuZ-revision"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "YYYY-MM-DDThh:mm:ssZ"),
    (re.compile(r"\br-[0-9a-z]{16}\b"), "r-xxxxxxxxxxxxxxxx"),
    (re.compile(r"\bin (\d+ d )?(\d+ h )?(\d+ min )?\d+ s\b"), "in D d HH h MM min SS s"),
    (re.compile(r"(?m)^\d+(?=  )"), "NN"),
)
#: What a slow machine is told at a terminal, and a quick one is not.
_WAITING = re.compile(r"^.*: \d+ s$")


@dataclass
class Session:
    """A person's, at a terminal (`tty`) or through pipes.

    Attributes:
        hidden: texts of this run alone (folders, ports) and what stands for each.
    """

    environment: Mapping[str, str]
    folder: Path
    tty: bool
    hidden: dict[str, str] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    def say(self, words: str) -> None:
        """What the person knows or does without Slotcar."""
        self.shown.append(f"# {words}\n\n")

    def run(self, *arguments: str, answer: str = "", code: int = 0) -> str:
        """A command, with what the person answers where it asks: through a pipe that is `--yes`."""
        words = [*arguments, *(["--yes"] if answer and not self.tty else [])]
        ended, text = self._at_terminal(words, answer) if self.tty else self._piped(words)
        text = self._same_everywhere(text)
        shown = f"$ slotcar {' '.join(f'{one!r}' if ' ' in one else one for one in words)}\n{text}"
        self.shown.append(shown + (f"[{ended}]\n" if ended else "") + "\n")
        assert ended == code, shown
        return text

    def _piped(self, words: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            [str(SLOTCAR), *words], env=dict(self.environment), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def _at_terminal(self, words: list[str], answer: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = subprocess.Popen(
            [str(SLOTCAR), *words], env={**self.environment, "TERM": "xterm"}, cwd=self.folder,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        parts: list[bytes] = []

        def read() -> None:
            while True:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # nobody has the other side open any more
                    return
                parts.append(part)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        while answer and process.poll() is None:
            if b"[y/N]: " in b"".join(parts):
                os.write(ours, f"{answer}\n".encode())
                break
            time.sleep(0.05)
        ended = process.wait(PATIENCE_S)
        reader.join(PATIENCE_S)
        os.close(ours)
        return ended, b"".join(parts).decode()

    def _same_everywhere(self, text: str) -> str:
        text = _STEERING.sub("", text)
        for words, instead in self.hidden.items():
            text = text.replace(words, instead)
        for pattern, instead in _VARYING:
            text = pattern.sub(instead, text)
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if not _WAITING.match(line))

    @property
    def transcript(self) -> str:
        return "".join(self.shown)
