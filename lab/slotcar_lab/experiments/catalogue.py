"""The experiments by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from slotcar_lab.errors import LabError
from slotcar_lab.experiments.experiment import Experiment

NAMES = (
    "gara-4",
    "gara-5",
    "gara-6",
    "emerge-1",
    "emerge-2",
    "emerge-3",
    "emerge-4",
    "policer-burst",
    "wrr-share",
    "drr-delay",
    "qbss-1",
    "qbss-2",
    "qbss-3",
    "loss-pattern",
    "ecn",
    "nict-af",
    "nict-share",
)
#: Run by their names: they came after the report that is kept, which is of one commit. The next one has them.
APART = (
    "a1-1",
    "a1-2",
    "class-shares",
    "ecn-marks",
    "emerge-4-legs",
    "medical-images",
    "nict-queue",
    "qbss-wan",
    "tail-drop",
    "wan-throughput",
)


def find(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        LabError: there is none; says which there are.
    """
    if name not in (*NAMES, *APART):
        raise LabError(f"there is no experiment {name}; there are {', '.join((*NAMES, *APART))}")
    chosen = import_module(f"slotcar_lab.experiments.{name.replace('-', '_')}").EXPERIMENT
    assert isinstance(chosen, Experiment)
    return chosen
