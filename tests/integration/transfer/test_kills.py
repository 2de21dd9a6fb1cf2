"""Either end is killed at random points: every byte is right in the end, and no half file ever has its final name."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.transfers import STAGING, Serving, World, content, delivered, fill

MB = 1_000_000
SIZES = {"large": 24 * MB + 17, **{f"many/{number:03}": 20_000 + number for number in range(60)}, "empty": 0}


def whole_or_absent(world: World, source: dict[str, bytes]) -> None:
    for path, body in delivered(world.root("there")).items():
        assert body == source[path.removeprefix("run/")], f"{path} is there and not whole"


def kills(world: World, rounds: int, seed: int) -> None:
    """In each round the command runs until one of the ends is killed, at a point that is drawn; then once to its end."""
    chance = random.Random(seed)
    data = world.folder / "source"
    fill(data, SIZES, seed)
    source = content(data)
    killed = 0
    with world.serve("there") as receiver:
        for _ in range(rounds):
            killed += one_kill(world, receiver, data, chance)
            whole_or_absent(world, source)
        done = world.run(str(data), "there:run").done
    assert content(world.root("there")) == {f"run/{path}": body for path, body in source.items()}
    assert done["bytes"] == sum(SIZES.values())
    assert killed > 0, "no kill fell into a transfer"


def one_kill(world: World, receiver: Serving, data: Path, chance: random.Random) -> bool:
    """Whether the transfer was under way when it was killed."""
    with world.start(str(data), "there:run") as command:
        try:
            return _killed(world, receiver, command, chance)
        finally:
            command.kill()


def _killed(world: World, receiver: Serving, command: subprocess.Popen[str], chance: random.Random) -> bool:
    at_bytes = chance.randrange(sum(SIZES.values()))
    until = time.monotonic() + PATIENCE_S
    while command.poll() is None and time.monotonic() < until and arrived(world) < at_bytes:
        time.sleep(0.005)
    under_way = command.poll() is None
    if chance.random() < 0.5:
        command.kill()
        command.communicate()
        return under_way
    receiver.kill()
    receiver.start()
    out, err = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == 0, err  # it went on by itself
    last = json.loads(out.splitlines()[-1])
    assert last["event"] == "done"
    return under_way


def arrived(world: World) -> int:
    """What the receiver has written of this round, roughly: of parts, whose folders come and go."""
    total = 0
    for folder, _, names in os.walk(world.root("there")):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(folder) / name).stat().st_size if name.endswith(".part") else 0
    return total


def test_a_kill_of_either_end_costs_no_byte(world: World) -> None:
    kills(world, rounds=3, seed=5)
    assert not list(world.root("there").rglob(f"{STAGING}*"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(5))
def test_fifty_kills_at_random_points(world: World, seed: int) -> None:
    kills(world, rounds=10, seed=100 + seed)
