"""What is asked of a device before the first push to it: its rights, its programs and its clock. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slotcar.network.model import Device
from slotcar.registry import TransportKind, facts_of
from slotcar.rollout.clocks import LIMIT_US
from slotcar.rollout.ios import clock as ios_clock
from slotcar.rollout.linux.scripts import NEEDED, REMOTE

#: One command, which always succeeds: user, what is missing, kernel modules that cannot be had, where files go, clock.
LINUX = (
    'echo "uid $(id -u)"; '
    + f"for one in {' '.join(NEEDED)}; do "
    + 'command -v "$one" >/dev/null || echo "missing $one"; done; '
    + 'if [ -e "/lib/modules/$(uname -r)/modules.dep" ]; then for one in {modules}; do '
    + 'modprobe -n -q "$one" || echo "module $one"; done; fi; '
    + f'place={REMOTE}; [ -d "$place" ] || place="${{place%/*}}"; [ -w "$place" ] || echo "readonly $place"; '
    + 'echo "clock $(date +%s)"'
)
_MODULES = ("sch_ingress", "cls_flower", "act_police", "act_pedit", "act_csum", "act_skbedit", "sch_red", "sch_gred")
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
    """

    obstacles: tuple[str, ...] = ()
    rights_asked: bool = False
    clock_off_us: int | None = None


def commands(device: Device) -> tuple[str, ...]:
    """What to ask beside the configuration. Nothing over NETCONF, where only filters can be asked."""
    kind = facts_of(device.platform).transport
    if kind is TransportKind.LINUX:
        schedulers = sorted({f"sch_{one.scheduler}" for one in device.interfaces.values()})
        return (LINUX.replace("{modules}", " ".join((*schedulers, *_MODULES))),)
    return (ios_clock.COMMAND,) if kind is TransportKind.IOS else ()


def probe_of(outputs: Mapping[str, str], device: Device, interval: ProbeInterval) -> Probe:
    """What these answers mean."""
    texts = [outputs[one] for one in commands(device) if one in outputs]
    if not texts:
        return Probe()
    if facts_of(device.platform).transport is TransportKind.IOS:
        middle_s = (interval.began_s + interval.ended_s) / 2
        ahead_us = ios_clock.ahead_us(texts[0], middle_s)
        return Probe(clock_off_us=None if ahead_us is None else _beyond(ahead_us, _slack_us(interval)))
    return _linux(texts[0], interval)


def _linux(text: str, interval: ProbeInterval) -> Probe:
    answers: dict[str, list[str]] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        answers.setdefault(word, []).append(rest)
    uid = next(iter(answers.get("uid", ())), "")
    obstacles = [f"its programs {', '.join(answers['missing'])} are missing"] if "missing" in answers else []
    if uid != "0":
        obstacles.append(
            f"Ansible's commands run as uid {uid or 'unknown'} there, and only root may change queues: log in as root,"
            " or set `ansible_become: true` in the inventory"
        )
    elif "readonly" in answers:
        obstacles.append(f"{answers['readonly'][0]} cannot be written, where a push puts its files")
    if "module" in answers:
        obstacles.append(f"its kernel has no {', '.join(answers['module'])}: install the distribution's stock kernel")
    seconds = next((one for one in answers.get("clock", ()) if one.isdigit()), None)
    if seconds is None:
        return Probe(tuple(obstacles), rights_asked=True)
    ahead_us = round((int(seconds) + 0.5 - (interval.began_s + interval.ended_s) / 2) * 1e6)
    return Probe(tuple(obstacles), True, _beyond(ahead_us, _slack_us(interval) + _TICK_US // 2))


def _slack_us(interval: ProbeInterval) -> int:
    """The uncertainty of a difference, as the device may have answered at any moment between question and answer."""
    return round((interval.ended_s - interval.began_s) / 2 * 1e6)


def _beyond(ahead_us: int, slack_us: int) -> int:
    """The part of a difference that is certain, and more than clocks may differ."""
    certain_us = max(abs(ahead_us) - slack_us, 0)
    return 0 if certain_us <= LIMIT_US else certain_us if ahead_us > 0 else -certain_us
