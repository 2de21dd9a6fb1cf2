"""What a device has against what a file of its folder in a revision says. The playbooks compare by this, without a
controller."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotcar.base.texts import BLANKS, lines_of
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration, RefusedPart
from slotcar.rollout.device_folder import AFTER, BEFORE, DeviceFolder

#: Names that Slotcar gives, on every platform that has names.
_OWN_NAME = re.compile(r"SLOTCAR-[^\s<>\"'`,;]+", re.ASCII)
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Comparison:
    """`apply` turns what the device has into what is wanted."""

    running: Configuration
    wanted: Configuration
    apply: tuple[str, ...]

    @property
    def before(self) -> str:
        return self.running.text

    @property
    def after(self) -> str:
        return self.wanted.text

    @property
    def refused(self) -> tuple[RefusedPart, ...]:
        """What the device did not do of what it has."""
        return self.running.refused

    @property
    def equal(self) -> bool:
        return not self.apply and self.running == self.wanted

    @property
    def difference(self) -> str:
        lines = difflib.unified_diff(lines_of(self.before), lines_of(self.after), "device", "wanted", lineterm="")
        return "\n".join(list(lines)[:40])


def compare(folder: DeviceFolder, target: str, outputs: Mapping[str, str], *, refused: bool = False) -> Comparison:
    """
    Args:
        target: of the folder one of its configurations, empty for nothing of Slotcar's.
        outputs: answers to the folder's commands.json.
        refused: the revision's change may have been refused in part. What of it is there is Slotcar's also where the part
            is missing that marks it.

    Raises:
        Unreadable: the device's answers are not understood. Unrenderable: others' objects are in the way.
        FolderUnreadable: the folder is not whole.
    """
    device = folder.device()
    renderer = renderer_of(device)
    pushed = folder.lines(AFTER) if refused and folder.has(AFTER) else ()
    running = renderer.running(outputs, device, pushed)
    wanted = renderer.stored(folder.lines(target) if target else (), device)
    return Comparison(running, wanted, renderer.change(running, wanted, device).apply)


def left_in_words(folder: DeviceFolder, target: str, outputs: Mapping[str, str]) -> str:
    """What a device has that it was to lose by a restore, and what it lacks; empty where it has `target` and no more.

    Beside what was read as Slotcar's, every line of the answers counts that holds a name of this revision and not of
    `target`: also one that stands where nothing of Slotcar's was looked for.

    Raises:
        As `compare`.
    """
    comparison = compare(folder, target, outputs, refused=True)
    before, after = lines_of(comparison.before), lines_of(comparison.after)
    left, missing = [one for one in before if one not in after], [one for one in after if one not in before]
    names = {name for file in (BEFORE, AFTER) if folder.has(file) for name in _names(folder.lines(file))}
    names -= _names(after)
    answers = [line for answer in outputs.values() for line in lines_of(answer)]
    left += [line for line in answers if line not in left and not names.isdisjoint(_names([line]))]
    parts = [_counted("still has", left), _counted("lacks", missing)]
    if not any(parts) and not comparison.equal:
        parts = [f"has them in another order:\n{comparison.difference}"]
    return "; ".join(f"it {part}" for part in parts if part)


def _names(lines: Sequence[str]) -> set[str]:
    return {name for line in lines for name in _OWN_NAME.findall(line)}


def _counted(verb: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    shown = ", ".join(f"`{line.strip(BLANKS)}`" for line in lines[:_SHOWN])
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return f"{verb} {len(lines)} line{'s' * (len(lines) > 1)}: {shown}{more}"
