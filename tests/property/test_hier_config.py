"""A second opinion: hier_config's own tree, with the options that our lines need, must end where our plans say.

It judges what lines do to a tree, and not in which order they stand: of that it keeps nothing, which is why Slotcar plans
its changes itself. The cases at the end pin where, so that somebody can see when it has learnt it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hier_config import get_hconfig
from hier_config.platforms.cisco_ios.driver import HConfigDriverCiscoIOS
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.vocabulary import Service
from slotcar.network.model import Device
from slotcar.platforms import Configuration, renderer_of
from slotcar.reservation.model import Endpoint, Reservation
from tests.property import test_render_cisco_car as car
from tests.property import test_render_cisco_cat6500 as catalyst
from tests.property import test_render_ios_brownfield as mqc_and_gsr
from tests.support.cisco import startup
from tests.support.examples import examples
from tests.support.hier import after, nested, remediation, tree_of
from tests.unit.platforms.ios import Ios, Refused
from tests.unit.platforms.mqc_ios import MqcIos
from tests.unit.platforms.worlds import successions
from tests.unit.platforms.worlds import wanted as flow

Succession = tuple[dict[int, Reservation], dict[int, Reservation]]
MQC, GSR, CAR, CATALYST = "north-edge", "bo-gsr", "anl-7507-1", "cern-lan"


def device_of(name: str) -> Device:
    if name == CAR:
        return car.garnet().devices[name]
    return catalyst.device_of((name, {})) if name == CATALYST else mqc_and_gsr.device_of(name)[0]


def wanted(name: str, chosen: dict[int, Reservation]) -> Configuration:
    if name == CAR:
        return car.wanted(device_of(name), chosen)
    return catalyst.wanted(device_of(name), chosen) if name == CATALYST else mqc_and_gsr.wanted(name, chosen)


def sections(lines: Iterable[str]) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {}
    head = ""
    for line in lines:
        if line.startswith(" "):
            children[head].append(line)
        else:
            head = line
            children.setdefault(head, [])
    return children


def beside_an_operators(name: str, lines: Iterable[str]) -> list[str]:
    """Slotcar's lines among somebody else's: over 500 of them, where there are such of the platform."""
    if name in (MQC, GSR):
        own = [[head, *body] for head, body in sections(lines).items()]
        return mqc_and_gsr.merged(mqc_and_gsr.brownfield(name), own, list(range(len(own))))
    together = sections((*startup(device_of(name)).splitlines(), *lines))
    return [line for head, body in together.items() for line in (head, *body)]


def judge(name: str, before: Configuration, target: Configuration) -> None:
    """Our plan and its undo, then hier_config's own plan, each entered line by line into its tree."""
    running, meant = (tree_of(beside_an_operators(name, one.lines)) for one in (before, target))
    change = renderer_of(device_of(name)).change(before, target, device_of(name))
    changed = after(running, change.apply)
    assert nested(changed) == nested(meant)
    assert nested(after(changed, change.undo)) == nested(running)
    assert nested(after(running, remediation(running, meant))) == nested(meant)


@given(name=st.sampled_from([MQC, GSR, CAR, CATALYST]), succession=successions())
@examples(5, 60)
def test_hier_config_ends_where_our_plan_says(name: str, succession: Succession) -> None:
    first, second = (wanted(name, chosen) for chosen in succession)
    judge(name, first, second)


@pytest.mark.slow
@pytest.mark.parametrize("name", [MQC, pytest.param(GSR, marks=pytest.mark.slow)])
def test_hier_config_agrees_that_all_comes_and_goes_beside_an_operators(name: str) -> None:
    unmanaged = Configuration(name, device_of(name).platform)
    judge(name, unmanaged, wanted(name, {1: flow(), 2: flow(service=Service.ASSURED_RATE, **to(22))}))


def to(port: int | None) -> dict[str, Endpoint]:
    return {"destination": Endpoint(host="dst", port=port)}


