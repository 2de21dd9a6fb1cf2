"""An hour of chaos leaves nothing held and nothing half-open. `make domains-chaos SEEDS=5 SEED=100` runs more of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from tests.integration.domains.chaos import HOUR, Chaos
from tests.integration.domains.sls_chaos import SlsChaos, WithReservations
from tests.integration.domains.slss import with_reservations, without_border
from tests.integration.domains.three import World, three

FIRST = int(os.environ.get("SLOTCAR_CHAOS_SEED", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("SLOTCAR_CHAOS_SEEDS", "3")))


_Chaos = TypeVar("_Chaos", bound=Chaos)


def played(chaos: _Chaos, length: timedelta) -> _Chaos:
    chaos.run(length)
    problems = list(chaos.problems())
    print(f"seed {chaos.seed}: {chaos.summary()}; {dict(chaos.happened)}")
    assert problems == [], f"seed {chaos.seed}"
    return chaos


@pytest.fixture
def open_world(server_url: str, migrated: str, tmp_path: Path) -> Iterator[World]:
    with three(server_url, migrated, tmp_path, without_border) as domains:
        yield domains


def test_some_minutes_of_chaos_leave_no_sls_half(open_world: World) -> None:
    chaos = played(SlsChaos(open_world, 5, busy=70), timedelta(minutes=12))
    assert chaos.attempts


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_an_hour_of_chaos_leaves_no_sls_half(open_world: World, seed: int) -> None:
    chaos = played(SlsChaos(open_world, seed, busy=70), HOUR)
    for fault in ("lost", "answer lost", "twice", "late", "killed", "died in a deed", "changes of SLSs"):
        assert chaos.happened[fault], fault


@pytest.fixture
def going_world(server_url: str, migrated: str, tmp_path: Path) -> Iterator[World]:
    with three(server_url, migrated, tmp_path, with_reservations) as domains:
        yield domains


def test_some_minutes_of_chaos_leave_slss_as_large_as_reservations(going_world: World) -> None:
    chaos = played(WithReservations(going_world, 3, busy=60), timedelta(minutes=8))
    assert chaos.connections


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_an_hour_of_chaos_leaves_slss_as_large_as_reservations(going_world: World, seed: int) -> None:
    chaos = played(WithReservations(going_world, seed, busy=60), HOUR)
    for fault in ("lost", "answer lost", "twice", "late", "killed", "died in a deed"):
        assert chaos.happened[fault], fault
    assert (chaos.slss_in_force() > 0) == (chaos.in_force() > 0)


def test_some_minutes_of_chaos_leave_nothing_half(world: World) -> None:
    chaos = played(Chaos(world, 7), timedelta(minutes=8))
    assert chaos.connections


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_an_hour_of_chaos_leaves_nothing_half(world: World, seed: int) -> None:
    chaos = played(Chaos(world, seed), HOUR)
    for fault in ("lost", "answer lost", "twice", "late", "killed", "died in a deed"):
        assert chaos.happened[fault], fault
