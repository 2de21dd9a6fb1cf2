"""IP precedence instead of DSCP, for paths on which others know nothing else: `slotcar_options.marking: precedence`.

Filters are built by DSCP. Here each code point becomes that of the same service by precedence, wherever it is matched or
set: three bits of the field are matched instead of six, so that what others mark in the lower ones does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from slotcar.base.vocabulary import CODE_POINTS, Marking, Service
from slotcar.network.model import Device
from slotcar.platforms.linux_tc.objects import Action, Filter, Key, Mark, TcObject, code_point
from slotcar.platforms.options import marking_of

PRECEDENCE_BITS = "0xe0"
#: DSCP to the code point of the same service by precedence; an assured rate's yellow and red become one.
_POINTS = {
    dscp: precedence
    for service in Service
    for dscp, precedence in zip(
        CODE_POINTS[Marking.DSCP][service], CODE_POINTS[Marking.PRECEDENCE][service], strict=True
    )
}
#: A class of the assured rate goes by class selectors there, which are precedences already.
_POINTS |= {8 * precedence: 8 * precedence for precedence in range(8)}
_KEYS = {code_point(dscp): point for dscp, point in _POINTS.items()}
_ACTIONS: dict[Action, Action] = {Mark(dscp): Mark(point) for dscp, point in _POINTS.items()}


def marked(objects: Iterable[TcObject], device: Device) -> tuple[TcObject, ...]:
    """The objects in the device's own marking.

    Raises:
        Unrenderable: the option is none of this platform's.
    """
    if marking_of(device) is Marking.DSCP:
        return tuple(objects)
    chosen: dict[TcObject | tuple[object, ...], TcObject] = {}
    for one in objects:
        if isinstance(one, Filter):
            other = _by_precedence(one)
            # Where two code points become one, the first filter has it: the excess that is dropped later of the two.
            chosen.setdefault((other.device, other.hook, other.preference, other.handle), other)
        else:
            chosen[one] = one
    return tuple(chosen.values())


def _by_precedence(one: Filter) -> Filter:
    points = [_KEYS[key] for key in one.keys if key in _KEYS]
    return replace(
        one,
        handle=points[0] if points else one.handle,
        keys=tuple(_key(_KEYS[key]) if key in _KEYS else key for key in one.keys),
        actions=tuple(_ACTIONS.get(action, action) for action in one.actions),
    )


def _key(dscp: int) -> Key:
    return Key("ip_tos", f"{hex(dscp << 2)}/{PRECEDENCE_BITS}")
