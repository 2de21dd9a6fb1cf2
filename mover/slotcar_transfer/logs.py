"""What is logged is one line each: names of files and what other ends say may hold line breaks and terminal codes."""

from __future__ import annotations

import logging
from types import TracebackType


def printable(text: str) -> str:
    """The text with every character replaced that would end its line or steer a terminal."""
    return text if text.isprintable() else "".join(one if one.isprintable() else "\ufffd" for one in text)


class OneLine(logging.Formatter):
    """Writes a record as one line. The lines of a traceback follow, indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        return printable(super().formatMessage(record))

    def formatException(  # noqa: N802 - logging's own name
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "\n".join(f"    {printable(line)}" for line in super().formatException(ei).split("\n"))