# -- hier_config's own plan, on a model of IOS -------------------------------------------------------------------------


def carried_out(name: str, lines: Iterable[str], before: Configuration) -> MqcIos:
    """The model of a router that runs `before`, once it has taken the lines.

    Raises:
        Refused: IOS refuses one of them.
    """
    ios = MqcIos(device_of(name).interfaces)
    ios.run(before.lines)
    ios.run(lines)
    return ios


def plan(before: Iterable[str], target: Iterable[str]) -> list[str]:
    return remediation(tree_of(before), tree_of(target))


@given(succession=successions())
@examples(8, 25)
def test_where_lists_have_names_its_plan_gives_the_same_objects(succession: Succession) -> None:
    """With removals ordered after what leads to them, and while flows only come and go. All but the order of classes: of
    that, and of flows that change, more below."""
    first, second = succession
    before, target = (
        wanted(MQC, first),
        wanted(MQC, {number: first.get(number, one) for number, one in second.items()}),
    )
    ios = carried_out(MQC, plan(before.lines, target.lines), before)
    assert ios.state == carried_out(MQC, target.lines, Configuration(MQC, target.platform)).state


def classes(ios: MqcIos) -> Iterator[tuple[str, ...]]:
    return (tuple(classes) for _, classes in sorted(ios.state.policies.items()))


def test_pinned_a_class_that_comes_is_put_behind_those_that_it_must_precede() -> None:
    """IOS asks classes in the order in which they were entered. A flow with a bound port comes beside one without, and
    its packets would stay in the other's class, and what nobody gave would be reset only behind both."""
    before, target = wanted(MQC, {1: flow(**to(None))}), wanted(MQC, {1: flow(**to(None)), 2: flow(**to(5001))})
    change = renderer_of(device_of(MQC)).change(before, target, device_of(MQC))
    meant = list(classes(carried_out(MQC, target.lines, Configuration(MQC, target.platform))))
    assert list(classes(carried_out(MQC, change.apply, before))) == meant
    theirs = carried_out(MQC, plan(before.lines, target.lines), before)
    (policy,) = (one for one in classes(theirs) if "SLOTCAR-F2" in one)
    assert policy.index("SLOTCAR-F4") > policy.index("SLOTCAR-F2")
    assert policy.index("SLOTCAR-F4") > policy.index("SLOTCAR-EF")


def test_pinned_an_entry_that_changes_leaves_its_list_empty_for_a_line() -> None:
    """It takes the old entry away before the new one is there, and an empty list that a policy uses matches everything."""
    before, target = wanted(MQC, {1: flow(**to(5001))}), wanted(MQC, {1: flow(**to(22))})
    commands = plan(before.lines, target.lines)
    assert [line.split()[0] for line in commands] == ["ip", "no", "permit"]
    with pytest.raises(Refused, match="an empty list that a policy uses matches all"):
        carried_out(MQC, commands, before)
    carried_out(MQC, renderer_of(device_of(MQC)).change(before, target, device_of(MQC)).apply, before)


@pytest.mark.parametrize(
    ("section", "one", "other"),
    [
        ("policy-map IN", " class A", " class B"),
        ("ip access-list extended L", " permit udp any any", " deny   udp any any eq 161"),
        (
            "interface FastEthernet0/0",
            " rate-limit input access-group 2602 8000 1500 1500 conform-action transmit exceed-action drop",
            " rate-limit input access-group rate-limit 65 8000 1500 1500 conform-action transmit exceed-action drop",
        ),
    ],
    ids=["classes", "entries-of-a-list", "committed-access-rates"],
)
def test_pinned_lines_in_another_order_are_the_same_to_it(section: str, one: str, other: str) -> None:
    """Of all three, the first line that matches decides."""
    assert plan([section, one, other], [section, other, one]) == []


