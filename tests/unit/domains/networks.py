"""The lab's network, and as each of its domains sees it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from slotcar.network import Network, load_network
from slotcar.network.elsewhere import seen_by

LAB = Path(__file__).parents[3] / "inventories" / "lab"


@cache
def lab() -> Network:
    return load_network(LAB)


@cache
def lab_of(domain: str) -> Network:
    return seen_by(lab(), domain)
