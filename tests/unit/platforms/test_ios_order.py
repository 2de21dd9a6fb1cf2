"""The order of classes in a policy map: what moves when flows come, go and change, and what stays."""

from __future__ import annotations

from slotcar.platforms.ios.change import change_lines
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import PolicyMap
from slotcar.platforms.ios.order import canonical, ranked
from slotcar.platforms.ios.reading import owned_in
from slotcar.platforms.ios.tree import parse
from tests.unit.platforms.mqc_ios import MqcIos, Packet

A, B = "host 10.0.0.1", "host 10.0.0.2"


def configured(*lines: str) -> Ios:
    """What these lines say, the classes of a policy map in the order in which they are to be asked."""
    owned = owned_in(parse("\n".join(lines)), range(2600, 2700))
    for name, policy in list(owned.policies.items()):
        owned.policies[name] = PolicyMap(name, ranked(policy.classes, owned))
    return owned


def flows(entries: dict[int, str], *, numbered: bool = False) -> Ios:
    """Flows by number, each with its entry, before a standing class for whatever is marked."""
    names = {number: str(2600 + number) if numbered else f"SLOTCAR-F{number}" for number in entries}
    lines: list[str] = []
    for number, entry in entries.items():
        name = names[number]
        if numbered:
            lines += [f"access-list {name} permit {entry}", f"access-list {name} remark slotcar x"]
        else:
            lines += [f"ip access-list extended {name}", f" permit {entry}"]
        by = "" if numbered else "name "
        lines += [f"class-map match-any SLOTCAR-F{number}", f" match access-group {by}{name}"]
    lines += ["class-map match-all SLOTCAR-EF", " match ip dscp ef", "policy-map SLOTCAR-IN-eth1"]
    lines += [" class SLOTCAR-EF", "  set ip dscp default"]
    for number in entries:
        lines += [f" class SLOTCAR-F{number}", "  set ip dscp cs1"]
    return configured(*lines, "interface eth1", " service-policy input SLOTCAR-IN-eth1")


def moved(before: Ios, after: Ios) -> list[str]:
    lines = change_lines(before, after)
    stay = {one.name for one in after.policies["SLOTCAR-IN-eth1"].classes}
    return [line.split()[-1] for line in lines if line.startswith(" no class ") and line.split()[-1] in stay]


def device(*steps: Ios) -> MqcIos:
    """Told each step from the one before."""
    ios = MqcIos(["eth1"])
    before = Ios()
    for step in steps:
        ios.run(change_lines(before, step))
        before = owned_in(parse(ios.text()), range(2600, 2700))
    return ios


def order(ios: MqcIos) -> list[str]:
    return [name.removeprefix("SLOTCAR-") for name in ios.state.policies["SLOTCAR-IN-eth1"]]


TCP, UDP = f"tcp {A} {B}", f"udp {A} {B}"
WEB, SSH, FROM_SSH = f"{TCP} eq 80", f"{TCP} eq 22", f"tcp {A} eq 22 {B}"
FROM_SSH_TO_WEB = f"tcp {A} eq 22 {B} eq 80"


def test_a_flow_that_shares_no_packet_moves_standing_classes_only() -> None:
    assert moved(flows({2: UDP}), flows({2: UDP, 4: TCP})) == ["SLOTCAR-EF"]
    assert order(device(flows({2: UDP}), flows({2: UDP, 4: TCP}))) == ["F2", "F4", "EF"]


def test_a_more_specific_flow_moves_those_that_it_is_part_of() -> None:
    assert sorted(moved(flows({2: TCP, 4: UDP}), flows({2: TCP, 4: UDP, 6: WEB}))) == ["SLOTCAR-EF", "SLOTCAR-F2"]
    assert order(device(flows({2: TCP, 4: UDP}), flows({2: TCP, 4: UDP, 6: WEB}))) == ["F4", "F6", "F2", "EF"]


def test_a_flow_that_goes_moves_nothing_though_the_order_left_is_not_the_written_one() -> None:
    steps = flows({2: TCP, 4: UDP}), flows({2: TCP, 4: UDP, 6: WEB}), flows({2: TCP, 4: UDP})
    assert moved(*steps[1:]) == []
    ios = device(*steps)
    assert order(ios) == ["F4", "F2", "EF"]
    read = owned_in(parse(ios.text()))
    assert read.lines() == steps[2].lines()


def test_a_flow_behind_one_that_moves_moves_too() -> None:
    """F2 and F4 share packets and ask alike much; F6 is part of F2 only."""
    before, after = flows({2: FROM_SSH, 4: WEB}), flows({2: FROM_SSH, 4: WEB, 6: f"tcp {A} eq 22 {B} eq 443"})
    assert sorted(moved(before, after)) == ["SLOTCAR-EF", "SLOTCAR-F2", "SLOTCAR-F4"]
    ios = device(before, after)
    assert order(ios) == ["F6", "F2", "F4", "EF"]
    assert ios.class_of("eth1", Packet("tcp", "10.0.0.1", 22, "10.0.0.2", 80)) == "SLOTCAR-F2"


