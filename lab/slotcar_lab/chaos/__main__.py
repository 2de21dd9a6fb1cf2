"""`python -m slotcar_lab.chaos`: exit code 0 when every round was in order, else 1 with the shortest failing history."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from slotcar_lab import control, requirements, topology
from slotcar_lab.chaos.judge import never_happened
from slotcar_lab.chaos.round import Outcome, play, unnumbered
from slotcar_lab.chaos.script import FAULTS, OPERATIONS, Action, pace_of, script
from slotcar_lab.chaos.shrink import shrunk
from slotcar_lab.chaos.stage import Stage, stage_on
from slotcar_lab.errors import LabError
from slotcar_lab.snapshot import snapshot

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    parser = argparse.ArgumentParser(prog="slotcar_lab.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="another seed, other rounds")
    parser.add_argument("--minutes", type=float, default=5.0, help="begin no round after so many minutes")
    parser.add_argument(
        "--pace", type=factor, default=None, help="stretch all times so much; else by the first push's time"
    )
    parser.add_argument("--round", type=int, default=None, help="only this round of the seed")
    parser.add_argument(
        "--shrink-minutes", type=float, default=20.0, help="look so long for a shorter failing history"
    )
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the lab goes with it
    try:
        requirements.ensure_for("chaos", say)
        failed = rounds(chosen.seed, chosen.minutes, chosen.round, chosen.pace)
    except LabError as error:
        raise SystemExit(f"error: {error}") from error
    if failed is None:
        return 0
    deadline = time.monotonic() + 60 * chosen.shrink_minutes
    history, pace = failed
    shortest = shrunk(history, partial(fails, pace=pace), lambda: time.monotonic() < deadline)
    say("the shortest history that was seen to fail:")
    for action in shortest:
        say(f"  {action}")
    return 1


def factor(text: str) -> float:
    """A number above 0, as a command line says it."""
    pace = float(text)
    if not 0 < pace < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} stretches nothing: a number above 0, such as 2.5")
    return pace


@contextmanager
def staged() -> Iterator[tuple[Stage, dict[str, str]]]:
    """A lab and controllers of its own, and what the routers have before anything happens. All goes away again."""
    with tempfile.TemporaryDirectory(prefix="slotcar-chaos-") as name:
        folder = Path(name)
        lab = control.up(topology.garnet(), folder / "lab")
        try:
            with stage_on(lab, folder, ROOT / "inventories" / "lab") as stage:
                yield stage, {router: unnumbered(snapshot(lab, router)) for router in lab.topology.routers}
        finally:
            control.down(folder / "lab")


def rounds(
    seed: int, minutes: float, only: int | None, given_pace: float | None
) -> tuple[Sequence[Action], float] | None:
    """Plays rounds until the time is over; the history of the first that failed, and its pace."""
    with staged() as (stage, baseline):
        pace = given_pace or pace_of(stage.turn_s())
        say(f"a turn took {stage.turn_s():.1f} s: a pace of {pace:g}")
        began = time.monotonic()
        number, slots, active, happened = only or 0, 0, 0, Counter[str]()
        while only is not None or time.monotonic() - began < 60 * minutes:
            say(f"seed {seed}, round {number}")
            history = script(seed, number, pace)
            outcome = play(stage, history, baseline, say, pace)
            happened += outcome.happened
            if outcome.findings:
                _report(f"--seed {seed} --pace {pace:g} --round {number}", outcome)
                _keep(stage, ROOT / "var" / "chaos" / f"seed-{seed}-round-{number}")
                return history, pace
            say(f"  in order: {outcome}")
            number, slots, active = number + 1, slots + outcome.slots, active + outcome.active
            if only is not None:
                break
        say(f"{number - (only or 0)} rounds in {time.monotonic() - began:.0f} s, all in order (seed {seed})")
        say(f"{active} of {slots} slots were active, on all of their routers")
        say(f"what happened: {', '.join(f'{kind} {happened[kind]}' for kind in (*sorted(set(OPERATIONS)), *FAULTS))}")
        if not active and only is None:
            raise SystemExit("nothing was ever configured: that no promise was broken says nothing")
        if only is None and (never := never_happened(happened, FAULTS, number)):
            raise SystemExit(f"in {number} rounds these faults never happened: {', '.join(never)}")
    return None


def fails(history: Sequence[Action], pace: float) -> bool:
    """Whether it fails on routers and controllers that know nothing of what was before."""
    say(f"again, with {len(history)} actions")
    with staged() as (stage, baseline):
        findings = play(stage, history, baseline, say, pace).findings
    say(f"  {'; '.join(findings) or 'in order'}")
    return bool(findings)


def _keep(stage: Stage, folder: Path) -> None:
    """What the controllers said and pushed, for who looks into it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for log in stage.processes.log_dir.glob("controller-*.log"):
        shutil.copy(log, folder)
    for kept in ("revisions", "known-good"):
        if (stage.state_dir / kept).is_dir():
            shutil.copytree(stage.state_dir / kept, folder / kept)
    say(f"the controllers' logs and revisions are in {folder}")


def _report(words: str, outcome: Outcome) -> None:
    say(f"this round failed; again alone: python -m slotcar_lab.chaos {words}")
    for line in (*outcome.history, *outcome.findings, *outcome.events):
        say(f"  {line}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
