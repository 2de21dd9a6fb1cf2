"""What a test asks of a renderer beside what the controller does."""

from __future__ import annotations

from slotcar.network.model import Device
from slotcar.platforms.model import Configuration, Renderer


def all_away(renderer: Renderer, device: Device, running: Configuration) -> tuple[str, ...]:
    """The change that leaves nothing of Slotcar's on the device."""
    return renderer.change(running, Configuration(device.name, device.platform), device).apply
