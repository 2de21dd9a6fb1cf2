"""Writes a page for each role and plugin of the collection into docs/collection/, out of what Ansible itself reads.

Usage: `python tools/collection_docs.py FOLDER`. `make generate` writes them into docs/collection, and a test compares them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

TOP = Path(__file__).resolve().parents[1]
#: Ansible's markup for a word of code, an option and a returned value.
_MARKUP = re.compile(r"\b(?:C|O|RV)\(([^)]+)\)")


def pages() -> dict[str, str]:
    """File name -> text."""
    return {
        **{
            f"role-{path.parents[1].name}.md": _role(path)
            for path in sorted(TOP.glob("roles/*/meta/argument_specs.yml"))
        },
        **{f"plugin-{path.stem}.md": _plugin(path) for path in sorted(TOP.glob("plugins/modules/*.py"))},
    }


def _role(path: Path) -> str:
    name = path.parents[1].name
    lines = [f"# Role slotcar.broker.{name}", ""]
    for entry, spec in yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"].items():
        lines += [
            f"## tasks_from: {entry}",
            "",
            f"{spec['short_description']}.",
            "",
            *_options(spec.get("options", {})),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def _plugin(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    doc = yaml.safe_load(str(texts["DOCUMENTATION"]))
    lines = [f"# Plugin slotcar.broker.{path.stem}", "", f"{doc['short_description']}.", ""]
    lines += [f"- {_markdown(sentence)}" for sentence in doc["description"]]
    lines += ["", *_options(doc["options"]), "", "```yaml", str(texts["EXAMPLES"]).strip(), "```"]
    return "\n".join(lines) + "\n"


def _options(options: Mapping[str, Any]) -> Iterator[str]:
    if not options:
        return
    yield "| option | type | required, or default | meaning |"
    yield "|---|---|---|---|"
    for name, one in options.items():
        default = "required" if one.get("required") else f"`{one['default']!r}`" if "default" in one else ""
        words = one["description"]
        text = _markdown(" ".join(words) if isinstance(words, list) else words)
        choices = f" One of {', '.join(f'`{choice}`' for choice in one['choices'])}." if "choices" in one else ""
        yield f"| `{name}` | {one['type']} | {default} | {text}{choices} |"


def _markdown(text: str) -> str:
    return _MARKUP.sub(r"`\1`", text)


def main(folder: str) -> None:
    for name, text in pages().items():
        Path(folder, name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
