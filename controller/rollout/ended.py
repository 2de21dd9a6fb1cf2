"""Which of the archive's configurations a device may be given at this instant: a slot that has ended stays out.

A device's folder of a revision holds `ends.json`: `after`, the instants (seconds since the epoch) at which the slots end
that are open in after.txt, and `before`, the same of before.txt, or null where nobody knows them. What the device is to
have from the Nth of them on, if nothing begins, is ended-N.txt or before-ended-N.txt. So it is kept for every device,
also for those that do nothing by themselves and for which no program is armed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from controller.problems import SlotcarError

ENDS = "ends.json"
BEFORE, AFTER = "before.txt", "after.txt"
_SIDES = {AFTER: ("after", "ended-{}.txt"), BEFORE: ("before", "before-ended-{}.txt")}


class EndsUnknown(SlotcarError):
    """The archive does not know when the slots end that a configuration carries: nothing would end them."""


def ends_of(folder: Path, target: str) -> tuple[float, ...] | None:
    """The instants at which the slots of after.txt or before.txt end; None where nobody knows.

    Raises:
        OSError, ValueError: the file is there and cannot be read.
    """
    file = folder / ENDS
    if not file.is_file():
        return _of_an_older_slotcar(folder, target)
    instants = json.loads(file.read_text(encoding="utf-8"))[_SIDES[target][0]]
    return None if instants is None else tuple(instants)


def _of_an_older_slotcar(folder: Path, target: str) -> tuple[float, ...] | None:
    """It kept no ends; without lines, or without reservations, there are none."""
    if not (folder / target).read_text(encoding="utf-8").strip():
        return ()
    carried = folder / "reservations.json"
    nothing = target == AFTER and carried.is_file() and not json.loads(carried.read_text(encoding="utf-8"))
    return () if nothing else None


def file_after(target: str, passed: int) -> str:
    """The file that says what is left of after.txt or before.txt when so many of its ends have passed."""
    return _SIDES[target][1].format(passed) if passed else target


def file_at(folder: Path, target: str, now_s: float, *, unknown_ends: bool = False) -> str:
    """The file of a device's folder that is to be restored where after.txt or before.txt is asked for.

    Args:
        now_s: seconds since the epoch.
        unknown_ends: somebody takes it on himself that slots come back which nothing ends; or the device had this only
            a moment ago, before a push that failed.

    Raises:
        EndsUnknown: the archive does not know when its slots end.
    """
    if target not in _SIDES:
        return target
    ends = ends_of(folder, target)
    if ends is not None:
        return file_after(target, sum(end <= now_s for end in ends))
    if unknown_ends:
        return target
    raise EndsUnknown(
        f"{folder.name}: the archive does not know when the slots in {folder.parent.name}/{target} end, and nothing would"
        " end them; go to `unmanaged` or `--to baseline`, or say -e slotcar_unknown_ends=true to the playbook"
    )


def write_side(folder: Path, target: str, configurations: Sequence[Sequence[str]]) -> None:
    """What is left of a configuration after each of its ends."""
    for number, lines in enumerate(configurations, 1):
        (folder / file_after(target, number)).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def rest_of(folder: Path, lines: Sequence[str]) -> tuple[list[float], list[tuple[str, ...]]] | None:
    """The ends that are still to come where a device has `lines`, if the folder knows these lines; and what is left after
    each of them."""
    for target in _SIDES:
        try:
            ends = ends_of(folder, target)
            if ends is None:
                continue
            texts = [
                tuple((folder / file_after(target, number)).read_text(encoding="utf-8").splitlines())
                for number in range(len(ends) + 1)
            ]
        except (OSError, ValueError, KeyError):
            continue
        if tuple(lines) in texts:
            first = texts.index(tuple(lines))
            return list(ends[first:]), texts[first + 1 :]
    return None
