"""One session at a router's command line: EXEC mode, configuration mode, pipes, the pager. It knows no network."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable

from slotcar_lab.ios.commands import change, files, registry, session, show
from slotcar_lab.ios.configuration import Answer, Kind
from slotcar_lab.ios.faults import SessionDropped
from slotcar_lab.ios.grammar.pattern import Attempt
from slotcar_lab.ios.machine import Machine
from slotcar_lab.ios.output import filtered, with_ends
from slotcar_lab.ios.terminal import BREAK, END, Closed, Terminal, explain

#: Importing them registers their commands.
COMMANDS = (change, files, session, show)


class Shell(Terminal):
    """A terminal that takes commands and configuration lines."""

    async def run(self) -> None:
        """Serve until the other end or `exit` closes the session.

        Raises:
            SessionDropped: a fault ends it.
        """
        with contextlib.suppress(Closed):
            self.put("\n")
            while True:
                self.put(self.prompt)
                await self.execute(await self.read_line())
                self.flush()
        self.flush()

    async def execute(self, line: str) -> None:
        if line in (END, BREAK):
            self.cursor = None
        elif self.cursor is None:
            await self.run_command(line, 0)
        else:
            await self._configure(line)

    async def _configure(self, line: str) -> None:
        assert self.cursor is not None
        words = [] if self.cursor.delimiter else line.split()
        if words[:1] == ["do"] and len(words) > 1:
            rest = line.split("do", 1)[1].lstrip()
            await self.run_command(rest, len(line) - len(rest))
        elif words == ["end"] or (words == ["exit"] and len(self.cursor.path) == 1):
            self.cursor = None
        else:
            self._flush_before_waiting()
            offset = len(self.prompt)
            answer = await self.machine.take(self.cursor, line, self.user, "terminal")
            self.put(explain(answer, line, offset))

    def _flush_before_waiting(self) -> None:
        if self.machine.faults.active:
            self.flush()

    async def run_command(self, line: str, offset: int) -> None:
        """One command of EXEC mode; `offset` is where it begins in what was typed."""
        if not line.strip() or line.lstrip().startswith("!"):
            return
        self._flush_before_waiting()
        self.machine.commands.append((time.time_ns(), self.user, line.strip()))
        text, _, pipe = line.partition("|")
        command_or_answer = registry.find(text.split(), self.level)
        if isinstance(command_or_answer, Answer):
            self.put(explain(command_or_answer, text, len(self.prompt) + offset))
            return
        command, match = command_or_answer
        output = await command.run(self, dict(match.captures))
        if pipe:
            kept = filtered(output or "", pipe)
            if kept is None:
                self.put(explain(Answer(Kind.INCOMPLETE), line, 0))
                return
            output = kept
        await self._page(output or "")

    async def _page(self, output: str) -> None:
        lines = with_ends(output)
        room = self.length - 1 if self.length else len(lines)
        while lines:
            for line in lines[:room]:
                self.put(line)
            lines = lines[room:]
            if lines:
                self.put(" --More-- ")
                key = await self.read_key()
                self.put("\x08" * 10 + " " * 10 + "\x08" * 10)
                if key in "qQ" + BREAK:
                    self.put("\n")
                    return
                room = 1 if key in "\r\n" else self.length - 1

    def next_words(self, line: str) -> str:
        words, begun = line.split(), "" if not line or line.endswith(" ") else line.split()[-1]
        attempt = Attempt(words[:-1] if begun else words)
        if self.cursor is None:
            registry.match_all(attempt, self.level)
        else:
            for entry in self.machine.running.grammar.entries.get(self.cursor.path[-1].mode, ()):
                entry.pattern.match(attempt)
        if attempt.furthest < len(attempt.words):
            return "% Unrecognized command\n"
        words = sorted(word for word in attempt.expected if word.lower().startswith(begun.lower()))
        return "".join(f"  {word}\n" for word in words) + "\n"


async def run_unattended(machine: Machine, user: str, commands: Iterable[str], timeout_s: float) -> bool:
    """Runs commands with nobody logged in, as the Embedded Event Manager does, with privilege 15 and no pager.

    Returns:
        Whether all of them ran within `timeout_s`; a command that asks something waits for an answer until then.
    """
    shell = Shell(machine, user, lambda text: None, level=15)
    shell.length = 0
    try:
        async with asyncio.timeout(timeout_s):
            for command in commands:
                await shell.execute(command)
    except (TimeoutError, SessionDropped):
        shell.close()
        return False
    return True
