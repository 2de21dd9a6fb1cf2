"""Templates print whole objects and compute nothing: names, conditions, loops, and a comparison with a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import Environment, nodes

ROOT = Path(__file__).parents[3] / "templates"
TEMPLATES = sorted(ROOT.rglob("*.j2"))
#: Arithmetic, filters, tests and calls compute; a macro of the same file may be called.
FORBIDDEN = (nodes.BinExpr, nodes.Filter, nodes.Concat, nodes.Slice, nodes.UnaryExpr)


def computed(source: str) -> list[str]:
    tree = Environment(autoescape=False).parse(source)  # noqa: S701 - it is parsed only
    macros = {macro.name for macro in tree.find_all(nodes.Macro)}
    forbidden = [
        type(node).__name__ for node in tree.find_all(FORBIDDEN) if not isinstance(node, nodes.Not | nodes.And)
    ]
    forbidden += [
        f"call of {getattr(call.node, 'name', call.node)}"
        for call in tree.find_all(nodes.Call)
        if not (isinstance(call.node, nodes.Name) and call.node.name in macros)
    ]
    return forbidden


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_template_computes_nothing(template: Path) -> None:
    assert computed(template.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("source", ["{{ a * 8 }}", "{{ a | upper }}", "{{ a.strip() }}", "{{ a ~ b }}", "{{ a[1:] }}"])
def test_the_check_sees_what_computes(source: str) -> None:
    assert computed(source) != []


def test_ios_is_written_in_templates_and_not_in_python() -> None:
    """Python says `no …`, and names an object to edit it; what stands in an object is in its template alone."""
    words = ("police cir", "rate-limit input", "random-detect ", "match access-group", "set ip ", "bandwidth percent ")
    for source in (ROOT.parent / "controller" / "slotcar" / "platforms").rglob("*.py"):
        if source.name in ("reading.py", "running.py"):
            continue
        text = source.read_text(encoding="utf-8")
        assert [word for word in words if f'"{word}' in text or f'f"{word}' in text] == [], source
