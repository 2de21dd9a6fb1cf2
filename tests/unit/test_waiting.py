"""No test gives an answer only the seconds that a library happens to allow: the first one may wait for a compilation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
#: What asks over HTTP, and waits five seconds unless `timeout` says otherwise.
ASKS = {"Client", "get", "post", "put", "patch", "delete", "request", "stream"}


def impatient(source: str) -> Iterator[int]:
    """The lines that call httpx without a `timeout`."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of_httpx = isinstance(node.func.value, ast.Name) and node.func.value.id == "httpx"
        if of_httpx and node.func.attr in ASKS and "timeout" not in {one.arg for one in node.keywords}:
            yield node.lineno


def test_a_call_without_a_timeout_is_found() -> None:
    assert list(impatient("httpx.get(url)\nhttpx.Client(timeout=3.0)\nclient.get(path)\nhttpx.Client()")) == [1, 4]


def test_every_call_of_a_test_says_how_long_it_waits() -> None:
    lines = {
        f"{path.relative_to(TESTS)}:{line}" for path in TESTS.rglob("*.py") for line in impatient(path.read_text())
    }
    assert lines == set()
