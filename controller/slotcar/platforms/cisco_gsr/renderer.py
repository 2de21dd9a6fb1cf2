"""Cisco 12000 (GSR) with IOS 12.0S: policers of the modular command line on the way in, MDRR with WRED on the way out.

A 12000 tells services by IP precedence (D7.3 §8.3). Numbered lists (`slotcar_options.first_flow_acl`, 2600 to 2699) are
Slotcar's where they carry its remark; everything else has a name that begins with `SLOTCAR-`. A list that changes is
written anew as a whole while no policy uses it; `controller/slotcar/platforms/ios/change.py` says in what order.

`slotcar_options.queueing` is `mqc` (the form of D7.3 §8.3) or `cos-queue-group` for line cards without it; then the
receive side is configured too, through the slot table, because packets of all classes share its buffers (D7.3 §8.1.1).
`slotcar_options.low_latency` is `strict` or, with `cos-queue-group`, `alternate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from slotcar.intent.model import QosIntent
from slotcar.network.model import Device
from slotcar.platforms.cisco_gsr.build import owned_of
from slotcar.platforms.cisco_gsr.facts import GsrOptions
from slotcar.platforms.colours import two_colours
from slotcar.platforms.ios.change import change_lines
from slotcar.platforms.ios.configuration import Ios, ios_of
from slotcar.platforms.ios.foreign import check_clear, foreign_in
from slotcar.platforms.ios.objects import PREFIX
from slotcar.platforms.ios.reading import MARK, SHOW, configuration_of, owned_in
from slotcar.platforms.ios.tree import Node, parse
from slotcar.platforms.model import Change, Configuration, Unrenderable
from slotcar.platforms.options import options_of


class CiscoGsr:
    """Renderer of `cisco-gsr`."""

    platform = "cisco-gsr"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        owned, notes = owned_of(intent, device)
        return Configuration(device.name, self.platform, owned, approximations=(*two_colours(intent), *notes))

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (SHOW,)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        owned = owned_in(parse("\n".join(lines)), options_of(device, GsrOptions).flow_acls)
        return Configuration(device.name, self.platform, owned)

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: the answer holds no configuration.
        """
        nodes, numbers = configuration_of(outputs.get(SHOW, ""), device.name), options_of(device, GsrOptions).flow_acls
        foreign = foreign_in(nodes, device.interfaces, _taken(nodes, numbers))
        return Configuration(device.name, self.platform, owned_in(nodes, numbers), foreign)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: an operator's policy, queueing, list or slot table stands where Slotcar's would go.
        """
        old, new = ios_of(before), ios_of(after)
        check_clear(device.name, before.foreign, new)
        _check_taken(device.name, before.foreign, new)
        return Change.between(before, after, change_lines(old, new), change_lines(new, old))

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        return change_lines(ios_of(running), Ios())


def _taken(nodes: list[Node], numbers: range) -> Callable[[list[str]], str | None]:
    """Notes of lists without Slotcar's remark in its range, and of slots with an operator's table."""
    marked = {
        node.line.split()[1]
        for node in nodes
        if node.line.startswith("access-list ") and f" remark {MARK}" in f"{node.line} "
    }

    def note(words: list[str]) -> str | None:
        if words[0] == "access-list" and len(words) > 2 and words[1].isdigit():
            return None if int(words[1]) not in numbers or words[1] in marked else f"access-list {words[1]}"
        if words[0] == "rx-cos-slot" and not (len(words) == 3 and words[2].startswith(PREFIX)):
            return " ".join(words)
        return None

    return note


def _check_taken(device: str, foreign: tuple[str, ...], after: Ios) -> None:
    """
    Raises:
        Unrenderable: a list's number or a slot is an operator's.
    """
    slots = {str(slot) for slot in after.rx_cos}
    for note in foreign:
        words = note.split()
        if words[0] == "access-list" and words[1] in after.lists:
            raise Unrenderable(
                f"{device}: `{note}` is wanted and is not Slotcar's; take it away, or give Slotcar another range in"
                " slotcar_options.first_flow_acl"
            )
        if words[0] == "rx-cos-slot" and (words[1] in slots or (words[1] == "all" and slots)):
            raise Unrenderable(f"{device}: `{note}` stands where Slotcar's slot table would go; take it away")


RENDERER = CiscoGsr()
