"""The one renderer (docs/design.md rule 14): plan, page and push show the same bytes.

A platform is one folder here, registered by one line in `slotcar.base.registry`, and its templates. What a folder holds,
and how to add one: `docs/howto/new-platform.md`. No other room has a branch for a platform.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from slotcar.base.registry import facts_of, folder_of
from slotcar.network.model import Device
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.model import Approximation, Change, Configuration, Renderer, Unreadable, Unrenderable

if TYPE_CHECKING:  # a push has no use for what admission counts with
    from slotcar.admission.service_curves import ServiceCurve, TokenBucket

__all__ = [
    "Approximation",
    "Change",
    "Configuration",
    "Renderer",
    "Unreadable",
    "Unrenderable",
    "renderer_of",
    "service_curve",
]


def renderer_of(device: Device) -> Renderer:
    """The renderer of a device's platform."""
    return _renderer(folder_of(device.platform))


@cache
def _renderer(folder: str) -> Renderer:
    renderer: Renderer = import_module(f"{folder}.renderer").RENDERER
    return renderer


def service_curve(egress: Egress, queue: Queue, device: Device, before: TokenBucket) -> ServiceCurve:
    """What a queue of an interface is surely given, as the platform serves it.

    Args:
        queue: of the egress. before: what may come of the services that are served before it, in all.

    Raises:
        Unrenderable: nothing follows for it, or nothing is known.
    """
    if not facts_of(device.platform).bounds_delay:
        raise Unrenderable(
            f"{egress.interface}: what {device.platform} surely gives a queue is not known here, so no delay is bounded"
        )
    curve: ServiceCurve = import_module(f"{folder_of(device.platform)}.delays").service_curve(
        egress, queue, device, before
    )
    return curve
