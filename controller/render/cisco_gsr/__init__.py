"""Cisco 12000 (GSR) with IOS 12.0S: policers of the modular command line on the way in, MDRR with WRED on the way out.

A 12000 tells services by IP precedence (D7.3 §8.3). Numbered lists (`slotcar_options.first_flow_acl`, 2600 to 2699) are
Slotcar's where they carry its remark; everything else has a name that begins with `SLOTCAR-`. A list that changes is
written anew as a whole while no policy uses it; `controller.render.ios.change` says in what order.

`slotcar_options.queueing` is `mqc` (the form of D7.3 §8.3) or `cos-queue-group` for line cards without it; then the
receive side is configured too, through the slot table, because packets of all classes share its buffers (D7.3 §8.1.1).
`slotcar_options.low_latency` is `strict` or, with `cos-queue-group`, `alternate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from controller.intent.model import QosIntent
from controller.network.model import Device
from controller.render.cisco_gsr.build import owned_of
from controller.render.cisco_gsr.limits import flow_acls_of
from controller.render.ios.change import change_lines
from controller.render.ios.foreign import check_clear, foreign_in
from controller.render.ios.owned import MARK, PREFIX, Owned, lines_of, owned_in, parsed
from controller.render.ios.tree import Node, parse
from controller.render.model import Change, Configuration, Unreadable, Unrenderable
from controller.vocabulary import Platform

SHOW = "show running-config"
_RECEIVE = re.compile(r"^rx-cos-slot (\S+) (\S+)$")


class CiscoGsr:
    """Renderer of `cisco-gsr`."""

    platform = Platform.CISCO_GSR

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        owned, approximations = owned_of(intent, device)
        return Configuration(device.name, self.platform, lines_of(owned), approximations=approximations)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (SHOW,)

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: the answer holds no configuration.
        """
        text = outputs.get(SHOW, "")
        nodes = parse(text)
        if not any(node.line.startswith("interface ") for node in nodes):
            raise Unreadable(f"{device.name}: `{SHOW}` gave no configuration: {text.strip()[:80] or 'nothing'}")
        owned = owned_in(nodes, flow_acls_of(device), _own_setting)
        foreign = foreign_in(nodes, device.interfaces, _taken(nodes, device))
        return Configuration(device.name, self.platform, lines_of(owned), foreign)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: an operator's policy, queueing, list or slot table stands where Slotcar's would go.
        """
        old, new = self._parsed(before, device), self._parsed(after, device)
        check_clear(device.name, before.foreign, new)
        _check_taken(device.name, before.foreign, new)
        return Change(
            device=device.name,
            platform=self.platform,
            before=before,
            after=after,
            apply=change_lines(old, new),
            undo=change_lines(new, old),
        )

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        """Lines that take away everything that is Slotcar's on the device."""
        return change_lines(self._parsed(running, device), Owned())

    def _parsed(self, configuration: Configuration, device: Device) -> Owned:
        return parsed(configuration.lines, flow_acls_of(device), _own_setting)


def _own_setting(line: str) -> bool:
    found = _RECEIVE.match(line)
    return found is not None and found[2].startswith(PREFIX)


def _taken(nodes: list[Node], device: Device) -> Callable[[list[str]], str | None]:
    """Notes of lists without Slotcar's remark in its range, and of slots with an operator's table."""
    numbers = flow_acls_of(device)
    said = [node.line for node in nodes]
    marked = {line.split()[1] for line in said if line.startswith("access-list ") and f" {MARK}" in f"{line} "}

    def note(words: list[str]) -> str | None:
        if words[0] == "access-list" and len(words) > 2 and words[1].isdigit():
            mine = int(words[1]) not in numbers or words[1] in marked
            return None if mine else f"access-list {words[1]}"
        if words[0] == "rx-cos-slot" and not _own_setting(" ".join(words)):
            return " ".join(words)
        return None

    return note


def _check_taken(device: str, foreign: tuple[str, ...], after: Owned) -> None:
    """
    Raises:
        Unrenderable: a list's number or a slot is an operator's.
    """
    slots = {line.split()[1] for line in after.settings}
    for note in foreign:
        words = note.split()
        if words[0] == "access-list" and words[1] in after.lists:
            raise Unrenderable(
                f"{device}: `{note}` is wanted and is not Slotcar's; take it away, or give Slotcar another range in"
                " slotcar_options.first_flow_acl"
            )
        if words[0] == "rx-cos-slot" and (words[1] in slots or (words[1] == "all" and slots)):
            raise Unrenderable(f"{device}: `{note}` stands where Slotcar's slot table would go; take it away")
