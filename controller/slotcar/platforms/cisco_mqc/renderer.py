"""Cisco IOS from 12.2 on and IOS-XE, with the modular QoS command line (MQC).

Everything that Slotcar writes has a name that begins with `SLOTCAR-`: a list and a class map for each flow
(`SLOTCAR-F12`), class maps by code point (`SLOTCAR-EF`, `-AF1`, `-AF11`, `-QBSS`), a policy map for each interface and
direction (`SLOTCAR-IN-…`, `SLOTCAR-OUT-…`, `SLOTCAR-SHAPE-…`). Inside an ingress policy stand flows, the most specific
first, then the standing classes by code point; `controller/slotcar/platforms/ios/change.py` says why a flow that comes or
goes detaches nothing and moves no other flow. Where an operator's policy stands on an interface, Slotcar refuses:
nesting one policy in another would change what both mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from slotcar.network.model import Device
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.ios.change import change_lines
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.foreign import check_clear, foreign_in
from slotcar.platforms.ios.modular import approximations_of, owned_of, policer
from slotcar.platforms.ios.rate_limits import check_limits, doubtful_limits, limits_beside
from slotcar.platforms.ios.reading import owned_in
from slotcar.platforms.ios.renderer import Built, IosRenderer, Noted
from slotcar.platforms.ios.tree import Node


def _build(intent: QosIntent, device: Device) -> Built:
    return owned_of(intent, device), approximations_of(intent, device)


def _read(nodes: Sequence[Node], device: Device) -> Noted:
    return owned_in(nodes), (*foreign_in(nodes, device.interfaces), *limits_beside(nodes, device.interfaces))


def _check_clear(device: str, noted: Noted, after: Ios) -> None:
    """
    Raises:
        Unrenderable: an operator's policy, queueing or `rate-limit` is in the way.
    """
    check_clear(device, noted[1], after)
    check_limits(device, noted[1], after)


RENDERER = IosRenderer("cisco-mqc", _build, _read, _check_clear, doubtful_limits, change_lines, policer)
