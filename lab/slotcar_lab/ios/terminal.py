"""One session as the commands see it: what is typed and printed, its prompts, its privilege. It knows no command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from slotcar_lab.ios.configuration import Answer, Cursor, Kind
from slotcar_lab.ios.machine import Machine

#: IOS cuts the host's name in a configuration prompt.
PROMPT_NAME = 20
END, BREAK = "\x1a", "\x03"


class Closed(Exception):
    """The session is over."""


class Terminal:
    """What is typed and printed in one session, and its state.

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

    @property
    def prompt(self) -> str:
        name = self.machine.running.hostname
        if self.cursor is None:
            return f"{name}{'#' if self.level == 15 else '>'}"
        section = self.cursor.path[-1]
        mode = self.machine.running.grammar.modes[section.mode].prompt
        if section.mode == "interface" and "." in section.captures.get("name", ""):
            mode = "config-subif"
        return f"{name[:PROMPT_NAME]}({mode})#"

    def put(self, text: str) -> None:
        self._out.append(text.replace("\n", "\r\n"))

    def flush(self) -> None:
        """Send what was put. The server cuts it into pieces."""
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
                # Before the work: whoever looks for the end of a question sees its echo alone for as long as that takes.
                self.put("\n")
                self.flush()
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
                self.put(f"?\n{self.next_words(line)}{self.prompt}{line}")
            elif key >= " " or key == "\t":
                line += key
                self.put(key if echo else "")

    async def ask(self, question: str, *, echo: bool = True) -> str:
        self.put(question)
        return await self.read_line(echo=echo)

    def next_words(self, line: str) -> str:
        """What `?` prints after `line`: the words that may come next. Nothing where there are no commands."""
        return ""


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
