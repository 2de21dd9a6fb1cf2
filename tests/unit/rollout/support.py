"""Revisions of the line network, from reservations to what is staged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from slotcar.book.timeline import Active
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration
from slotcar.rollout import staging
from slotcar.rollout.archive import revision_id
from slotcar.rollout.model import DeviceRevision, Revision, Wanted
from slotcar.rollout.program import Coming
from slotcar.rollout.wanted import wanted_for
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

NETWORK = line_network()


def active(number: int, end: int, rate_bps: int = 1_000_000, network: Network = NETWORK) -> Active:
    """A reservation that is open until `end` minutes after T0."""
    request = reservation(f"n{number}", rate_bps, 0, end)
    (entry,) = entries_of([request], network, T0)
    return Active(replace(entry, handle=f"h{number}", number=number), 0)


def configure(some: Sequence[Active]) -> Mapping[str, Configuration]:
    return {name: one.configuration for name, one in wanted(*some).items()}


def wanted(*some: Active, network: Network = NETWORK, coming: Sequence[Coming] = ()) -> Mapping[str, Wanted]:
    outlook = wanted_for(network)(some, T0, coming)
    assert not outlook.unrenderable
    return outlook.wanted


def revision(at: datetime, *some: Active, network: Network = NETWORK) -> Revision:
    """What a push at `at` carries to unmanaged devices."""
    parts = {}
    for name, one in wanted(*some, network=network).items():
        device = network.devices[name]
        before = Configuration(name, device.platform)
        change = renderer_of(device).change(before, one.configuration, device)
        parts[name] = DeviceRevision(device, change, one.program, tuple(staging.commands(device)))
    return Revision(revision_id(at, parts), at, parts)
