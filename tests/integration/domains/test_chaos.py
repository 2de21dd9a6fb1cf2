"""An hour of chaos leaves nothing held and nothing half-open. `make domains-chaos SEEDS=5 SEED=100` runs more of it."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from tests.integration.domains.chaos import HOUR, Chaos
from tests.integration.domains.three import World

FIRST = int(os.environ.get("SLOTCAR_CHAOS_SEED", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("SLOTCAR_CHAOS_SEEDS", "3")))


def run(world: World, seed: int, length: timedelta) -> Chaos:
    chaos = Chaos(world, seed)
    chaos.run(length)
    print(f"seed {seed}: {len(chaos.connections)} connections, {chaos.in_force()} in force; {dict(chaos.happened)}")
    assert list(chaos.problems()) == [], f"seed {seed}"
    return chaos


def test_some_minutes_of_chaos_leave_nothing_half(world: World) -> None:
    chaos = run(world, 7, timedelta(minutes=8))
    assert chaos.connections


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_an_hour_of_chaos_leaves_nothing_half(world: World, seed: int) -> None:
    chaos = run(world, seed, HOUR)
    for fault in ("lost", "answer lost", "twice", "late", "killed", "died in a deed"):
        assert chaos.happened[fault], fault
