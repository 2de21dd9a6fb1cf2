"""The one renderer (docs/design.md rule 14): plan, page and push show the same bytes.

A platform is one folder here, registered by one line in `slotcar.base.registry`, and its templates. What a folder holds,
and how to add one: `docs/howto/new-platform.md`. No other room has a branch for a platform.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from slotcar.base.registry import folder_of
from slotcar.network.model import Device
from slotcar.platforms.model import Approximation, Change, Configuration, Renderer, Unreadable, Unrenderable

__all__ = ["Approximation", "Change", "Configuration", "Renderer", "Unreadable", "Unrenderable", "renderer_of"]


def renderer_of(device: Device) -> Renderer:
    """The renderer of a device's platform."""
    return _renderer(folder_of(device.platform))


@cache
def _renderer(folder: str) -> Renderer:
    renderer: Renderer = import_module(f"{folder}.renderer").RENDERER
    return renderer
