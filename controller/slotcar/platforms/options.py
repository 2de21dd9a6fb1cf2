"""A device's options as its platform's own type. Those of an inventory were checked before."""

from __future__ import annotations

from functools import lru_cache

from pydantic import ValidationError

from slotcar.base.registry import DeviceOptions, Options, PlatformOptions, facts_of, options_model
from slotcar.base.vocabulary import Marking
from slotcar.network.findings import explained
from slotcar.network.model import Device
from slotcar.platforms.model import Unrenderable


def options_of(device: Device, model: type[Options]) -> Options:
    """
    Args:
        model: the type that the platform declares in its facts, or one that this is derived from.

    Raises:
        Unrenderable: an option that the platform has not, or a value that is none of its.
    """
    options = _read(device.platform, tuple(device.options.items()), device.name, tuple(device.interfaces))
    assert isinstance(options, model)
    return options


@lru_cache(maxsize=4096)
def _read(
    platform: str, written: tuple[tuple[str, int | str | bool], ...], device: str, interfaces: tuple[str, ...]
) -> DeviceOptions:
    options = dict(written)
    model = options_model(facts_of(platform).options, options, interfaces)
    try:
        return model.model_validate(options)
    except ValidationError as error:
        key, message, value, hint = next(explained(error, model, options))
        place = ".".join(("slotcar_options", *key))
        got, then = (f" (got {value})" if value != "" else ""), (f"; {hint}" if hint else "")
        raise Unrenderable(f"{device}: {place}: {message}{got}{then}") from error


def marking_of(device: Device) -> Marking:
    """What the router marks and matches by: `slotcar_options.marking`, else its platform's own way.

    Raises:
        Unrenderable: the option is none of this platform's.
    """
    markings = facts_of(device.platform).markings
    chosen = options_of(device, PlatformOptions).marking
    if chosen is None:
        return markings[0]
    if chosen not in markings:
        raise Unrenderable(f"{device.name}: slotcar_options.marking is {chosen}; known are {', '.join(markings)}")
    return Marking(chosen)
