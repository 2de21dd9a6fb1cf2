"""A webhook may ask for every kind of event that the controller records."""

from __future__ import annotations

import re
from pathlib import Path

from slotcar.notify.webhooks import FAMILIES

ROOT = Path(__file__).resolve().parents[3]


def test_every_family_of_events_can_be_asked_for() -> None:
    call = re.compile(r'(?:append_event|\.event|record)\(\s*f?"([a-z-]+)\.')
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "controller" / "slotcar").rglob("*.py")]
    recorded = {family for text in texts for family in call.findall(text)}
    assert recorded >= {"reservation", "push", "device"}
    assert recorded <= set(FAMILIES)
