"""A router's shell over any connection, and many questions in one command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slotcar.base.texts import lines_of
from slotcar.rollout.transport import DeviceError

_MARK = "--slotcar"


@dataclass(frozen=True, slots=True)
class ShellAnswer:
    """What a command ended with."""

    code: int
    stdout: str
    stderr: str

    @property
    def words(self) -> str:
        """Why it failed, as far as it said so."""
        return (self.stderr or self.stdout).strip() or f"it ended with status {self.code}"


class Shell(Protocol):
    """Runs a command of the router's shell, as root, with a text on its standard input."""

    def run(self, command: str, text: str = "") -> ShellAnswer: ...


def ask(shell: Shell, commands: Sequence[str]) -> dict[str, str]:
    """Runs commands that only show, all in one go: each login's command costs more than what it runs.

    Raises:
        DeviceError: one of them failed.
    """
    script = "".join(f"{command}\nprintf '\\n{_MARK} %s\\n' $?\n" for command in commands)
    done = shell.run("sh -s", script)
    answers: dict[str, str] = {}
    lines: list[str] = []
    for line in lines_of(done.stdout):
        if not line.startswith(_MARK):
            lines.append(line)
            continue
        command = commands[len(answers)]
        if lines and not lines[-1]:
            lines.pop()  # the mark stands on a line of its own
        if line.split()[1] != "0":
            why = done.stderr.strip() or "\n".join(lines) or f"it ended with status {line.split()[1]}"
            raise DeviceError(f"`{command}`: {why}")
        answers[command] = "".join(f"{line}\n" for line in lines)
        lines = []
    if len(answers) < len(commands):
        raise DeviceError(f"`{commands[len(answers)]}`: {done.words}")
    return answers
