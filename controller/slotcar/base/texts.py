"""Where lines and words end in what a device or a person wrote.

Python's own `str.splitlines`, `split` and `strip` go by Unicode: they also cut at U+0085, U+2028 or a form feed, and at a
no-break space. A router knows none of these. What it prints are bytes, and its text is read as latin-1, in which the second
byte of a UTF-8 `Å` is U+0085 and that of `à` a no-break space.
"""

from __future__ import annotations

BLANKS = " \t"


def lines_of(text: str) -> list[str]:
    """The lines, which end at `\\n` and `\\r\\n` and nowhere else. A last one without an end counts."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def words_of(line: str) -> list[str]:
    """The words, which blanks and tabs keep apart, and nothing else."""
    return [word for word in line.replace("\t", " ").split(" ") if word]
