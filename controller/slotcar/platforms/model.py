"""What rendering gives: a configuration's text, and a change with its exact undo (docs/design.md rule 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from slotcar.base.problems import SlotcarError
from slotcar.network.model import Device
from slotcar.platforms.intent.model import EdgeFlow, QosIntent


class Unrenderable(SlotcarError):
    """A platform cannot express an intent, or others' objects on the device are in the way; the message says which."""


class BeyondLimit(Unrenderable):
    """A number beyond what a platform takes.

    Attributes:
        wanted, most: in the same unit.
    """

    def __init__(self, words: str, wanted: int, most: int) -> None:
        super().__init__(words)
        self.wanted, self.most = wanted, most


class Unreadable(SlotcarError):
    """A device's answer to the read-back commands is not what its platform prints; the message quotes it."""


class Objects(Protocol):
    """A platform's own typed objects: built from an intent or read from a device. Text is their projection."""

    def lines(self) -> tuple[str, ...]:
        """Canonical lines: equal meaning, equal bytes."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class RefusedPart:
    """A part of a configuration that a device did not do, while it did the rest.

    Attributes:
        handle: of the group, or of the reservation, that it is for.
        part: as the request's manager writes it, such as `process:4711`.
        reason: the device's words.
    """

    handle: str
    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class Approximation:
    """What a device does otherwise than its intent wants, and by how much.

    Attributes:
        aspect: what is approximated and where, without numbers of the moment: a plan says each aspect of a device once.
        words: a sentence about this device, which it does not name, so that devices of which the same holds are named
            together.
    """

    device: str
    aspect: str
    words: str


@dataclass(frozen=True)
class Configuration:
    """The part of a device's configuration that Slotcar owns.

    `objects` are the platform's; None is the unmanaged device, and so are objects without lines.

    `foreign` names what of others' a read-back saw where Slotcar would put its own (a root qdisc, a shared hook). It is
    no part of the configuration and takes no part in comparing; `change` keeps clear of it. `approximations` are what
    the platform does otherwise than the intent wants. Where that costs a promise, a renderer approximates only if the
    operator allowed it, by `slotcar_options.approximate` or by the choice of a platform or a scheduler that does so by its
    nature, else it refuses. `refused` are parts that a read-back device has been given and did not do; all else is in
    force.
    """

    device: str
    platform: str
    objects: Objects | None = field(default=None, compare=False, repr=False)
    foreign: tuple[str, ...] = field(default=(), compare=False)
    approximations: tuple[Approximation, ...] = field(default=(), compare=False)
    refused: tuple[RefusedPart, ...] = field(default=(), compare=False)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Canonical lines: equal meaning, equal bytes. Empty for the unmanaged device."""
        return self.objects.lines() if self.objects is not None else ()

    @cached_property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        if (self.device, self.platform) != (other.device, other.platform):
            return False
        # Equal objects have equal lines, which need not be printed for it.
        return self.objects == other.objects or self.lines == other.lines

    def __hash__(self) -> int:
        return hash((self.device, self.platform, self.lines))


@dataclass(frozen=True, slots=True)
class Hindrance:
    """What others configured on a device that keeps Slotcar's part from its place or its effect.

    Attributes:
        words: whole sentences, which name the device.
        certain: it does, and nothing is sent; where false it may, as far as a configuration tells, and a push goes ahead.
    """

    words: str
    certain: bool = True


def refused_by(check: Callable[[], None]) -> tuple[Hindrance, ...]:
    """What a check that raises `Unrenderable` says; nothing where it does not."""
    try:
        check()
    except Unrenderable as error:
        return (Hindrance(str(error)),)
    return ()


@dataclass(frozen=True, slots=True)
class Change:
    """What turns `before` into `after`, and back: both are texts that the device takes as they are.

    `apply` and `undo` are empty where nothing differs.
    """

    device: str
    platform: str
    before: Configuration
    after: Configuration
    apply: tuple[str, ...]
    undo: tuple[str, ...]

    @classmethod
    def between(
        cls, before: Configuration, after: Configuration, apply: tuple[str, ...], undo: tuple[str, ...]
    ) -> Change:
        return cls(after.device, after.platform, before, after, apply, undo)

    @property
    def empty(self) -> bool:
        return not self.apply


class Renderer(Protocol):
    """One platform's renderer. Pure: no clock, no network, no database; templates compute nothing."""

    platform: str

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        """The wanted configuration.

        Raises:
            Unrenderable: the platform cannot express the intent; the message says what, where and how much.
        """
        ...

    def policer(self, flow: EdgeFlow, device: Device) -> tuple[int, int]:
        """The rate and the burst, in bits per second and bytes, that the device is told for a flow: no less than the
        flow's committed ones.

        Raises:
            Unrenderable: it polices no such flow.
        """
        ...

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        """Commands whose output `running` understands; run on the device, one output each."""
        ...

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        """The configuration whose canonical lines these are, as an archive keeps them."""
        ...

    def running(self, outputs: Mapping[str, str], device: Device, pushed: Sequence[str] = ()) -> Configuration:
        """What Slotcar owns on the device, from the outputs of `readback_commands`.

        Args:
            pushed: lines that a push was to bring. Of one that was refused in part, what tells that the rest is Slotcar's
                may be missing; what these lines tell of it counts as well.
        """
        ...

    def hindrances(self, before: Configuration, after: Configuration, device: Device) -> tuple[Hindrance, ...]:
        """What of `before.foreign`, as the device was read, would keep `after` from its place or its effect."""
        ...

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """The least change from `before` to `after`, with its undo.

        Raises:
            Unrenderable: a hindrance of `before.foreign` is certain.
        """
        ...
