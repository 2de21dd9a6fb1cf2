"""Which of the archive's configurations a device may be given at this instant: a slot that has ended stays out.

The archive keeps, for each configuration, when the slots in it end and what is left then (`SlotEnds`): for every device,
also for those that do nothing by themselves and for which no program is armed.
"""

from __future__ import annotations

from collections.abc import Sequence

from slotcar.base.problems import SlotcarError
from slotcar.rollout.device_folder import AFTER, BEFORE, DeviceFolder, FolderUnreadable, SlotEnds, after_ends


class EndsUnknown(SlotcarError):
    """The archive does not know when the slots end that are in a configuration: nothing would end them."""


def file_at(folder: DeviceFolder, target: str, now_s: float, *, unknown_ends: bool = False) -> str:
    """The file of a device's folder that is to be restored where `AFTER` or `BEFORE` is asked for.

    Args:
        now_s: seconds since the epoch.
        unknown_ends: somebody takes it on himself that slots come back which nothing ends; or the device had this only
            a moment ago, before a push that failed.

    Raises:
        EndsUnknown: the archive does not know when its slots end. FolderUnreadable: see `DeviceFolder`.
    """
    if target not in (AFTER, BEFORE):
        return target
    ends = folder.slot_ends(target)
    if ends is not None:
        return after_ends(target, sum(end <= now_s for end in ends))
    if unknown_ends:
        return target
    raise EndsUnknown(
        f"{folder.name}: the archive does not know when the slots in {folder.path.parent.name}/{target} end, and nothing"
        " would end them; go to `unmanaged` or `--to baseline`, or say -e slotcar_unknown_ends=true to the playbook"
    )


def ends_to_come(folder: DeviceFolder, lines: Sequence[str]) -> SlotEnds | None:
    """The ends that are still to come where a device has `lines`, if the folder knows these lines."""
    for side in (AFTER, BEFORE):
        try:
            ends = folder.slot_ends(side)
            if ends is None:
                continue
            configurations = tuple(folder.lines(after_ends(side, number)) for number in range(len(ends) + 1))
        except FolderUnreadable:
            continue
        if tuple(lines) in configurations:
            first = configurations.index(tuple(lines))
            return SlotEnds(ends[first:], configurations[first + 1 :])
    return None
