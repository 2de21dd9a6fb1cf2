"""What is staged on a Linux router: three short shell scripts and the batches that they run. No Python is needed there."""

from __future__ import annotations

from datetime import datetime

from controller.network.model import Device
from controller.render import renderer_of
from controller.rollout.guard import steps
from controller.rollout.model import NO_GUARD, DeviceRevision
from controller.vocabulary import Platform

#: Where a router keeps it: gone after a reboot, as the kernel's queues are.
REMOTE = "/run/slotcar"
_END = "SLOTCAR-END-OF-FILE"


def remote_dir(device: Device) -> str:
    return f"{REMOTE}/{device.name}"


def guard_command(device: Device) -> str:
    """Prints the id of the guard that is armed and alive on the device."""
    place = remote_dir(device)
    return (
        f"if [ -e {place}/guard.pid ] && kill -0 $(cat {place}/guard.pid) 2>/dev/null;"
        f" then cat {place}/guard.id; else echo {NO_GUARD}; fi"
    )


def commands(device: Device) -> list[str]:
    """What a reading asks: the renderer's questions, and which guard is armed."""
    asked = list(renderer_of(device).readback_commands(device))
    return [*asked, guard_command(device)] if device.platform is Platform.LINUX_TC else asked


def scripts(part: DeviceRevision, at: datetime) -> dict[str, str]:
    """`stage.sh`, run from standard input at staging; empty for a platform that stages otherwise."""
    if part.device.platform is not Platform.LINUX_TC:
        return {}
    place = remote_dir(part.device)
    ends = steps(part, at)
    # A guard's files bear its id: the one that is armed keeps its own while the next is staged beside it.
    guard = f"guard-{part.guard.id}"
    files = {
        "apply.txt": _text(part.change.apply),
        "undo.txt": _text(part.change.undo),
        **{f"{guard}-end-{number}.txt": _text(step.lines) for number, step in enumerate(ends, 1)},
        "activate.sh": f"sh {place}/arm.sh\nexec tc -batch {place}/apply.txt\n",
        "disarm.sh": _disarm(place),
        f"{guard}.sh": _guard(f"{place}/{guard}", [step.delay_s for step in ends]),
        "arm.sh": _arm(place, part.guard.id),
    }
    body = "".join(f"cat > {place}/{name} <<'{_END}'\n{text}{_END}\n" for name, text in files.items())
    return {"stage.sh": f"set -eu\numask 077\nmkdir -p {place}\n{body}"}


def _text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _guard(guard: str, delays_s: list[int]) -> str:
    """Sleeps from end to end; each is counted from the activation, by the router's own clock's pace."""
    lines = ["# Ends the slots that are open now, if the controller does not."]
    slept = 0
    for number, delay_s in enumerate(delays_s, 1):
        lines += [f"sleep {max(0, delay_s - slept)}", f"tc -force -batch {guard}-end-{number}.txt"]
        slept = delay_s
    return _text(tuple(lines))


def _disarm(place: str) -> str:
    return (
        f"if [ -e {place}/guard.pid ]; then\n"
        f"  pid=$(cat {place}/guard.pid)\n"
        f'  if grep -q slotcar "/proc/$pid/cmdline" 2>/dev/null; then kill -- "-$pid" 2>/dev/null || kill "$pid"; fi\n'
        f"  rm -f {place}/guard.pid {place}/guard.id\n"
        "fi\n"
    )


def _arm(place: str, guard_id: str) -> str:
    """Replaces the armed guard by the staged one, unless it is that one: its time runs already.

    The change follows the guard (`activate.sh`): whoever dies in between, what begins here ends here.
    """
    if guard_id == NO_GUARD:
        return f"sh {place}/disarm.sh\n"
    return (
        # The login that arms it may end before the guard has a session of its own.
        "trap '' HUP\n"
        f'if [ -e {place}/guard.pid ] && [ "$(cat {place}/guard.id)" = {guard_id} ]'
        f' && kill -0 "$(cat {place}/guard.pid)" 2>/dev/null; then exit 0; fi\n'
        f"sh {place}/disarm.sh\n"
        f"setsid sh {place}/guard-{guard_id}.sh </dev/null >/dev/null 2>&1 &\n"
        f"echo $! > {place}/guard.pid\n"
        f"echo {guard_id} > {place}/guard.id\n"
        f"find {place} -name 'guard-*' ! -name 'guard-{guard_id}*' -exec rm {{}} +\n"
    )
