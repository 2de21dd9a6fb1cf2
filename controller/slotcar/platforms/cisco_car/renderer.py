"""Cisco 7500 with CAR and ToS-based WFQ, as GARA used it (GARA §4.2, §5.1). IOS knows no DSCP there: precedence only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import OWNS_PRECEDENCES, approximations, owned_of, policer
from slotcar.platforms.cisco_car.change import change_lines
from slotcar.platforms.cisco_car.running import owned_in
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import RateLimit
from slotcar.platforms.ios.rate_limits import (
    LET_GO,
    OthersLimit,
    changes_nothing,
    doubtful_limits,
    flows_in,
    goes_on,
    limits_noted,
)
from slotcar.platforms.ios.renderer import Built, IosRenderer, Noted
from slotcar.platforms.model import Unrenderable


def _build(intent: QosIntent, device: Device) -> Built:
    return owned_of(intent, device), approximations(intent)


def _check_clear(device: str, noted: Noted, after: Ios) -> None:
    """Slotcar never takes another's queueing away, nor a list that has a number of its own range, and adds no lines that no
    packet reaches.

    Raises:
        Unrenderable: an interface's output is served in an operator's way, an operator's list has a wanted number, or an
            operator's `rate-limit` takes the packets.
    """
    before, foreign = noted
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
    for limit in limits_noted(foreign):
        if limit.way == "input":
            _check_order(device, limit, before, after)
        elif limit.entries is None and limit.name in queued and not changes_nothing(limit.line):
            raise Unrenderable(
                f"{device} {limit.name}: `{limit.line}` drops or marks packets of every service as they leave; {LET_GO}, or"
                " leave this interface out of the inventory"
            )


def _check_order(device: str, limit: OthersLimit, before: Ios, after: Ios) -> None:
    """
    Raises:
        Unrenderable: packets of a line that is to stand behind an operator's never come to it.
    """
    was, will = (_inputs(one, limit.name) for one in (before, after))
    same = next((number for number, pair in enumerate(zip(was, will, strict=False)) if pair[0] != pair[1]), len(was))
    # From the first line that differs on, they are written anew, behind all others.
    behind = will[min(limit.ours, same) :]
    if not behind or goes_on(limit.line):
        return
    flows = flows_in((str(one.acl) for one in behind if not one.by_precedence), after)
    if limit.entries is None or any(map(limit.takes_some_of, flows)):
        raise Unrenderable(
            f"{device} {limit.name}: `{limit.line}` takes packets before Slotcar's lines are asked; let it end with"
            f" `continue`, {LET_GO}, or leave this interface out of the inventory"
        )


def _inputs(one: Ios, name: str) -> tuple[RateLimit, ...]:
    limits = one.interfaces[name].rate_limits if name in one.interfaces else ()
    return tuple(limit for limit in limits if limit.way == "input")


def _doubts(device: str, foreign: Iterable[str], after: Ios) -> Iterator[str]:
    yield from doubtful_limits(device, foreign, after)
    for note in foreign:
        name, _, policy = note.partition(": the policy ")
        if policy and name in after.interfaces:
            yield f"{device} {name}: {policy} may drop or mark packets that Slotcar's lines there police and mark"


RENDERER = IosRenderer(
    "cisco-car",
    _build,
    owned_in,
    _check_clear,
    _doubts,
    change_lines,
    lambda flow, _device: policer(flow),
    read_own=partial(owned_in, all_ours=True),
)
