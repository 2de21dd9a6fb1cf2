"""`slotcar-transfer` on hosts of the lab, out of the checkout."""

from __future__ import annotations

import sys
from pathlib import Path

from slotcar_lab.control import Lab
from slotcar_lab.patience import HANG_S
from slotcar_lab.places import HOME


def python(lab: Lab) -> str:
    """The present one, where a node of the lab finds it."""
    return lab.inside(Path(sys.executable))


def mover(lab: Lab, home: str, *words: str, **environment: str) -> list[str]:
    """The command line for a node; `home` holds its key and the ends that it knows."""
    known = {
        "PYTHONPATH": f"{lab.inside(HOME / 'mover')}:{lab.inside(HOME / 'client')}", "PYTHONDONTWRITEBYTECODE": "1",
        "SLOTCAR_TRANSFER_HOME": home, **environment,
    }  # fmt: skip
    return [
        "env",
        *(f"{name}={value}" for name, value in known.items()),
        python(lab),
        "-m",
        "slotcar_transfer",
        *words,
    ]


def acquaint(lab: Lab, folder: str, source: str, sink: str, sink_address: str) -> None:
    """Both make a key, in a folder of their own name, and know the other one's; the source finds the sink."""
    ends = {node: f"{folder}/{node}" for node in (source, sink)}
    keys = {node: lab.check(node, mover(lab, home, "key", "--name", node), HANG_S) for node, home in ends.items()}
    lab.check(source, mover(lab, ends[source], "trust", sink, "-", "--address", sink_address), HANG_S, keys[sink])
    lab.check(sink, mover(lab, ends[sink], "trust", source, "-"), HANG_S, keys[source])
