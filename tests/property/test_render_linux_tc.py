"""Every change of a Linux router is taken by the kernel, gives what was wanted, and is undone to the byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.vocabulary import Scheduler
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, renderer_of
from slotcar.platforms.intent.model import QosIntent
from slotcar.reservation.model import Reservation
from tests.support.examples import examples
from tests.support.rendering import all_away
from tests.unit.platforms.kernel import Kernel
from tests.unit.platforms.worlds import intents, network, population, successions, without_interface

Brownfield = dict[str, list[tuple[str, str]]]
Succession = tuple[dict[int, Reservation], dict[int, Reservation]]
#: Filters of an operator's, by interface, by hook as tc prints them, on the clsact that Slotcar uses, too.
FILTERS = (
    (
        "ingress",
        "filter protocol ip pref 10 flower chain 0 handle 0x1 \n  eth_type ipv4\n  ip_proto icmp\n  not_in_hw",
    ),
    ("ingress", "filter protocol all pref 49152 matchall chain 0 handle 0x1 \n  not_in_hw"),
    ("ingress", "filter protocol ip pref 49151 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0"),
    ("egress", "filter protocol ip pref 20899 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0"),
)
#: Capacities that the kernel's and tc's steps do not divide are among them.
CAPACITIES = (10_000_000, 60_000_000, 100_000_000, 99_999_999, 1_000_000_000, 2_500_000_001)
operators = st.dictionaries(
    st.sampled_from(["eth1", "eth2"]), st.lists(st.sampled_from(FILTERS), unique=True), max_size=2
)


def start(device: Device, brownfield: Brownfield) -> Kernel:
    kernel = Kernel(device.interfaces)
    for name, filters in brownfield.items():
        kernel.run([f"qdisc add dev {name} clsact"])
        kernel.ports[name].others = list(filters)
    return kernel


def read(kernel: Kernel, device: Device) -> Configuration:
    renderer = renderer_of(device)
    return renderer.running(kernel.outputs(renderer.readback_commands(device), device), device)


def intent_of(where: Network, name: str, chosen: dict[int, Reservation], missing: str | None) -> QosIntent:
    intent = intents(where, *population(where, chosen))[name]
    return intent if missing is None else without_interface(intent, missing)


def scheduled(device: Device, scheduler: Scheduler) -> Device:
    """The device with this choice of its operator's, on lines that have just the interfaces' capacity."""
    interfaces = {name: one.model_copy(update={"scheduler": scheduler}) for name, one in device.interfaces.items()}
    options: dict[str, int | str | bool] = {"line_rate": f"{device.interfaces['eth1'].capacity_bps} bit/s"}
    return device.model_copy(update={"interfaces": interfaces, "options": options})


kinds = st.sampled_from(Scheduler)
worlds = {
    "capacity_bps": st.sampled_from(CAPACITIES),
    "name": st.sampled_from(["r1", "r2", "r3"]),
    "succession": successions(),
    "brownfield": operators,
    "missing": st.tuples(*[st.sampled_from([None, None, None, "eth2"])] * 2),
    # Before and after: half of the time the operator changed his mind.
    "schedulers": st.one_of(kinds.map(lambda one: (one, one)), st.tuples(kinds, kinds)),
}


@given(**worlds)
@examples(30, 120)
def test_a_change_is_taken_by_the_kernel_and_its_undo_gives_back_what_was(
    capacity_bps: int,
    name: str,
    succession: Succession,
    brownfield: Brownfield,
    missing: tuple[str | None, str | None],
    schedulers: tuple[Scheduler, Scheduler],
) -> None:
    where = network("linux-tc", capacity_bps)
    device = where.devices[name]
    renderer = renderer_of(device)
    first, second = (
        renderer.configuration(intent_of(where, name, chosen, missing_one), scheduled(device, scheduler))
        for chosen, missing_one, scheduler in zip(succession, missing, schedulers, strict=True)
    )
    lasting = roots(first) & roots(second) if schedulers[0] is schedulers[1] else set()
    kernel = start(device, brownfield)
    bare = kernel.snapshot()

    manage = renderer.change(read(kernel, device), first, device)
    kernel.run(manage.apply)
    managed, running = kernel.snapshot(), read(kernel, device)
    assert owned(running, brownfield) == owned(first, brownfield)

    kernel.roots_deleted.clear()
    change = renderer.change(running, second, device)
    kernel.run(change.apply)
    assert owned(read(kernel, device), brownfield) == owned(second, brownfield)
    assert {n: port.others for n, port in kernel.ports.items()} == {n: port.others for n, port in bare.items()}
    assert not set(kernel.roots_deleted) & lasting
    assert renderer.change(read(kernel, device), second, device).apply == stray_clsacts(read(kernel, device), second)

    kernel.run(change.undo)
    assert kernel.ports == managed
    assert not set(kernel.roots_deleted) & lasting
    kernel.run(manage.undo)
    assert kernel.ports == bare


def owned(configuration: Configuration, brownfield: Brownfield) -> list[str]:
    """Without the clsact of interfaces where the operator has one: whose it is cannot be told."""
    return [line for line in configuration.lines if line not in {f"qdisc dev {name} clsact" for name in brownfield}]


def roots(configuration: Configuration) -> set[str]:
    return {line.split()[2] for line in configuration.lines if " root handle " in line}


def stray_clsacts(running: Configuration, wanted: Configuration) -> tuple[str, ...]:
    """An operator's empty clsact on an interface that is not Slotcar's looks like one of its own."""
    shared = {note.split()[0] for note in running.foreign}
    stray = [line for line in running.lines if line.endswith(" clsact") and line not in wanted.lines]
    return tuple(f"qdisc del dev {line.split()[2]} clsact" for line in sorted(stray) if line.split()[2] not in shared)


@given(succession=successions(), name=st.sampled_from(["r1", "r3"]), scheduler=kinds)
@examples(8, 30)
def test_what_is_as_wanted_is_told_nothing(succession: Succession, name: str, scheduler: Scheduler) -> None:
    where = network("linux-tc")
    device = scheduled(where.devices[name], scheduler)
    wanted = renderer_of(device).configuration(intent_of(where, name, succession[0], None), device)
    assert renderer_of(device).change(wanted, wanted, device).empty


@given(succession=successions(), name=st.sampled_from(["r1", "r3"]), brownfield=operators, scheduler=kinds)
@examples(10, 40)
def test_a_purge_takes_everything_of_slotcars_and_nothing_of_others(
    succession: Succession, name: str, brownfield: Brownfield, scheduler: Scheduler
) -> None:
    where = network("linux-tc")
    device = scheduled(where.devices[name], scheduler)
    renderer = renderer_of(device)
    kernel = start(device, {one: filters for one, filters in brownfield.items() if filters})
    bare = kernel.snapshot()
    wanted = renderer.configuration(intent_of(where, name, succession[0], None), device)
    kernel.run(renderer.change(read(kernel, device), wanted, device).apply)
    kernel.run(all_away(renderer, device, read(kernel, device)))
    assert kernel.ports == bare
