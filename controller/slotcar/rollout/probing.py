"""What is asked of a device before the first push to it: its rights, its programs and its clock. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slotcar.base.registry import TransportKind, facts_of
from slotcar.base.texts import lines_of
from slotcar.network.model import Device
from slotcar.rollout.clocks import LIMIT_US
from slotcar.rollout.ios import clock as ios_clock
from slotcar.rollout.linux.scripts import NEEDED, REMOTE

#: `date` tells whole seconds.
_TICK_US = 1_000_000


@dataclass(frozen=True, slots=True)
class ProbeInterval:
    """When a reading was asked for and when it was there, seconds since the epoch by this machine's clock."""

    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class Probe:
    """What a device said of itself.

    Attributes:
        obstacles: sentences, each of what makes a push fail.
        rights_asked: whether it was asked for its rights: only a shell tells them.
        clock_off_us: how far its clock is ahead at least, below zero behind; 0 where it agrees, None where it said none.
        account: of one whose rights were asked, `root` or its number.
    """

    obstacles: tuple[str, ...] = ()
    rights_asked: bool = False
    clock_off_us: int | None = None
    account: str = "root"


def commands(device: Device) -> tuple[str, ...]:
    """What to ask beside the configuration. Nothing over NETCONF, where only filters can be asked."""
    kind = facts_of(device.platform).transport
    if kind is TransportKind.LINUX:
        return (_question(device),)
    return (ios_clock.COMMAND,) if kind is TransportKind.IOS else ()


def _question(device: Device) -> str:
    """One command, which always succeeds: user, missing programs, missing kernel modules, where files go, clock."""
    needs = facts_of(device.platform).needs
    schedulers = {one.scheduler for one in device.interfaces.values()}
    modules = (
        *sorted(needs.scheduler_modules[one] for one in schedulers if one in needs.scheduler_modules),
        *needs.modules,
    )
    programs = (*NEEDED, *needs.programs)
    parts = [
        'echo "uid $(id -u)"',
        f'for one in {" ".join(programs)}; do command -v "$one" >/dev/null || echo "missing $one"; done',
        f'place={REMOTE}; [ -d "$place" ] || place="${{place%/*}}"; [ -w "$place" ] || echo "readonly $place"',
        'echo "clock $(date +%s)"',
    ]
    if modules:
        every = f'for one in {" ".join(modules)}; do modprobe -n -q "$one" || echo "module $one"; done'
        parts.insert(2, f'if [ -e "/lib/modules/$(uname -r)/modules.dep" ]; then {every}; fi')
    return "; ".join(parts)


def probe_of(outputs: Mapping[str, str], device: Device, interval: ProbeInterval) -> Probe:
    """What these answers mean."""
    texts = [outputs[one] for one in commands(device) if one in outputs]
    if not texts:
        return Probe()
    if facts_of(device.platform).transport is TransportKind.IOS:
        middle_s = (interval.began_s + interval.ended_s) / 2
        ahead_us = ios_clock.ahead_us(texts[0], middle_s)
        return Probe(clock_off_us=None if ahead_us is None else _beyond(ahead_us, _slack_us(interval)))
    return _linux(texts[0], device, interval)


def _linux(text: str, device: Device, interval: ProbeInterval) -> Probe:
    answers: dict[str, list[str]] = {}
    for line in lines_of(text):
        word, _, rest = line.partition(" ")
        answers.setdefault(word, []).append(rest)
    needs = facts_of(device.platform).needs
    uid = next(iter(answers.get("uid", ())), "")
    account = "root" if uid == "0" else f"uid {uid or 'unknown'}"
    obstacles = [f"its programs {', '.join(answers['missing'])} are missing"] if "missing" in answers else []
    if not uid or (uid != "0" and needs.root(device.resources)):
        obstacles.append(
            f"Ansible's commands run as {account} there, and only root may {needs.only_root_may}: log in as root,"
            " or set `ansible_become: true` in the inventory"
        )
    elif "readonly" in answers:
        obstacles.append(f"{answers['readonly'][0]} cannot be written, where a push puts its files")
    if "module" in answers:
        obstacles.append(f"its kernel has no {', '.join(answers['module'])}: install the distribution's stock kernel")
    seconds = next((one for one in answers.get("clock", ()) if one.isdigit()), None)
    if seconds is None:
        return Probe(tuple(obstacles), rights_asked=True, account=account)
    ahead_us = round((int(seconds) + 0.5 - (interval.began_s + interval.ended_s) / 2) * 1e6)
    return Probe(tuple(obstacles), True, _beyond(ahead_us, _slack_us(interval) + _TICK_US // 2), account)


def _slack_us(interval: ProbeInterval) -> int:
    """The uncertainty of a difference, as the device may have answered at any moment between question and answer."""
    return round((interval.ended_s - interval.began_s) / 2 * 1e6)


def _beyond(ahead_us: int, slack_us: int) -> int:
    """The part of a difference that is certain, and more than clocks may differ."""
    certain_us = max(abs(ahead_us) - slack_us, 0)
    return 0 if certain_us <= LIMIT_US else certain_us if ahead_us > 0 else -certain_us
