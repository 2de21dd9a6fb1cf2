"""Cisco 7500 with CAR and ToS-based WFQ, as GARA used it (GARA §4.2, §5.1). IOS knows no DSCP there: precedence only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from slotcar.intent.model import QosIntent
from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import OWNS_PRECEDENCES, approximations, owned_of, policer
from slotcar.platforms.cisco_car.change import change_lines
from slotcar.platforms.cisco_car.running import TAKES, owned_in
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.renderer import Built, IosRenderer
from slotcar.platforms.model import Unrenderable


def _build(intent: QosIntent, device: Device) -> Built:
    return owned_of(intent, device), approximations(intent)


def _check_clear(device: str, foreign: Iterable[str], after: Ios) -> None:
    """Slotcar never takes another's queueing away, nor a list that has a number of its own range, and adds no lines that no
    packet reaches.

    Raises:
        Unrenderable: an interface's output is served in an operator's way, an operator's list has a wanted number, or an
            operator's `rate-limit` takes the packets.
    """
    options = {"access-list": "first_flow_acl", OWNS_PRECEDENCES: "first_precedence_acl"}
    wanted = {f"access-list {name}" for name in after.lists}
    wanted |= {f"{OWNS_PRECEDENCES} {number}" for number in after.rate_limit_lists}
    queued = {name for name, one in after.interfaces.items() if one.tos_weights}
    for note in foreign:
        if note in wanted:
            raise Unrenderable(
                f"{device}: `{note}` is wanted and is not Slotcar's; take it away, or give Slotcar another range in"
                f" slotcar_options.{options[note.rpartition(' ')[0]]}"
            )
        name, _, what = note.partition(": the queueing ")
        if what and name in queued:
            raise Unrenderable(
                f"{device}: {name} has {what}, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )
        if (match := _TAKING.match(note)) and match["name"] in after.interfaces:
            limits = [one for one in after.interfaces[match["name"]].rate_limits if one.way == "input"]
            if len(limits) > int(match["ours"]):
                raise Unrenderable(
                    f"{device} {match['name']}: `{match['line']}` takes packets before Slotcar's lines are asked; let it"
                    " end with `continue`, name an access list in it, or leave this interface out of the inventory"
                )


_TAKING = re.compile(rf"^(?P<name>\S+): {TAKES}`(?P<line>.+)` behind (?P<ours>\d+) of Slotcar's$")
RENDERER = IosRenderer(
    "cisco-car",
    _build,
    owned_in,
    _check_clear,
    change_lines,
    lambda flow, _device: policer(flow),
    read_own=partial(owned_in, all_ours=True),
)
