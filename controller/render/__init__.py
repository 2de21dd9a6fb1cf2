"""The one renderer (DESIGN): plan, page and push show the same bytes.

A platform is one package here and one family in `templates/`. Those that are not in `_RENDERERS` yet have their name in
`controller.vocabulary.Platform`; to add one, write `controller/render/<platform>/` with a `Renderer` and enter it.
"""

from __future__ import annotations

from controller.network.model import Device
from controller.render.cisco_car import CiscoCar
from controller.render.linux_tc import LinuxTc
from controller.render.model import Change, Configuration, Renderer, Unreadable, Unrenderable
from controller.vocabulary import Platform

__all__ = ["Change", "Configuration", "Renderer", "Unreadable", "Unrenderable", "renderer_for", "renderer_of"]

_RENDERERS: dict[Platform, Renderer] = {Platform.LINUX_TC: LinuxTc(), Platform.CISCO_CAR: CiscoCar()}


def renderer_for(platform: Platform, device: str = "") -> Renderer:
    """The platform's renderer.

    Raises:
        Unrenderable: the platform has none yet.
    """
    renderer = _RENDERERS.get(platform)
    if renderer is None:
        where = f" (device {device})" if device else ""
        known = [one.value for one in _RENDERERS]
        raise Unrenderable(
            f"platform {platform.value}{where} is not rendered yet; {', '.join(known[:-1])} and {known[-1]} are"
        )
    return renderer


def renderer_of(device: Device) -> Renderer:
    """The renderer of a device; the refusal names the device."""
    return renderer_for(device.platform, device.name)
