"""What a document tells its reader to do: files to write and commands to run, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.\w+)\n")
_CODE = re.compile(r"\s+# ends with (\d)$")
_REMARK = re.compile(r"\s+# .*$")


@dataclass(frozen=True)
class File:
    """A block of YAML or Python whose first line is a comment with a file's name."""

    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """A line of a console block, and the exit code that the document says."""

    line: str
    code: int


def steps(document: Path, section: str = "") -> Iterator[File | Command]:
    """Of a whole document, or of one of its sections with two hashes."""
    whole = document.read_text(encoding="utf-8")
    text = whole.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0] if section else whole
    for language, block in _BLOCK.findall(text):
        if language in ("yaml", "python") and (named := _FILE.match(block)):
            yield File(named[1], block)
        elif language == "console":
            for line in filter(None, block.splitlines()):
                code = _CODE.search(line)
                yield Command(_REMARK.sub("", line), int(code[1]) if code else 0)
