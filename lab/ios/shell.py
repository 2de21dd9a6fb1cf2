"""One session at a router's command line: what it echoes, its prompts, its modes. It knows no network."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from lab.ios.commands import registry
from lab.ios.configuration import Answer, Cursor, Kind
from lab.ios.grammar.pattern import Attempt
from lab.ios.machine import Machine
from lab.ios.output import filtered

#: IOS cuts the host's name in a configuration prompt.
PROMPT_NAME = 20
END, BREAK = "\x1a", "\x03"


class Closed(Exception):
    """The session is over."""


class Shell:
    """
    Args:
        write: sends text to the other end.
        level: privilege, 1 or 15.
    """

    def __init__(self, machine: Machine, user: str, write: Callable[[str], None], level: int) -> None:
        self.machine = machine
        self.user = user
        self.level = level
        self.length = 24
        self.cursor: Cursor | None = None
        self._write = write
        self._out: list[str] = []
        self._typed = ""
        self._arrived = asyncio.Event()
        self._closed = False
        self._skip_newline = False

    def feed(self, text: str) -> None:
        self._typed += text
        self._arrived.set()

    def close(self) -> None:
        self._closed = True
        self._arrived.set()

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

    @property
    def prompt(self) -> str:
        name = self.machine.running.hostname
        if self.cursor is None:
            return f"{name}{'#' if self.level == 15 else '>'}"
        section = self.cursor.path[-1]
        told = self.machine.running.grammar.modes[section.mode].prompt
        if section.mode == "interface" and "." in section.captures.get("name", ""):
            told = "config-subif"
        return f"{name[:PROMPT_NAME]}({told})#"

    def put(self, text: str) -> None:
        self._out.append(text.replace("\n", "\r\n"))

    def flush(self) -> None:
        """Send all that was put, in one write: writes of single characters made a push five times slower."""
        if self._out:
            self._write("".join(self._out))
            self._out.clear()

    async def read_key(self) -> str:
        """One character; the newline of a return and a newline is none of its own."""
        while True:
            while not self._typed:
                if self._closed:
                    raise Closed
                self.flush()
                self._arrived.clear()
                await self._arrived.wait()
            key, self._typed = self._typed[0], self._typed[1:]
            skip, self._skip_newline = self._skip_newline, key == "\r"
            if not (skip and key == "\n"):
                return key

    async def read_line(self, *, echo: bool = True) -> str:
        """One line; control-Z and control-C give themselves."""
        line = ""
        while True:
            key = await self.read_key()
            if key in "\r\n":
                self.put("\n")
                return line
            if key in (END, BREAK):
                self.put("^Z\n" if key == END else "\n")
                return key
            if key in "\x7f\x08":
                self.put("\x08 \x08" if line and echo else "")
                line = line[:-1]
            elif key == "\x15":
                self.put("\x08 \x08" * len(line) if echo else "")
                line = ""
            elif key == "?" and echo and not (self.cursor and self.cursor.delimiter):
                self.put(f"?\n{self._help(line)}{self.prompt}{line}")
            elif key >= " " or key == "\t":
                line += key
                self.put(key if echo else "")

    async def ask(self, question: str, *, echo: bool = True) -> str:
        self.put(question)
        return await self.read_line(echo=echo)

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
        found = registry.find(text.split(), self.level)
        if isinstance(found, Answer):
            self.put(explain(found, text, len(self.prompt) + offset))
            return
        command, match = found
        output = await command.run(self, dict(match.captures))
        if pipe:
            kept = filtered(output or "", pipe)
            if kept is None:
                self.put(explain(Answer(Kind.INCOMPLETE), line, 0))
                return
            output = kept
        await self._page(output or "")

    async def _page(self, output: str) -> None:
        lines = output.splitlines(keepends=True)
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

    def _help(self, line: str) -> str:
        """What may stand next, as `?` shows it."""
        words, begun = line.split(), "" if not line or line.endswith(" ") else line.split()[-1]
        attempt = Attempt(words[:-1] if begun else words)
        if self.cursor is None:
            registry.match_all(attempt, self.level)
        else:
            for entry in self.machine.running.grammar.entries.get(self.cursor.path[-1].mode, ()):
                entry.pattern.match(attempt)
        if attempt.furthest < len(attempt.words):
            return "% Unrecognized command\n"
        told = sorted(word for word in attempt.expected if word.lower().startswith(begun.lower()))
        return "".join(f"  {word}\n" for word in told) + "\n"


def explain(answer: Answer, line: str, offset: int) -> str:
    """What IOS prints for an answer; the caret stands below the word that it cannot take."""
    if answer.kind is Kind.INVALID:
        at, words = 0, line.split()
        for word in words[: answer.word + 1]:
            at = line.index(word, at) + len(word)
        at -= len(words[answer.word]) if answer.word < len(words) else 0
        return f"{' ' * (offset + at)}^\n% Invalid input detected at '^' marker.\n\n"
    if answer.kind is Kind.INCOMPLETE:
        return "% Incomplete command.\n\n"
    if answer.kind is Kind.AMBIGUOUS:
        return f'% Ambiguous command:  "{line.strip()}"\n'
    return f"{answer.message}\n" if answer.message else ""
