"""Copies of an experiment's inventory and reservations in the lab's rates, which is what its controller reads."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from slotcar_lab.experiments.scale import Scale

#: How soon a short run's first slot starts, seconds after its reservation was made.
SMOKE_LEAD_S = 32
STARTS = re.compile(r"now \+ (\d+) s")


def scaled_inventory(inventory: Path, folder: Path, scale: Scale) -> Path:
    """A copy of the inventory in a folder, in the lab's rates."""
    copy = folder / "inventories" / f"{inventory.parent.name}-{inventory.name}"
    shutil.copytree(inventory, copy, dirs_exist_ok=True)
    for file in copy.rglob("*.yml"):
        file.write_text(scale.text(file.read_text()))
    return copy


def scaled_reservations(file: Path, folder: Path, scale: Scale, *, soon: bool) -> Path:
    """A copy of a file of reservations in a folder, in the lab's rates; `soon` for a short run, whose slots are earlier."""
    text = scale.text(file.read_text())
    copy = folder / f"{file.parent.name}-{file.name}"
    copy.write_text(_sooner(text) if soon else text)
    return copy


def _sooner(text: str) -> str:
    """The same reservations, the first of which starts as soon as short stages and their arming let it."""
    earlier_s = max(0, min(int(start) for start in STARTS.findall(text)) - SMOKE_LEAD_S)
    return STARTS.sub(lambda start: f"now + {int(start[1]) - earlier_s} s", text)
