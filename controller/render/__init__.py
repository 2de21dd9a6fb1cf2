"""The one renderer (DESIGN): plan, page and push show the same bytes.

A platform is one package here and one family in `templates/`. To add one, name it in `controller.vocabulary.Platform`,
write `controller/render/<platform>/` with a `Renderer` and a `Capability`, and enter it in `_RENDERERS`.
"""

from __future__ import annotations

from controller.network.model import Device
from controller.render.cisco_car import CiscoCar
from controller.render.cisco_cat6500 import CiscoCat6500
from controller.render.cisco_gsr import CiscoGsr
from controller.render.cisco_iosxe_netconf import CiscoIosxeNetconf
from controller.render.cisco_mqc import CiscoMqc
from controller.render.linux_tc import LinuxTc
from controller.render.model import Change, Configuration, Renderer, Unreadable, Unrenderable
from controller.vocabulary import Platform

__all__ = ["Change", "Configuration", "Renderer", "Unreadable", "Unrenderable", "renderer_of"]

_RENDERERS: dict[Platform, Renderer] = {
    Platform.LINUX_TC: LinuxTc(),
    Platform.CISCO_CAR: CiscoCar(),
    Platform.CISCO_CAT6500: CiscoCat6500(),
    Platform.CISCO_MQC: CiscoMqc(),
    Platform.CISCO_GSR: CiscoGsr(),
    Platform.CISCO_IOSXE_NETCONF: CiscoIosxeNetconf(),
}


def renderer_of(device: Device) -> Renderer:
    """The renderer of a device's platform."""
    return _RENDERERS[device.platform]
