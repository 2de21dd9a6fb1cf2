"""Hosts and places of managers: any two configurations, the change between them, and the circle back (rule 7)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar.managers import Allocation
from slotcar.network.model import Device
from slotcar.platforms.allocations import Allocations, allocation_of, line_of, read_allocations, split_change
from slotcar.platforms.allocations import change_lines as changed_allocations
from slotcar.platforms.linux_host.objects import HostObjects, Slice, change_lines, objects_of, read_lines
from slotcar.platforms.model import RefusedPart
from tests.support.examples import examples

DEVICE = Device(
    name="h", domain="d", platform="linux-host", interfaces={},
    resources={"cpu": {"": 64_000}, "storage": {"vdb:read": 10**9, "vdb:write": 10**9}},
)  # fmt: skip
NAMES = st.text("abcdefghjkmnpqrstvwxyz0123456789", min_size=1, max_size=16)
HANDLES = NAMES.map("r-{}".format)
BINDS = st.sampled_from(["user:mover", "process:1234", "unit:mover.service"])
ACCOUNTS = st.sampled_from(["mover", "mover,dtn", "*", ""])
PARTS = st.sampled_from(["", "vdb:read", "vdb:write"])


@st.composite
def allocations(draw: st.DrawFn) -> tuple[Allocation, ...]:
    by_handle = {}
    for handle in draw(st.sets(HANDLES, max_size=5)):
        part = draw(PARTS)
        options = {"group": draw(st.sampled_from(["g-a", "g-b", "g-c"]))}
        options |= {"bind": draw(BINDS), "accounts": draw(ACCOUNTS)} if draw(st.booleans()) else {}
        kind, amount = "storage" if part else "cpu", draw(st.integers(1, 10_000))
        by_handle[handle] = Allocation.of(handle, kind, {part: amount}, options)
    return tuple(sorted(by_handle.values()))


def applied(before: HostObjects, lines: tuple[str, ...]) -> HostObjects:
    """What `host.sh` makes of a configuration, as its lines are documented there."""
    slices = {one.id: one for one in before.slices}
    reserved, disks = before.reserved, dict(before.disks)
    for line in lines:
        verb, *words = line.split()
        if verb == "slice":
            assert (words[1] in slices) == (words[0] == "del")
            slices.pop(words[1], None)
            if words[0] == "add":
                slices[words[1]] = Slice(words[1], 100)
        elif verb == "weight":
            slices[words[0]] = Slice(words[0], int(words[1]), slices[words[0]].bind)
        elif verb in ("bind", "unbind"):
            has = set(slices[words[0]].bind) ^ {words[1]}
            slices[words[0]] = Slice(words[0], slices[words[0]].weight, tuple(sorted(has)))
        elif verb == "reserve":
            reserved = int(words[0])
        else:
            disks[f"{words[0]}:{words[1]}"] = int(words[2])
    left = tuple(sorted((name, most) for name, most in disks.items() if most))
    return HostObjects(tuple(sorted(slices.values())), reserved, left)


@given(allocations(), allocations())
@examples(few=60, many=2000)
def test_a_hosts_change_leads_there_and_its_undo_back(
    before: tuple[Allocation, ...], after: tuple[Allocation, ...]
) -> None:
    old, new = objects_of(before, DEVICE), objects_of(after, DEVICE)
    assert applied(old, change_lines(old, new)) == new
    assert applied(new, change_lines(new, old)) == old
    assert change_lines(old, old) == ()
    assert read_lines(old.lines()) == old
    refused = read_lines([*old.lines(), "refused g-one process:4711/mover this host has no process 4711"])
    assert refused == old  # told, and no difference that a push could mend
    assert refused.refused == (RefusedPart("g-one", "process:4711", "this host has no process 4711"),)


@given(allocations(), allocations())
@examples(few=60, many=2000)
def test_a_places_change_leads_there_and_its_undo_back(
    before: tuple[Allocation, ...], after: tuple[Allocation, ...]
) -> None:
    def done(some: tuple[Allocation, ...], lines: tuple[str, ...]) -> tuple[Allocation, ...]:
        has = {one.handle: one for one in some}
        for verb, one in split_change(lines):
            has = {handle: each for handle, each in has.items() if handle != one.handle}
            has |= {one.handle: one} if verb == "enable" else {}
        return tuple(sorted(has.values()))

    assert done(before, changed_allocations(Allocations(before), Allocations(after))) == after
    assert done(after, changed_allocations(Allocations(after), Allocations(before))) == before
    assert read_allocations(Allocations(before).lines()).of == before
    assert all(allocation_of(line_of(one)) == one for one in before)
