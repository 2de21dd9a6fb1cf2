"""What stands in a running configuration and is no configuration: banners, messages, titles of menus, macros.

IOS prints them at whatever column they were written, and a macro's lines are those of a configuration. By the command
references ("banner motd", "aaa authentication banner", "refuse-message", "menu title", "macro name") a text goes from a
delimiter, which IOS prints as `^C`, to the same delimiter, and a macro from `macro name` to `@`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from slotcar.base.texts import BLANKS, lines_of

#: Statements that have a delimiter, whatever it is, and a text.
_DELIMITED = re.compile(
    r"[ \t]*(?:banner (?!\^C)[^ ]+|aaa authentication (?:banner|fail-message)|(?:refuse|vacant)-message"
    r"|(?:busy-message|login-string) [^ ]+|menu [^ ]+ (?:title|prompt)) (\^C|[^ ])"
)
#: Statements that may have one: `^C` alone tells.
_ETX = re.compile(
    r"[ \t]*(?:banner|(?:ip (?:admission|auth-proxy) )?auth-proxy-banner(?: [^ ]+)?|menu [^ ]+ [a-z-]+) (\^C|\x03)"
)
_MACRO = re.compile(r"macro name [^ ]+[ \t]*$")
#: Auto Smartports: a function in braces.
_FUNCTION = re.compile(r"(?:macro auto execute|shell function) .*\{[ \t]*$")


class UnendedText(Exception):
    """The message is the line that a text began with."""


def without_free_text(text: str) -> Iterator[str]:
    """The lines of a configuration that are one, without the blanks behind them.

    Raises:
        UnendedText: a text goes on to the end; what stands behind it was not seen.
    """
    lines = iter(lines_of(text))
    for line in lines:
        if match := _DELIMITED.match(line) or _ETX.match(line):
            if match[1] not in line[match.end() :]:
                _skip(line, lines, match[1])
        elif _MACRO.match(line):
            _skip(line, lines, "@")
        elif _FUNCTION.match(line):
            _skip_function(line, lines)
        else:
            yield line.rstrip(BLANKS)


def _skip(first: str, lines: Iterator[str], delimiter: str) -> None:
    for line in lines:
        if delimiter in line if delimiter != "@" else line.strip(BLANKS) == "@":
            return
    raise UnendedText(first)


def _skip_function(first: str, lines: Iterator[str]) -> None:
    depth = 1
    for line in lines:
        bare = line.strip(BLANKS)
        depth += bare.endswith("{") - bare.startswith("}")
        if not depth:
            return
    raise UnendedText(first)
