"""What of others' on routers, as they were last read, would keep a plan's lines from their place or their effect. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from slotcar.base.registry import OF_PLACES
from slotcar.base.timebase import iso
from slotcar.network.model import Device, Network
from slotcar.planning.plan import InTheWay, Plan
from slotcar.platforms import Configuration, renderer_of
from slotcar.rollout.looks import Look

#: So many routers are named.
NAMES_SHOWN = 8


def routers_of(plan: Plan, network: Network) -> tuple[str, ...]:
    """The routers that the plan's changes cross at the boundaries that it shows, whether their lines change or not."""
    names = {name for boundary in plan.boundaries for name in boundary.after}
    return tuple(sorted(name for name in names if network.devices[name].platform not in OF_PLACES))


def looked_at(plan: Plan, network: Network, look_at: Callable[[Device], Look | None]) -> Plan:
    """The plan, with what the last look at its routers says.

    Args:
        look_at: the last look at a router; None where there was none.
    """
    looks = {name: look_at(network.devices[name]) for name in routers_of(plan, network)}
    read_ones = {name: look for name, look in looks.items() if look is not None}
    by_words: dict[tuple[str, str], InTheWay] = {}
    for name, look in read_ones.items():
        if look.configuration.foreign:
            for one in _hindering(network.devices[name], look, plan):
                by_words.setdefault((one.device, one.words), one)
    ordered = sorted(by_words.values(), key=lambda one: (not one.certain, one.at, one.device))
    unread = tuple(name for name, look in looks.items() if look is None)
    first_read = min((look.read_at for look in read_ones.values()), default=None)
    return replace(plan, in_the_way=tuple(ordered), not_looked_at=unread, looked_at=first_read)


def _hindering(device: Device, look: Look, plan: Plan) -> Iterator[InTheWay]:
    """What hinders each of the device's configurations, once, from the first boundary on that brings it."""
    first_at: dict[Configuration, datetime] = {}
    for boundary in plan.boundaries:
        if after := boundary.after.get(device.name):
            first_at.setdefault(after, boundary.at)
    for after, at in first_at.items():
        for one in renderer_of(device).hindrances(look.configuration, after, device):
            yield InTheWay(device.name, at, one.words, one.certain, look.read_at)


# -- in words ----------------------------------------------------------------------------------------------------------


def sentences_of(plan: Plan) -> list[str]:
    """What is in the way, the certain first."""
    return [
        f"{'' if one.certain else 'perhaps: '}{one.words} ({_when(one, plan)}read {iso(one.read_at)})"
        for one in plan.in_the_way
    ]


def _when(one: InTheWay, plan: Plan) -> str:
    return "" if one.at <= plan.made_at else f"from {iso(one.at)} on; "


def looked_words_of(plan: Plan) -> str:
    return looked_words(plan.not_looked_at, iso(plan.looked_at) if plan.looked_at else None, bool(plan.in_the_way))


def looked_words(names: Sequence[str], looked_at: str | None, something_is: bool) -> str:
    """Which routers were not looked at, and that nothing is in the way on the others; empty where the plan crosses none.

    Args:
        names: those that were not.
        looked_at: when the others were read, the earliest; None where there are none.
        something_is: in the way on these.
    """
    if names:
        more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
        listed = f"{', '.join(names[:NAMES_SHOWN])}{more}"
        return (
            f"Not looked at: whether others' configuration is in the way on {listed};"
            " `slotcar plan --devices` reads the routers first"
        )
    if looked_at is None or something_is:
        return ""
    return f"Nothing is in the way on the routers of the paths, as they were read at {looked_at} or later."
