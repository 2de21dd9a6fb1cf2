"""A webhook may ask for every kind of event that the controller records."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar.notify.webhooks import FAMILIES

ROOT = Path(__file__).resolve().parents[3]
#: A whole kind, or what an f-string of one begins with.
KIND = re.compile(r"([a-z-]+)\.(?:[a-z]+(?:-[a-z]+)*)?")
FILE = re.compile(r".*\.(cfg|csv|html|json|pem|pid|procs|sh|txt|yml)")
#: What is written like a kind and is none: keys, entry points, a unit of systemd, names in examples; and the kind of a
#: webhook's test, which is sent and never recorded.
NO_KINDS = {
    "communities",
    "defaults",
    "domains",
    "files",
    "groups",
    "labels",
    "rate",
    "slotcar",
    "steps",
    "tonight",
    "webhook",
    "wlcg",
}


def texts_of(source: str) -> Iterator[str]:
    """The string constants of a module but for the names of its loggers."""
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {
        id(one) for call in calls if ast.unparse(call.func).endswith(("get_logger", "getLogger")) for one in call.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in names:
            yield node.value


def families_of(source: str) -> set[str]:
    kinds = (KIND.fullmatch(text) for text in texts_of(source) if not FILE.fullmatch(text))
    return {kind[1] for kind in kinds if kind} - NO_KINDS


def test_every_family_of_events_can_be_asked_for_and_no_other() -> None:
    """Of all modules, however a kind comes from its constant to the event."""
    modules = (ROOT / "controller" / "slotcar").rglob("*.py")
    of_modules = {path.relative_to(ROOT): families_of(path.read_text(encoding="utf-8")) for path in modules}
    unknown = {
        str(path): families - set(FAMILIES) for path, families in of_modules.items() if families - set(FAMILIES)
    }
    assert unknown == {}


def test_the_reference_names_every_family() -> None:
    text = (ROOT / "docs" / "reference" / "webhooks.md").read_text(encoding="utf-8")
    assert [one for one in FAMILIES if f"`{one}.`" not in text] == []


@pytest.mark.parametrize(
    ("source", "families"),
    [
        ('self.ledger.append_event("tunnel.lost", now)', {"tunnel"}),
        ('LOST = "tunnel.lost"', {"tunnel"}),
        ('kind = "tunnel.lost" if gone else "tunnel.found-again"', {"tunnel"}),
        ('transaction.event(f"tunnel.{what}", now)', {"tunnel"}),
        ('log = structlog.get_logger("tunnel.lost")', set()),
        ('file = folder / "tunnel.json"', set()),
        ('words = "The tunnel.lost event"', set()),
    ],
)
def test_a_new_family_is_seen(source: str, families: set[str]) -> None:
    assert families_of(source) == families
