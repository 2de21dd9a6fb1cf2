"""`python -m lab.chaos`: exit code 0 when every round was in order, 1 with the failing round's history when not."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from lab import control, topology
from lab.chaos.round import Outcome, play, unnumbered
from lab.chaos.stage import Stage
from lab.snapshot import snapshot

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="lab.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="another seed, other rounds")
    parser.add_argument("--minutes", type=float, default=5.0, help="begin no round after so many minutes")
    parser.add_argument("--round", type=int, default=None, help="only this round of the seed")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the lab goes with it
    with tempfile.TemporaryDirectory(prefix="slotcar-chaos-") as folder:
        return run(Path(folder), chosen.seed, chosen.minutes, chosen.round)


def run(state_dir: Path, seed: int, minutes: float, only: int | None) -> int:
    """Brings lab and controllers up, plays the rounds, and takes everything away again."""
    stage = Stage(control.up(topology.garnet(), state_dir / "lab"), state_dir, ROOT / "inventories" / "lab")
    try:
        for name in ("a", "b"):
            stage.start(name)
        _wait_ready(stage)
        baseline = {router: unnumbered(snapshot(stage.lab, router)) for router in stage.lab.topology.routers}
        return _rounds(stage, seed, minutes, only, baseline)
    finally:
        stage.stop()
        control.down(state_dir / "lab")


def _rounds(stage: Stage, seed: int, minutes: float, only: int | None, baseline: dict[str, str]) -> int:
    began = time.monotonic()
    number = only or 0
    while only is not None or time.monotonic() - began < 60 * minutes:
        say(f"seed {seed}, round {number}")
        outcome = play(stage, seed, number, baseline, say)
        if outcome.findings:
            _report(seed, number, outcome)
            return 1
        say(f"  in order: {outcome.samples} samples")
        number += 1
        if only is not None:
            break
    say(f"{number} rounds in {time.monotonic() - began:.0f} s, all in order (seed {seed})")
    return 0


def _wait_ready(stage: Stage) -> None:
    deadline = time.monotonic() + 120
    while True:
        leader = stage.leader()
        if leader is not None and stage.controllers[leader].settled():
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"the controllers do not come up; see {stage.state_dir}")
        time.sleep(0.5)


def _report(seed: int, number: int, outcome: Outcome) -> None:
    say(f"seed {seed}, round {number} failed; again alone: python -m lab.chaos --seed {seed} --round {number}")
    for line in (*outcome.history, *outcome.findings):
        say(f"  {line}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
