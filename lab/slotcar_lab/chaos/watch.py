"""What the edges police, from a round's beginning to its end: each change, and when its router's kernel reported it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from slotcar_lab.chaos.judge import Sample
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError

WATCHER = Path(__file__).resolve().parents[1] / "agent" / "watcher.py"
DEVICE = "eth2"
#: As long as only a hang takes.
ANSWER_S = 300.0
#: Between changes a router is taken to have been seen so often.
EVERY_S = 0.5


class Watch:
    """Watches while the `with` lasts.

    Raises:
        LabError: a router cannot be watched.
    """

    def __init__(self, lab: Lab, routers: Iterable[str]) -> None:
        self._offset_s = lab.clock_offset().offset_us / 1_000_000
        self._changes: dict[str, list[Sample]] = {router: [] for router in routers}
        self._processes = {router: lab.start_python(router, WATCHER, DEVICE, stdin=True) for router in self._changes}
        self._answered = {router: threading.Event() for router in self._changes}

    def __enter__(self) -> Watch:
        for router in self._changes:
            threading.Thread(target=self._read, args=(router,), daemon=True).start()
        try:
            self._wait_answers()
        except LabError:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    @property
    def changes(self) -> int:
        return sum(len(snapshots) - 1 for snapshots in self._changes.values())

    def samples(self, until_s: float) -> list[Sample]:
        """What was seen until then (seconds since the epoch, by this machine's clock), by time.

        Raises:
            LabError: a router is not watched any more.
        """
        for router, process in self._processes.items():
            self._answered[router].clear()
            process.write(b"\n")
        self._wait_answers()  # by then all that changed before has come
        for router, process in self._processes.items():
            if process.poll() is not None or process.failed:
                raise LabError(f"{router} was not watched to the end: {process.stderr or 'its connection ended'}")
        all_samples = [sample for changes in self._changes.values() for sample in looks(changes, until_s)]
        return sorted(all_samples, key=lambda sample: sample.at_s)

    def _read(self, router: str) -> None:
        for line in self._processes[router].lines():
            change = json.loads(line.text)
            sample = Sample(change["at_s"] - self._offset_s, router, frozenset(change["ports"]))
            if not self._changes[router] or sample.ports != self._changes[router][-1].ports:
                self._changes[router].append(sample)
            if change["asked"] or len(self._changes[router]) == 1:
                self._answered[router].set()

    def _wait_answers(self) -> None:
        """
        Raises:
            LabError: a router does not answer.
        """
        for router, answered in self._answered.items():
            if not answered.wait(ANSWER_S):
                raise LabError(f"{router} cannot be watched: {self._processes[router].stderr or 'it says nothing'}")

    def _close(self) -> None:
        for process in self._processes.values():
            process.close()


def looks(changes: Sequence[Sample], until_s: float) -> list[Sample]:
    """One router's changes as if it had been looked at all the time: right before each, at it, and in between."""
    samples: list[Sample] = []
    ends = [change.at_s for change in changes[1:]] + [max(until_s, changes[-1].at_s)] if changes else []
    for change, end_s in zip(changes, ends, strict=True):
        between = int((end_s - change.at_s) / EVERY_S)
        samples += [replace(change, at_s=change.at_s + number * EVERY_S) for number in range(between + 1)]
        samples.append(replace(change, at_s=end_s))
    return samples
