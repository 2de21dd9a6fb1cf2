"""Cisco 12000 (GSR) with IOS 12.0S: policers of the modular command line on the way in, MDRR with WRED on the way out.

A 12000 tells services by IP precedence (D7.3 §8.3). Numbered lists (`slotcar_options.first_flow_acl`, 2600 to 2699) are
Slotcar's where they carry its remark; everything else has a name that begins with `SLOTCAR-`. A list that changes is
written anew as a whole while no policy uses it; `controller/slotcar/platforms/ios/change.py` says in what order.

`slotcar_options.queueing` is `mqc` (the form of D7.3 §8.3) or `cos-queue-group` for line cards without it; then the
receive side is configured too, through the slot table, because packets of all classes share its buffers (D7.3 §8.1.1).
`slotcar_options.low_latency` is `strict` or, with `cos-queue-group`, `alternate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slotcar.base.texts import words_of
from slotcar.network.model import Device
from slotcar.platforms.cisco_gsr.build import owned_of, policer
from slotcar.platforms.cisco_gsr.facts import GsrOptions, LowLatency
from slotcar.platforms.colours import two_colours
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.ios.change import change_lines
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.foreign import check_clear, foreign_in
from slotcar.platforms.ios.objects import PREFIX
from slotcar.platforms.ios.rate_limits import check_limits, doubtful_limits, limits_beside
from slotcar.platforms.ios.reading import MARK, owned_in
from slotcar.platforms.ios.renderer import Built, IosRenderer, Noted
from slotcar.platforms.ios.tree import Node
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of
from slotcar.platforms.strict_priority import without_ceiling


def _build(intent: QosIntent, device: Device) -> Built:
    owned, approximations = owned_of(intent, device)
    # Only cos-queue-groups can take turns, and then premium has its weight.
    strict = options_of(device, GsrOptions).low_latency is LowLatency.STRICT
    ceilings = without_ceiling(intent.egress, device.name) if strict else ()
    return owned, (*two_colours(intent), *approximations, *ceilings)


def _read(nodes: Sequence[Node], device: Device) -> Noted:
    numbers = options_of(device, GsrOptions).flow_acls
    foreign = foreign_in(nodes, device.interfaces, _taken(nodes, numbers))
    return owned_in(nodes, numbers), (*foreign, *limits_beside(nodes, device.interfaces))


def _taken(nodes: Sequence[Node], numbers: range) -> Callable[[list[str]], str | None]:
    """Notes of lists without Slotcar's remark in its range, and of slots with an operator's table."""
    marked = {
        node.words[1]
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


def _check_clear(device: str, noted: Noted, after: Ios) -> None:
    """
    Raises:
        Unrenderable: an operator's policy, queueing, list or slot table stands where Slotcar's would go, or a `rate-limit`
            is in the way.
    """
    foreign = noted[1]
    check_clear(device, foreign, after)
    check_limits(device, foreign, after)
    slots = {str(slot) for slot in after.rx_cos}
    for note in foreign:
        words = words_of(note)
        if words[0] == "access-list" and words[1] in after.lists:
            raise Unrenderable(
                f"{device}: `{note}` is wanted and is not Slotcar's; take it away, or give Slotcar another range in"
                " slotcar_options.first_flow_acl"
            )
        if words[0] == "rx-cos-slot" and (words[1] in slots or (words[1] == "all" and slots)):
            raise Unrenderable(f"{device}: `{note}` stands where Slotcar's slot table would go; take it away")


RENDERER = IosRenderer("cisco-gsr", _build, _read, _check_clear, doubtful_limits, change_lines, policer)
