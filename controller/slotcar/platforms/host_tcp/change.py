"""From what a host has to what it is to have: commands, what is kept for the undo, and the way back. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotcar.platforms.host_tcp.state import HANDLE, PROTOCOL, HostState, Kept


@dataclass(frozen=True, slots=True)
class TuningChange:
    """Attributes:
    before, after: of each setting that changes.
    kept: what the host is to remember then, by setting; empty once nothing is set.
    words: settings that somebody changed since, and that are therefore left as they are.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    kept: Mapping[str, Kept]
    words: tuple[str, ...] = ()

    def commands(self, host: HostState) -> list[str]:
        """Words of a shell, one command each; nothing where nothing changes."""
        return [command for setting, value in self.after.items() for command in commands_of(setting, value, host)]

    def undo_commands(self, host: HostState) -> list[str]:
        """Those that lead from wherever the commands stopped back to where they began, last first."""
        return [
            command
            for setting, value in reversed(tuple(self.before.items()))
            for command in commands_of(setting, value, host)
        ]


def change_to(wanted: Mapping[str, str], host: HostState) -> TuningChange:
    """Sets what is wanted; what was set before and is wanted no more goes back to what it was before that."""
    target, kept, words = dict(wanted), {}, []
    for setting, one in host.kept.items():
        if setting in wanted:
            continue
        if host.value(setting) in (one.after, one.before):
            target[setting] = one.before
        else:
            words.append(f"{setting} was changed by somebody to `{host.value(setting)}` since, and stays so")
    for setting, value in wanted.items():
        known = host.kept.get(setting)
        before = known.before if known is not None else host.value(setting)
        if before != value:
            kept[setting] = Kept(before, value)
    after = {setting: value for setting, value in target.items() if host.value(setting) != value}
    before_ = {setting: host.value(setting) for setting in after}
    return TuningChange(before_, after, kept, tuple(words))


def kept_text(kept: Mapping[str, Kept]) -> str:
    """The file that the host keeps: a line each, in tabs."""
    return "".join(f"{setting}\t{one.before}\t{one.after}\n" for setting, one in kept.items())


def commands_of(setting: str, value: str, host: HostState) -> Sequence[str]:
    """Commands that give a setting its value, from whatever it has."""
    kind, _, name = setting.partition(" ")
    quoted = shlex.quote(name)
    if kind == "sysctl":
        return [f"printf '%s' {shlex.quote(value)} >/proc/sys/{quoted}"]
    if kind in ("mtu", "txqueuelen"):
        return [f"ip link set dev {quoted} {kind} {shlex.quote(value)}"]
    if kind == "route":
        # Only one of ours is ever deleted or replaced.
        removal = f"ip route del {quoted}/32 proto {PROTOCOL} 2>/dev/null || true"
        return (
            [removal, f"ip route add {' '.join(shlex.quote(word) for word in value.split())}"] if value else [removal]
        )
    return _queue_commands(quoted, value, host.cards[name].queues)


def _queue_commands(card: str, value: str, queues: int) -> list[str]:
    """`mq` sends from several queues of the card at once, and each paces by itself."""
    removal = f"if tc qdisc show dev {card} | grep -q ' {HANDLE} root'; then tc qdisc del dev {card} root; fi"
    if not value:
        return [removal]
    kind = value.split()[0]
    commands = [removal, f"tc qdisc add dev {card} root handle {HANDLE} {kind}"]
    if kind == "mq":
        commands += [f"tc qdisc replace dev {card} parent {HANDLE}{number:x} fq" for number in range(1, queues + 1)]
    return commands
