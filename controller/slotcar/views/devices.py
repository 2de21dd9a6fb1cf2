"""Devices by their names: those that were named, all where nobody named any, and a refusal for every other name."""

from __future__ import annotations

from collections.abc import Collection

from slotcar.base.model_errors import nearest
from slotcar.base.problems import SlotcarError
from slotcar.network.model import Network


class NoSuchDevice(SlotcarError):
    """The inventory has no managed device of that name."""


def named_devices(
    network: Network, names: Collection[str] | None, among: Collection[str] | None = None
) -> tuple[str, ...]:
    """The devices to work on, sorted: all of `among` where `names` is None, else just those that were named.

    Args:
        names: what a person or a program said; None where nothing was said. Something empty was said by mistake, and
            is never taken for everything.
        among: the devices that are concerned at all, such as those of a revision; None for all of the inventory's.

    Raises:
        NoSuchDevice: no name, an empty one, one that the inventory has not, or one that is not `among`.
    """
    devices = set(network.devices if among is None else among)
    if names is None:
        return tuple(sorted(devices))
    if not names or not all(names):
        raise NoSuchDevice(f"a device without a name was asked for; {nearest('', sorted(network.devices))}")
    if unknown := sorted(set(names) - set(network.devices)):
        hint = nearest(unknown[0], sorted(network.devices))
        raise NoSuchDevice(f"the inventory has no managed device {', '.join(unknown)}; {hint}")
    if others := sorted(set(names) - devices):
        raise NoSuchDevice(
            f"{', '.join(others)} is not one of those that this is about; {nearest(others[0], sorted(devices))}"
        )
    return tuple(sorted(set(names)))
