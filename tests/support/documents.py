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


def steps(document: Path) -> Iterator[File | Command]:
    for language, text in _BLOCK.findall(document.read_text(encoding="utf-8")):
        if language in ("yaml", "python") and (named := _FILE.match(text)):
            yield File(named[1], text)
        elif language == "console":
            for line in filter(None, text.splitlines()):
                code = _CODE.search(line)
                yield Command(_REMARK.sub("", line), int(code[1]) if code else 0)
