"""`python -m slotcar_lab.chaos`: exit code 0 when every round was in order, else 1 with the shortest failing history."""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from slotcar_lab import control, requirements, topology
from slotcar_lab.chaos.judge import never_happened
from slotcar_lab.chaos.round import Outcome, play, unnumbered
from slotcar_lab.chaos.script import FAULTS, OPERATIONS, Action, script
from slotcar_lab.chaos.shrink import shrunk
from slotcar_lab.chaos.stage import Stage, stage_on
from slotcar_lab.chaos.timing import IN_REAL_TIME, IN_VIRTUAL_TIME
from slotcar_lab.errors import LabError
from slotcar_lab.guest.machine import Extras
from slotcar_lab.snapshot import snapshot

#: Begins the verdict of a seed whose lab failed.
NOT_PLAYED = "it could not be played"
ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    parser = argparse.ArgumentParser(prog="slotcar_lab.chaos", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, default=1, help="another seed, other rounds")
    which.add_argument("--seeds", type=several, default=None, help="one after the other, such as 1..200")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="begin no round after so many minutes, of the guest's time"
    )
    parser.add_argument(
        "--pace",
        type=factor,
        default=None,
        help="stretch all times so much; in real time else by the first push's time",
    )
    parser.add_argument("--round", type=int, default=None, help="only this round of the seed")
    parser.add_argument(
        "--shrink-minutes", type=float, default=20.0,
        help="look so long, by this machine's clock, for a shorter failing history of --seed",
    )  # fmt: skip
    parser.add_argument("--real-time", action="store_true", help="by this machine's clock: another history each time")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the lab goes with it
    run = Run(chosen.minutes, chosen.round, chosen.pace, IN_REAL_TIME if chosen.real_time else IN_VIRTUAL_TIME)
    try:
        requirements.ensure_for("chaos", say)
        if chosen.seeds is not None:
            return run.several(chosen.seeds)
        failed = run.rounds(chosen.seed)
    except LabError as error:
        raise SystemExit(f"error: {error}") from error
    if failed is None:
        return 0
    if failed.history:
        _shrink(failed, run, time.monotonic() + 60 * chosen.shrink_minutes)
    return 1


def several(text: str) -> Sequence[int]:
    """Seeds, as a command line says them: the first and the last."""
    first, _, last = text.partition("..")
    seeds = range(int(first), int(last) + 1)
    if not seeds:
        raise argparse.ArgumentTypeError(f"{text} is no seed: such as 1..200")
    return seeds


def factor(text: str) -> float:
    """A number above 0, as a command line says it."""
    pace = float(text)
    if not 0 < pace < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} stretches nothing: a number above 0, such as 2.5")
    return pace


@dataclass(frozen=True, slots=True)
class Failed:
    """What failed, in words; and the history that did, with its pace, where it is one round's."""

    why: str
    history: Sequence[Action] = ()
    pace: float = 1.0


@dataclass(slots=True)
class Total:
    """Of the rounds of a seed that were in order."""

    rounds: int = 0
    slots: int = 0
    active: int = 0
    happened: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        self.rounds += 1
        self.slots += outcome.slots
        self.active += outcome.active
        self.happened += outcome.happened

    @property
    def text(self) -> str:
        kinds = (*sorted(set(OPERATIONS)), *FAULTS)
        return (
            f"{self.active} of {self.slots} slots were active, on all of their routers\n"
            f"what happened: {', '.join(f'{kind} {self.happened[kind]}' for kind in kinds)}"
        )

    def lack(self) -> Failed | None:
        """Why these rounds say nothing, though they were in order."""
        if not self.active:
            return Failed("nothing was ever configured: that no promise was broken says nothing")
        if never := never_happened(self.happened, FAULTS, self.rounds):
            return Failed(f"in {self.rounds} rounds these faults never happened: {', '.join(never)}")
        return None