def test_a_flow_that_becomes_wider_is_put_where_it_belongs_whatever_the_order_was() -> None:
    """While F2 and F6 share no packet, their order on the device is free, and a read-back does not say it."""
    narrow, wide = flows({2: WEB, 4: UDP, 6: SSH}), flows({2: WEB, 4: UDP, 6: TCP})
    assert sorted(moved(narrow, wide)) == ["SLOTCAR-EF", "SLOTCAR-F6"]
    ios = device(flows({4: UDP, 6: SSH}), narrow)
    assert order(ios) == ["F6", "F4", "F2", "EF"]
    ios.run(change_lines(owned_in(parse(ios.text())), wide))
    assert ios.class_of("eth1", Packet("tcp", "10.0.0.1", 5, "10.0.0.2", 80)) == "SLOTCAR-F2"


def test_a_flow_whose_narrower_neighbour_stands_behind_it_is_put_right() -> None:
    """As somebody's hand left it: read as it stands, not as it should."""
    ios = device(flows({2: TCP, 6: WEB}))
    classes = ios.state.policies["SLOTCAR-IN-eth1"]
    classes["SLOTCAR-F6"] = classes.pop("SLOTCAR-F6")
    before = owned_in(parse(ios.text()))
    assert [one.name for one in before.policies["SLOTCAR-IN-eth1"].classes] == [
        "SLOTCAR-F2",
        "SLOTCAR-EF",
        "SLOTCAR-F6",
    ]
    ios.run(change_lines(before, flows({2: TCP, 6: WEB})))
    assert ios.class_of("eth1", Packet("tcp", "10.0.0.1", 5, "10.0.0.2", 80, "ef")) == "SLOTCAR-F6"
    assert ios.class_of("eth1", Packet("tcp", "10.0.0.1", 5, "10.0.0.2", 81, "ef")) == "SLOTCAR-F2"


def test_a_numbered_list_is_written_while_no_policy_uses_it() -> None:
    before, after = flows({2: WEB, 4: UDP}, numbered=True), flows({2: SSH, 4: UDP}, numbered=True)
    lines = change_lines(before, after)
    assert lines[:3] == ("policy-map SLOTCAR-IN-eth1", " no class SLOTCAR-F2", "no access-list 2602")
    assert " no class SLOTCAR-F4" not in lines
    device(before, after, before)


def test_the_written_order_is_kept_where_it_means_something() -> None:
    owned = flows({2: FROM_SSH_TO_WEB, 4: TCP, 6: UDP})
    f2, f4, f6, reset = owned.policies["SLOTCAR-IN-eth1"].classes
    assert [one.flow for one in (f2, f4, f6)] == [2, 4, 6]
    assert canonical((f6, f2, f4, reset), owned) == (f2, f4, f6, reset)
    assert canonical((f4, f2, f6, reset), owned) == (f4, f2, f6, reset)


def test_lighter_shares_are_told_first() -> None:
    def shares(ef: int, af: int) -> Ios:
        return configured(
            "class-map match-all SLOTCAR-EF", " match ip dscp ef", "class-map match-all SLOTCAR-AF1", " match ip dscp af11",
            "policy-map SLOTCAR-OUT-eth1", " class SLOTCAR-EF", f"  priority percent {ef}",
            " class SLOTCAR-AF1", f"  bandwidth percent {af}",
        )  # fmt: skip

    assert change_lines(shares(30, 60), shares(60, 30))[-2:] == (" class SLOTCAR-EF", "  priority percent 60")
    assert change_lines(shares(60, 30), shares(30, 60))[-1] == "  bandwidth percent 60"
    device(shares(30, 60), shares(60, 30), shares(30, 60))


def test_a_queues_limit_is_never_below_its_thresholds() -> None:
    def queue(limit: int, most: int) -> Ios:
        return configured(
            "policy-map SLOTCAR-OUT-eth1", " class class-default", "  fair-queue", f"  queue-limit {limit} packets",
            "  random-detect dscp-based", f"  random-detect dscp default 5 {most} 10",
        )  # fmt: skip

    ios = device(queue(100, 80), queue(400, 300), queue(50, 40))
    assert "queue-limit 50 packets" in ios.state.policies["SLOTCAR-OUT-eth1"]["class-default"]


def test_a_class_whose_number_another_takes_is_told_of_its_new_list_first() -> None:
    """As where two flows of a 12000 have one number modulo 100: the later has the next, either way."""

    def lists(**numbers: int) -> Ios:
        entries = {"F2": WEB, "F102": UDP}
        lines: list[str] = []
        for name, number in numbers.items():
            lines += [f"access-list {number} permit {entries[name]}", f"access-list {number} remark slotcar x"]
            lines += [f"class-map match-any SLOTCAR-{name}", f" match access-group {number}"]
        lines.append("policy-map SLOTCAR-IN-eth1")
        for name in numbers:
            lines += [f" class SLOTCAR-{name}", "  set ip dscp cs1"]
        return configured(*lines, "interface eth1", " service-policy input SLOTCAR-IN-eth1")

    alone, both = lists(F102=2602), lists(F2=2602, F102=2603)
    for before, after in ((alone, both), (both, alone)):
        assert " no class SLOTCAR-F102" not in change_lines(before, after)
        ios = device(before)
        ios.watch = lambda line, ios=ios: _is_in_f102(ios, line)  # type: ignore[misc]
        ios.run(change_lines(before, after))


def _is_in_f102(ios: MqcIos, line: str) -> None:
    assert ios.class_of("eth1", Packet("udp", "10.0.0.1", 5, "10.0.0.2", 6)) == "SLOTCAR-F102", line