def test_pinned_an_entry_of_a_numbered_list_is_taken_away_as_if_it_were_a_line() -> None:
    """IOS takes the whole list away, whatever entry is said, and a policy that uses it matches everything meanwhile."""
    entries = ["access-list 2602 remark slotcar hep/a forward", "access-list 2602 permit udp any any"]
    commands = plan(entries, entries[:1])
    assert commands == ["no access-list 2602 permit udp any any"]
    assert nested(after(tree_of(entries), commands)) == [(entries[0], [])]
    ios = MqcIos([])
    ios.run([*entries, *commands])
    assert "2602" not in ios.state.lists

    before, target = wanted(GSR, {1: flow(**to(5001))}), wanted(GSR, {1: flow(**to(22))})
    with pytest.raises(Refused, match="a policy matches by the list in mid-change"):
        carried_out(GSR, plan(before.lines, target.lines), before)
    change = renderer_of(device_of(GSR)).change(before, target, device_of(GSR))
    assert carried_out(GSR, change.apply, before).state == carried_out(
        GSR, target.lines, Configuration(GSR, target.platform)
    ).state  # fmt: skip


def test_pinned_what_ios_takes_away_with_a_line_stays_in_its_tree() -> None:
    """The weights go with `fair-queue tos`."""
    port = "interface FastEthernet4/0/0"
    weights = [f"fair-queue tos {tos} weight {weight}" for tos, weight in ((3, 1), (2, 1), (1, 45))]
    before = [port, " fair-queue tos", *(f" {weight}" for weight in weights)]
    removed = [port, " no fair-queue tos"]
    assert nested(after(tree_of(before), removed)) == [(port, [(weight, []) for weight in sorted(weights)])]
    ios = Ios(["FastEthernet4/0/0"])
    ios.run([*before, *removed])
    assert "fair-queue" not in ios.text()


def test_pinned_a_default_that_ios_does_not_print_is_a_line_to_it() -> None:
    """A Catalyst's maps have an entry for every code point: one is taken away by giving it back its default."""
    entry = "mls qos map dscp-cos 10 to 3"
    switch = catalyst.start(device_of(CATALYST), {})
    switch.state.others.clear()
    bare = switch.text()
    switch.run([entry, "mls qos map dscp-cos 10 to 1"])
    assert switch.text() == bare
    assert nested(after(tree_of([entry]), ["mls qos map dscp-cos 10 to 1"])) != []


# -- the driver as it comes --------------------------------------------------------------------------------------------


def stock(before: Iterable[str], target: Iterable[str]) -> list[str]:
    """The plan with no option of ours."""
    driver = HConfigDriverCiscoIOS()
    trees = [get_hconfig(driver, "\n".join(lines)) for lines in (before, target)]
    delta = trees[0].config_to_get_to(trees[1])
    delta.set_order_weight()
    return [" " * (child.depth() - 1) + child.text for child in delta.all_children_sorted()]


def test_pinned_its_own_options_take_a_class_map_away_that_a_policy_uses() -> None:
    before, target = wanted(MQC, {1: flow(), 2: flow(**to(22))}), wanted(MQC, {1: flow()})
    commands = stock(before.lines, target.lines)
    assert commands.index("no class-map match-all SLOTCAR-F4") < commands.index(" no class SLOTCAR-F4")
    with pytest.raises(Refused):
        carried_out(MQC, commands, before)


def test_pinned_its_own_options_forget_remarks_by_which_slotcar_knows_its_lists() -> None:
    named = ["ip access-list extended SLOTCAR-F2", " permit udp any any"]
    assert stock(named, [*named, " remark hep/a forward"]) == []


def test_pinned_its_own_options_number_the_entries_of_a_list() -> None:
    """One that stays is taken away and put back under another number, and for that time it lets nobody in."""
    head, one, other = "ip access-list extended L", " permit udp any any eq 22", " permit udp any any eq 80"
    assert stock([head, one], [head, other, one]) == [
        head, " no 10 permit udp any any eq 22", " 10 permit udp any any eq 80", " 20 permit udp any any eq 22",
    ]  # fmt: skip