@dataclass(frozen=True, slots=True)
class Run:
    """What the command line says.

    Attributes:
        minutes: no round begins after so many, by the clock that chaos goes by.
        only: only this round.
        pace: None where it is to be found.
        extras: of the lab.
    """

    minutes: float
    only: int | None
    pace: float | None
    extras: Extras

    def several(self, seeds: Sequence[int]) -> int:
        """Plays seeds one after the other, each on a lab of its own; the exit code."""
        verdicts = {}
        for seed in seeds:
            began_s = time.monotonic()
            try:
                failed = self.rounds(seed)
            except (LabError, subprocess.TimeoutExpired) as error:
                failed = Failed(f"{NOT_PLAYED}: {error}")
            verdicts[seed] = failed.why if failed else "in order"
            say(f"seed {seed}: {verdicts[seed]} ({time.monotonic() - began_s:.0f} s of this machine)")
        not_played = [seed for seed, verdict in verdicts.items() if verdict.startswith(NOT_PLAYED)]
        wrong = [seed for seed, verdict in verdicts.items() if verdict != "in order" and seed not in not_played]
        say(f"{len(verdicts) - len(wrong) - len(not_played)} of {len(verdicts)} seeds are in order")
        for what, those in (("not in order", wrong), ("not played", not_played)):
            if those:
                say(f"{what}: {', '.join(map(str, those))}")
        return 1 if wrong or not_played else 0

    def rounds(self, seed: int) -> Failed | None:
        """Plays a seed's rounds until the time is over, or until one fails: that one."""
        with self.staged() as (stage, baseline):
            pace = self.pace or stage.timing.pace(stage.turn_s())
            began, began_s, total, number = stage.timing.instant, time.monotonic(), Total(), self.only or 0
            say(f"a pace of {pace:g}")
            while stage.timing.instant - began < 60 * self.minutes:
                say(f"seed {seed}, round {number}")
                history = script(seed, number, pace)
                outcome = play(stage, history, baseline, say, pace)
                if outcome.findings:
                    _report(f"--seed {seed} --pace {pace:g} --round {number}", outcome)
                    _keep(stage, ROOT / "var" / "chaos" / f"seed-{seed}-round-{number}")
                    return Failed(f"round {number} failed", history, pace)
                say(f"  in order: {outcome}")
                total.add(outcome)
                number += 1
                if self.only is not None:
                    break
            say(
                f"{total.rounds} rounds, {stage.timing.instant - began:.0f} s long, in {time.monotonic() - began_s:.0f} s"
                f" of this machine, all in order (seed {seed})"
            )
            say(total.text)
        return total.lack() if self.only is None else None

    @contextmanager
    def staged(self) -> Iterator[tuple[Stage, dict[str, str]]]:
        """A lab and controllers of its own, and what the routers have before anything happens. All goes away again."""
        with tempfile.TemporaryDirectory(prefix="slotcar-chaos-") as name:
            folder = Path(name)
            lab = control.up(topology.garnet(), folder / "lab", extras=self.extras)
            try:
                with stage_on(lab, folder, ROOT / "inventories" / "lab") as stage:
                    yield stage, {router: unnumbered(snapshot(lab, router)) for router in lab.topology.routers}
            finally:
                control.down(folder / "lab")

    def fails(self, history: Sequence[Action], pace: float) -> bool:
        """Whether it fails on routers and controllers that know nothing of what was before."""
        say(f"again, with {len(history)} actions")
        with self.staged() as (stage, baseline):
            findings = play(stage, history, baseline, say, pace).findings
        say(f"  {'; '.join(findings) or 'in order'}")
        return bool(findings)


def _shrink(failed: Failed, run: Run, deadline: float) -> None:
    """Tells the shortest part of a history that was seen to fail, until `deadline` (s of this machine)."""
    fails = partial(run.fails, pace=failed.pace)
    shortest = shrunk(failed.history, fails, lambda: time.monotonic() < deadline)
    say("the shortest history that was seen to fail:")
    for action in shortest:
        say(f"  {action}")


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
