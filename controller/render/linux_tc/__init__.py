"""Linux routers with iproute2 6.1 or newer: HTB, HFSC or ETS with GRED and RED on egress; on ingress clsact with flower,
police and pedit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller.intent.model import QosIntent
from controller.network.model import Device
from controller.render.linux_tc.build import objects_of
from controller.render.linux_tc.change import change_lines
from controller.render.linux_tc.objects import (
    FIRST_PREFERENCE,
    LAST_PREFERENCE,
    Clsact,
    EtsRoot,
    Fifo,
    Filter,
    Gred,
    GredProfile,
    HfscClass,
    HfscRoot,
    HtbClass,
    Red,
    Root,
    TcObject,
)
from controller.render.linux_tc.running import HOOKS, QDISCS, classes_and_filters, read
from controller.render.model import Change, Configuration, Unreadable, Unrenderable
from controller.vocabulary import Platform

_KINDS = (Clsact, Root, HfscRoot, EtsRoot, HtbClass, HfscClass, Fifo, Red, Gred, GredProfile, Filter)


class LinuxTc:
    """Renderer of `linux-tc`."""

    platform = Platform.LINUX_TC

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        objects, notes = objects_of(intent, device)
        return Configuration(device.name, self.platform, _lines(objects), approximations=notes)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return QDISCS, classes_and_filters(device)

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: tc's answers are not understood, or one is missing.
        """
        try:
            qdiscs, listing = (outputs[command] for command in self.readback_commands(device))
        except KeyError as missing:
            raise Unreadable(f"{device.name}: no answer to {missing}") from missing
        objects, foreign = read(qdiscs, listing, device)
        return Configuration(device.name, self.platform, _lines(objects), foreign)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: a root qdisc or an ingress qdisc of somebody else's is in the way.
        """
        _check_clear(before, after)
        shared = _shared(before)
        return Change(
            device=device.name,
            platform=self.platform,
            before=before,
            after=after,
            apply=change_lines(before.lines, after.lines, shared),
            undo=change_lines(after.lines, before.lines, shared),
        )

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        """Lines that take away everything that is Slotcar's, known or not; any of them may fail, others' stay."""
        lines = []
        for name in sorted(device.interfaces):
            for hook in HOOKS:
                lines += [
                    f"filter del dev {name} {hook} protocol ip pref {preference}"
                    for preference in range(FIRST_PREFERENCE, LAST_PREFERENCE + 1)
                    if any(f"dev {name} {hook} protocol ip pref {preference} " in line for line in running.lines)
                ]
        rest = [line for line in running.lines if not line.startswith("filter")]
        return tuple(lines) + change_lines(rest, (), _shared(running))


def _lines(objects: Iterable[TcObject]) -> tuple[str, ...]:
    """By interface, then in the order in which they can be made, then by their own text."""
    ordered = sorted(objects, key=lambda one: (one.device, _KINDS.index(type(one)), _rank(one)))
    return tuple(one.line() for one in ordered)


def _rank(one: TcObject) -> tuple[object, ...]:
    if isinstance(one, Filter):
        return one.hook, one.preference, one.handle
    return tuple(str(getattr(one, name)) for name in ("minor", "profile") if hasattr(one, name))


def _shared(running: Configuration) -> tuple[str, ...]:
    """Interfaces whose clsact carries others' filters."""
    return tuple(sorted({note.partition(" ")[0] for note in running.foreign if ": filter " in note}))


def _check_clear(before: Configuration, after: Configuration) -> None:
    """Slotcar never takes another's root qdisc away (DESIGN rule 6)."""
    for note in before.foreign:
        name, _, what = note.partition(": ")
        if "qdisc" in what and any(line.startswith(f"qdisc dev {name} ") for line in after.lines):
            raise Unrenderable(
                f"{before.device}: {name} carries {what}, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )
