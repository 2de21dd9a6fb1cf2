"""What a router prints after a line that was typed: the line's echo, an answer, a prompt. Pure: pieces of output go in, and
it says whether the answer is whole and whether the router asks something.

A router sends its output in whatever pieces it likes, and what it prints holds what people wrote: a banner may have a line
that looks like a question or like a prompt. So

- an answer begins with the echo of its own line. What begins otherwise belongs to another line, or to nobody;
- an answer ends with the prompt that was seen at login, on a line of its own, with nothing behind it;
- a question stands at the very end, without a newline behind it, and is answered once. Only some commands ask one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: What every session types first: its echo shows which prompt the router has, and nothing is paged after it.
FIRST = "terminal length 0"
#: What may be a prompt, before one is known.
_PROMPT = re.compile(r"(?:^|\n)[^\n]*[^\s>#] ?[>#] ?\Z")
_FIRST_ECHO = re.compile(rf"(?:^|\n)(?P<name>[^\n]*[^\s>#] ?)(?P<end>[>#] ?){FIRST} *\n")
#: Configuration mode: `router(config-if)#`. IOS cuts long names there, and not in the same place in every mode.
_CONFIGURING = r"[^\s()]*\([^()\n]+\)# ?\Z"
_LONGEST_KEPT = 16
#: Which commands ask, and how.
_NAME_OR_CONFIRM = re.compile(r"\[[^\]\n]*\]\? ?\Z|\[confirm\] ?\Z")
_PASSWORD = re.compile(r"[Pp]assword: ?\Z")
_QUESTIONS = {"copy": _NAME_OR_CONFIRM, "delete": _NAME_OR_CONFIRM, "enable": _PASSWORD}
#: Enough of an output's end to see a question or a prompt in it.
_TAIL = 1_000


class OutOfStep(Exception):
    """The output is no answer to what was typed. The message says what it is, and never holds a secret."""


class Prompts:
    """A router's prompts, as they were seen at login."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.configuring = False
        self._cut_name = ""

    def after(self, line: str) -> re.Pattern[str]:
        """The prompts that can come after a line, on a line of their own at the end."""
        name = rf"{re.escape(self.name)}[>#] ?\Z"
        if line.startswith("configure terminal"):
            # With a `prompt` of the operator's own the name is another one from here on.
            return re.compile(rf"\n(?:{name}|{_CONFIGURING})")
        return re.compile(rf"\n(?:{name}|{self._cut_name}{_CONFIGURING})" if self.configuring else rf"\n{name}")

    def learn(self, prompt: str) -> None:
        """What ended the last answer."""
        was, self.configuring = self.configuring, prompt.rstrip(" ")[:-1] != self.name
        if self.configuring and not was:
            self._cut_name = re.escape(prompt.partition("(")[0][:_LONGEST_KEPT])


def may_be_prompt(printed: str) -> bool:
    """Whether the router seems to wait for its first line. A banner's line that was cut may look so, too."""
    return _PROMPT.search(plain(printed[-_TAIL:])) is not None


def prompts_of(printed: str) -> Prompts | None:
    """The prompts of a router that printed this from its login to the prompt after `FIRST`; None where more is to come."""
    text = plain(printed)
    for match in _FIRST_ECHO.finditer(text):
        if text[match.end() - 1 :].endswith(f"\n{match['name']}{match['end']}"):
            return Prompts(match["name"])
    return None


def plain(printed: str) -> str:
    """The output with its line ends as `\\n`."""
    return printed.replace("\r\n", "\n")


class PrintedAnswer:
    """The answer to one line, piece by piece.

    Args:
        line: what was typed.
        end: the prompt that ends it.
        replies: what is typed to the questions that it may ask, one after another.
    """

    def __init__(self, line: str, end: re.Pattern[str], replies: Iterator[str]) -> None:
        self._line = line
        self._end = end
        self._question = _QUESTIONS.get(line.partition(" ")[0])
        self._replies = replies
        self._printed = ""
        self._replied_at = 0
        self.prompt = ""

    @property
    def whole(self) -> bool:
        return bool(self.prompt)

    def add(self, piece: str) -> str | None:
        """What is to be typed after this piece, if anything.

        Raises:
            OutOfStep: it does not begin with its echo, or the router asks more than it should.
        """
        self._printed += piece
        echoed = self._check_echo()
        tail = plain(self._printed[-_TAIL:])
        if echoed and (match := self._end.search(tail)):
            self.prompt = match[0].lstrip("\n")
            return None
        is_new = self._printed.rfind("\n") >= self._replied_at
        if not (echoed and is_new and self._question and self._question.search(tail)):
            return None
        reply = next(self._replies, None)
        if reply is None:
            raise OutOfStep(f"it asks again: {tail.rpartition(chr(10))[2].strip()}")
        self._replied_at = len(self._printed)
        return reply

    def until(self, mark: str) -> None:
        """The answer goes on until a comment that was typed is echoed behind a prompt: what looked like one may have been a
        line of a banner that was cut there."""
        prompt = re.escape(self.prompt.rstrip(" "))
        self._end = re.compile(rf"\n{prompt} ?{re.escape(mark)} *\n{prompt} ?\Z")
        self.prompt = ""

    @property
    def text(self) -> str:
        """What stands between the echo and the prompt that ends it, without the last newline."""
        printed = plain(self._printed)
        match = self._end.search(printed)
        assert match is not None
        first = printed.index("\n")
        return printed[first + 1 : match.start()] if match.start() > first else ""

    def _check_echo(self) -> bool:
        """Whether the echo is whole."""
        # A prompt may end with a blank, and be cut before it.
        line, printed = self._line, self._printed.lstrip(" ")
        if len(printed) <= len(line):
            right = line.startswith(printed)
        else:
            behind = printed[len(line) :].lstrip("\r ")
            right = printed.startswith(line) and behind[:1] in ("", "\n")
        if not right:
            raise OutOfStep(f"the router's answer does not begin with it, but with `{printed.strip()[:60]}`")
        return "\n" in printed[len(line) :]
