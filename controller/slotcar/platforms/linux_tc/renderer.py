"""Linux routers with iproute2 6.1 or newer: HTB, HFSC or ETS with GRED and RED on egress; on ingress clsact with flower,
police and pedit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slotcar.base.vocabulary import Marking
from slotcar.network.model import Device
from slotcar.platforms.colours import two_colours
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.linux_tc.build import objects_of, policer
from slotcar.platforms.linux_tc.change import change_lines
from slotcar.platforms.linux_tc.objects import Clsact, EtsRoot, HfscRoot, Root, Tc
from slotcar.platforms.linux_tc.others import hindrances_of
from slotcar.platforms.linux_tc.running import CLSACT_NOTE, QDISCS, classes_and_filters, read
from slotcar.platforms.linux_tc.stored import read_lines
from slotcar.platforms.model import Change, Configuration, Hindrance, Unreadable, Unrenderable
from slotcar.platforms.options import marking_of


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

    def running(self, outputs: Mapping[str, str], device: Device, pushed: Sequence[str] = ()) -> Configuration:
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

    def hindrances(self, before: Configuration, after: Configuration, device: Device) -> tuple[Hindrance, ...]:
        return tuple(_hindrances(before, _tc(after)))

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: a root qdisc or an ingress qdisc of somebody else's is in the way, or a filter takes the packets.
        """
        old, new, shared = _tc(before), _tc(after), _shared(before)
        for hindrance in _hindrances(before, new):
            if hindrance.certain:
                raise Unrenderable(hindrance.words)
        return Change.between(before, after, change_lines(old, new, shared), change_lines(new, old, shared))


def _tc(configuration: Configuration) -> Tc:
    assert configuration.objects is None or isinstance(configuration.objects, Tc)
    return configuration.objects or Tc()


def _shared(running: Configuration) -> tuple[str, ...]:
    """Interfaces whose clsact carries others' filters, or was there before Slotcar."""
    notes = (note for note in running.foreign if ": filter " in note or note.endswith(f": {CLSACT_NOTE}"))
    return tuple(sorted({note.partition(" ")[0].removesuffix(":") for note in notes}))


def _hindrances(before: Configuration, after: Tc) -> Iterator[Hindrance]:
    """Slotcar never takes another's root qdisc away (docs/design.md rule 6), and puts no filter where no packet comes."""
    wanted = {one.device for one in after.objects if isinstance(one, Clsact | Root | HfscRoot | EtsRoot)}
    for note in before.foreign:
        name, _, what = note.partition(": ")
        if "qdisc" in what and name in wanted:
            yield Hindrance(
                f"{before.device}: {name} carries {what}, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )
    yield from hindrances_of(before.device, before.foreign, after)


RENDERER = LinuxTc()
