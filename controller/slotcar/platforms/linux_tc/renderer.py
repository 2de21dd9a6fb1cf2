"""Linux routers with iproute2 6.1 or newer: HTB, HFSC or ETS with GRED and RED on egress; on ingress clsact with flower,
police and pedit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotcar.intent.model import EdgeFlow, QosIntent
from slotcar.network.model import Device
from slotcar.platforms.colours import two_colours
from slotcar.platforms.linux_tc.build import objects_of, policer
from slotcar.platforms.linux_tc.change import change_lines
from slotcar.platforms.linux_tc.objects import Clsact, EtsRoot, Filter, HfscRoot, Root, Tc
from slotcar.platforms.linux_tc.running import CLSACT_NOTE, QDISCS, TAKES, classes_and_filters, read
from slotcar.platforms.linux_tc.stored import read_lines
from slotcar.platforms.model import Change, Configuration, Unreadable, Unrenderable
from slotcar.platforms.options import marking_of
from slotcar.vocabulary import Marking


class LinuxTc:
    """Renderer of `linux-tc`."""

    platform = "linux-tc"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        objects, approximations = objects_of(intent, device)
        colours = () if marking_of(device) is Marking.DSCP else two_colours(intent)
        return Configuration(device.name, self.platform, Tc(objects), approximations=(*colours, *approximations))

    def policer(self, flow: EdgeFlow, device: Device) -> tuple[int, int]:
        return policer(flow)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return QDISCS, classes_and_filters(device)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        return Configuration(device.name, self.platform, read_lines(lines))

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
        return Configuration(device.name, self.platform, objects, foreign)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: a root qdisc or an ingress qdisc of somebody else's is in the way, or a filter takes every packet.
        """
        old, new, shared = _tc(before), _tc(after), _shared(before)
        _check_clear(before, new)
        return Change.between(before, after, change_lines(old, new, shared), change_lines(new, old, shared))


def _tc(configuration: Configuration) -> Tc:
    assert configuration.objects is None or isinstance(configuration.objects, Tc)
    return configuration.objects or Tc()


def _shared(running: Configuration) -> tuple[str, ...]:
    """Interfaces whose clsact carries others' filters, or was there before Slotcar."""
    notes = (note for note in running.foreign if ": filter " in note or note.endswith(f": {CLSACT_NOTE}"))
    return tuple(sorted({note.partition(" ")[0].removesuffix(":") for note in notes}))


def _check_clear(before: Configuration, after: Tc) -> None:
    """Slotcar never takes another's root qdisc away (docs/design.md rule 6), and puts no filter where no packet comes."""
    wanted = {one.device for one in after.objects if isinstance(one, Clsact | Root | HfscRoot | EtsRoot)}
    hooks = {f"{one.device} {one.hook}" for one in after.objects if isinstance(one, Filter)}
    for note in before.foreign:
        name, _, what = note.partition(": ")
        if what.endswith(TAKES) and name in hooks:
            raise Unrenderable(
                f"{before.device} {name}: `{what.removesuffix(TAKES)}`{TAKES} before Slotcar's filters are asked;"
                " give it a higher preference or let it end with `continue`, or leave this interface out of the inventory"
            )
        if "qdisc" in what and name in wanted:
            raise Unrenderable(
                f"{before.device}: {name} carries {what}, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )


RENDERER = LinuxTc()
