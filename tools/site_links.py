"""A hook of MkDocs: links out of docs/ into the repository become the path in plain text, which a checkout has.

README.md and CHANGELOG.md of the top are pages of the site too. A path that is not there stays a link, which fails the
build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

TOP = Path(__file__).resolve().parents[1]
#: Pages out of the repository's top.
FROM_THE_TOP = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<path>[^)#\s:]+)(?P<rest>#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    for name, source in FROM_THE_TOP.items():
        text = (TOP / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=re.sub(r"\]\(docs/", "](", text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    name = page.file.src_uri
    here = TOP / "docs" / Path(name).parent

    def plain(match: re.Match[str]) -> str:
        target = (here / match["path"]).resolve() if name not in FROM_THE_TOP else (TOP / match["path"]).resolve()
        if name in FROM_THE_TOP and (TOP / "docs" / match["path"]).exists():
            target = (TOP / "docs" / match["path"]).resolve()
        if not target.exists() or target == TOP / "README.md":
            return match[0]
        outside = (
            not target.is_relative_to(TOP / "docs") or target.is_dir() or target.suffix not in (".md", ".svg", ".png")
        )
        return f"{match['text']} (`{target.relative_to(TOP)}`)" if outside else match[0]

    return _LINK.sub(plain, markdown)
