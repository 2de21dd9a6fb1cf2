"""What rendering gives: a configuration's text, and a change with its exact undo (DESIGN rule 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller.intent.model import QosIntent
from controller.network.model import Device
from controller.problems import SlotcarError
from controller.vocabulary import Platform


class Unrenderable(SlotcarError):
    """A platform cannot express an intent, or others' objects on the device are in the way; the message says which."""


class Unreadable(SlotcarError):
    """A device's answer to the read-back commands is not what its platform prints; the message quotes it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The part of a device's configuration that Slotcar owns, as canonical lines: equal meaning, equal bytes.

    `foreign` names what of others' a read-back saw where Slotcar would put its own (a root qdisc, a shared hook). It is
    no part of the configuration and takes no part in comparing; `change` keeps clear of it. Empty `lines` are the
    unmanaged device. `approximations` say in words what the platform does otherwise than the intent wants, and by how
    much; a renderer approximates only where the operator allowed it, by `slotcar_options.approximate` or by the choice of a
    scheduler that does so by its nature, else it refuses.
    """

    device: str
    platform: Platform
    lines: tuple[str, ...]
    foreign: tuple[str, ...] = field(default=(), compare=False)
    approximations: tuple[str, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True, slots=True)
class Change:
    """What turns `before` into `after`, and back: both are texts that the device takes as they are.

    `apply` and `undo` are empty where nothing differs.
    """

    device: str
    platform: Platform
    before: Configuration
    after: Configuration
    apply: tuple[str, ...]
    undo: tuple[str, ...]

    @property
    def empty(self) -> bool:
        return not self.apply


class Renderer(Protocol):
    """One platform's renderer. Pure: no clock, no network, no database; templates compute nothing."""

    platform: Platform

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        """The wanted configuration.

        Raises:
            Unrenderable: the platform cannot express the intent; the message says what, where and how much.
        """
        ...

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        """Commands whose output `running` understands; run on the device, one output each."""
        ...

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """What Slotcar owns on the device, from the outputs of `readback_commands`, in the same canonical lines."""
        ...

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """The least change from `before` to `after`, with its undo."""
        ...

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        """Lines that take away everything that is Slotcar's on the device, for an emergency."""
        ...
