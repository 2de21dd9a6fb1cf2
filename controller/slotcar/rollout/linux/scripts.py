"""What is staged on a Linux router: a revision's folder, and the shell program that runs it. No Python is needed there."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path

from slotcar.base.registry import facts_of
from slotcar.network.model import Device
from slotcar.rollout.agenda import agenda
from slotcar.rollout.device_folder import APPLY, UNDO, revision_name, text_of
from slotcar.rollout.model import DeviceRevision, Revision

#: Where a router keeps it: gone after a restart, as the kernel's queues are.
REMOTE = "/run/slotcar"
_END = "SLOTCAR-END-OF-FILE"
#: Programs that `device.sh` and what is below run on any device; its platform names more (`Facts.needs`).
NEEDED = ("flock", "setsid", "mkfifo", "sed", "grep")


def remote_dir(device: str) -> str:
    return f"{REMOTE}/{device}"


def command(device: str, *words: str) -> str:
    """Runs a verb of `device.sh`."""
    place = remote_dir(device)
    return " ".join(("sh", f"{place}/device.sh", place, *words))


def state_command(device: Device) -> str:
    """Prints what is still to come by itself, and how late the last step was; `none` where nothing was ever staged."""
    return f"{command(device.name, 'state')} 2>/dev/null || echo none"


def fence_command(device: Device) -> str:
    """Prints the greatest number of a lead that the router has taken something from; 0 before the first."""
    return f"cat {remote_dir(device.name)}/fence 2>/dev/null || echo 0"


def again(command: str) -> str:
    """The same question at a reading's end: an answer of its own."""
    return f"{command} # again"


def fence_word(fence: int | None) -> str:
    """The fence as a word of `device.sh`."""
    return "-" if fence is None else str(fence)


def stage_script(part: DeviceRevision, revision: Revision) -> str:
    """Puts a revision's folder on the router. Changes nothing that a packet meets, arms nothing."""
    place = remote_dir(part.device.name)
    folder = f"{place}/{revision_name(revision)}"
    steps = agenda(part)
    facts = facts_of(part.device.platform)
    script = facts.batch_script
    own = {f"{place}/batch.sh.new": script()} if script else {}
    files = {
        f"{place}/device.sh.new": Path(__file__).with_name("device.sh").read_text(encoding="utf-8"),
        f"{folder}/{APPLY}": text_of(part.change.apply),
        f"{folder}/{UNDO}": text_of(part.change.undo),
        f"{folder}/agenda": text_of(tuple(f"{number} {_centiseconds(one.at)}" for number, one in enumerate(steps, 1))),
        f"{folder}/ids": text_of(part.program.ids),
        f"{folder}/replaces": f"{part.replaces}\n",
        f"{folder}/fence": f"{fence_word(revision.fence)}\n",
        **own,
        **{f"{folder}/{number}.txt": text_of(step.lines) for number, step in enumerate(steps, 1)},
    }
    missing = "{ echo there is no $one on this router >&2; exit 69; }"
    needed = " ".join((*NEEDED, *facts.needs.programs))
    check = f"for one in {needed}; do\n  command -v $one >/dev/null || {missing}\ndone\n"
    body = "".join(f"cat > {name} <<'{_END}'\n{text}{_END}\n" for name, text in files.items())
    make_folder = f"[ ! -e {folder}/applied ] || exit 0\nrm -rf {folder}\nmkdir -p {folder}\n"
    moved = f"mv {place}/batch.sh.new {place}/batch.sh\n" if script else ""
    return f"set -eu\numask 077\n{check}{make_folder}{body}{moved}mv {place}/device.sh.new {place}/device.sh\n"


def batch_command(device: Device) -> str:
    """Takes the lines of a change on standard input, where nothing was ever staged."""
    script = facts_of(device.platform).batch_script
    return f"sh -c {shlex.quote(script())} batch.sh -batch -" if script else "tc -batch -"


def _centiseconds(instant: datetime) -> int:
    return round(instant.astimezone(UTC).timestamp() * 100)
