"""A host's own objects: a slice for each group's processes, and what is left for all others. Their lines, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from slotcar.managers import Allocation
from slotcar.network.model import Device
from slotcar.platforms.model import RefusedPart, Unreadable
from slotcar.reservation.model import ANY_ACCOUNT

#: cgroup v2's.
LEAST_WEIGHT, MOST_WEIGHT = 1, 10_000
#: So many thousandths of a core are one unit of weight.
MILLICORES_OF_WEIGHT = 10


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """The processes of a group's members on the host.

    Attributes:
        id: the group's handle.
        weight: its part of the cores, against the other slices.
        bind: which processes belong to it from the start, and whose they may be, ascending.
    """

    id: str
    weight: int
    bind: tuple[str, ...] = ()

    def line(self) -> str:
        return " ".join([f"slice {self.id} weight={self.weight}", *(f"bind={one}" for one in self.bind)])


@dataclass(frozen=True, slots=True)
class HostObjects:
    """Attributes:
    slices: by id.
    reserved: thousandths of cores that all others must leave.
    disks: bytes a second that all others get at most, by `DISK:WAY`, ascending.
    refused: binds that the host did not do when it was asked; no lines of the configuration.
    """

    slices: tuple[Slice, ...] = ()
    reserved: int = 0
    disks: tuple[tuple[str, int], ...] = field(default=())
    refused: tuple[RefusedPart, ...] = field(default=(), compare=False)

    def lines(self) -> tuple[str, ...]:
        reserved = (f"rest reserved={self.reserved}",) if self.reserved else ()
        return (*(one.line() for one in self.slices), *reserved, *(f"rest {name}={one}" for name, one in self.disks))


def objects_of(allocations: Iterable[Allocation], device: Device) -> HostObjects:
    """What the host must have while these allocations are open."""
    millicores: dict[str, int] = {}
    bind: dict[str, set[str]] = {}
    disks: dict[str, int] = {}
    for one in allocations:
        options = dict(one.options)
        slice_id = options.get("group", one.handle)
        millicores.setdefault(slice_id, 0)
        bind.setdefault(slice_id, set()).update(_bound(options))
        for part, amount in one.amounts:
            if part:
                disks[part] = disks.get(part, 0) + amount
            else:
                millicores[slice_id] += amount
    capacities = device.capacities_of("storage")
    return HostObjects(
        tuple(Slice(name, weight_of(cores), tuple(sorted(bind[name]))) for name, cores in sorted(millicores.items())),
        sum(millicores.values()),
        tuple(sorted((part, max(1, capacities.get(part, amount) - amount)) for part, amount in disks.items())),
    )


def _bound(options: Mapping[str, str]) -> tuple[str, ...]:
    """`user:mover/mover,dtn`: what is bound, and whose processes it may be. Without a `/`, any account's: an operator's."""
    if "bind" not in options:
        return ()
    accounts = options.get("accounts", "")
    return (options["bind"] if accounts == ANY_ACCOUNT else f"{options['bind']}/{accounts}",)


def weight_of(millicores: int) -> int:
    """The weight of a slice, in proportion to its cores; without cores it is that of a usual cgroup."""
    weight = -(-millicores // MILLICORES_OF_WEIGHT) if millicores else 100
    return min(max(weight, LEAST_WEIGHT), MOST_WEIGHT)


def read_lines(lines: Iterable[str]) -> HostObjects:
    """
    Raises:
        Unreadable: a line is none of `HostObjects.lines`.
    """
    slices: list[Slice] = []
    reserved = 0
    disks: dict[str, int] = {}
    refused: list[RefusedPart] = []
    for line in lines:
        kind, *words = line.split()
        try:
            if kind == "slice":
                pairs = [word.partition("=") for word in words[1:]]
                weight = next(int(value) for key, _, value in pairs if key == "weight")
                slices.append(
                    Slice(words[0], weight, tuple(sorted(value for key, _, value in pairs if key == "bind")))
                )
            elif kind == "rest" and words[0].startswith("reserved="):
                reserved = int(words[0].partition("=")[2])
            elif kind == "refused":
                refused.append(RefusedPart(words[0], words[1].partition("/")[0], " ".join(words[2:])))
            elif kind == "rest":
                name, _, amount = words[0].rpartition("=")
                disks[name] = int(amount)
            else:
                raise ValueError(kind)
        except (ValueError, IndexError, StopIteration) as error:
            raise Unreadable(f"`{line}` is not a line of a host's configuration") from error
    return HostObjects(tuple(sorted(slices)), reserved, tuple(sorted(disks.items())), tuple(sorted(refused)))


def change_lines(before: HostObjects, after: HostObjects) -> tuple[str, ...]:
    """Lines for `host.sh`: what is given comes before the others are limited, and they are free again before it goes."""
    old, new = ({one.id: one for one in some.slices} for some in (before, after))
    lines = [f"disk {_words(name)} 0" for name, _ in before.disks if name not in dict(after.disks)]
    if before.reserved and not after.reserved:
        lines.append("reserve 0")
    lines += [f"slice del {one}" for one in sorted(old.keys() - new.keys())]
    for name, one in sorted(new.items()):
        old_slice = old.get(name)
        lines += [] if old_slice else [f"slice add {name}"]
        lines += [f"weight {name} {one.weight}"] if old_slice is None or old_slice.weight != one.weight else []
        was = old_slice.bind if old_slice else ()
        lines += [f"unbind {name} {what}" for what in was if what not in one.bind]
        lines += [f"bind {name} {what}" for what in one.bind if what not in was]
    if after.reserved and after.reserved != before.reserved:
        lines.append(f"reserve {after.reserved}")
    lines += [f"disk {_words(name)} {most}" for name, most in after.disks if dict(before.disks).get(name) != most]
    return tuple(lines)


def _words(name: str) -> str:
    return name.replace(":", " ")
