"""What is Slotcar's by its name or mark, and what only has a number or a kind that Slotcar uses too."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unrenderable, renderer_of
from slotcar.platforms.ios.configuration import ios_of, printed
from slotcar.platforms.ios.owned_places import OWNS
from slotcar.platforms.linux_tc.objects import ROOT
from slotcar.rollout.adoption import Adoption
from slotcar.rollout.archive import Archive
from slotcar.rollout.model import Reading
from slotcar.views.configurations import configurations_at
from tests.support.requests import T0

SHOW = "show running-config"
INVENTORIES = {
    "cisco-car": Path("inventories/garnet"),
    "cisco-gsr": Path("tests/golden/render/inventories/cisco-gsr"),
    "cisco-cat6500": Path("tests/golden/render/inventories/cisco-cat6500"),
    "linux-tc": Path("inventories/lab"),
}
#: An operator's, where the push had nothing to bring.
OF_ANOTHER_PORT = {"cisco-car": " fair-queue tos", "cisco-cat6500": " wrr-queue bandwidth 10 90"}
LIST = "access-list 2650 permit tcp 192.0.2.0 0.0.0.255 any eq 22\naccess-list 2650 deny ip any any\n"


@cache
def device_of(platform: str) -> Device:
    devices = load_network(INVENTORIES[platform]).devices.values()
    return next(one for one in devices if one.platform == platform)


@cache
def wanted(platform: str) -> Configuration:
    return configurations_at((), load_network(INVENTORIES[platform]), T0)[device_of(platform).name]


def ios(platform: str, top: str = "", port: str = "") -> Configuration:
    device = device_of(platform)
    name = next(one for one in sorted(device.interfaces) if "." not in one)
    text = f"hostname x\n{top}interface {name}\n{port}!\nend\n"
    return renderer_of(device).running({SHOW: text}, device)


def tc(qdiscs: str = "", ingress: str = "", root: str = "") -> Configuration:
    """The first interface of the inventory with these; the kernel's own roots on all."""
    device = device_of("linux-tc")
    names = sorted(device.interfaces)
    kernels = [
        {"kind": "mq", "handle": "0:", "dev": name, "root": True, "options": {}}
        for name in (names[1:] if root else names)
    ]
    listed = [*kernels, *(json.loads(one.replace("%s", names[0])) for one in (qdiscs, root) if one)]
    end = "qdisc noqueue 0: dev lo root refcnt 2 \n"
    lists = "".join(
        (ingress if (name, kind) == (names[0], "ingress") else "") + end
        for name in names
        for kind in ("class", "ingress", "egress")
    )
    questions = renderer_of(device).readback_commands(device)
    return renderer_of(device).running(dict(zip(questions, (json.dumps(listed), lists), strict=True)), device)


CLSACT = '{"kind":"clsact","handle":"ffff:","dev":"%s","parent":"ffff:fff1","options":{}}'
OURS = f'{{"kind":"htb","handle":"{ROOT}","dev":"%s","root":true,"options":{{"r2q":10,"default":"0x30"}}}}'
BPF = "filter protocol all pref 1 bpf chain 0 handle 0x1 from_netdev direct-action not_in_hw id 1 tag a jited \n"
FLOWER = (
    "filter protocol ip pref 20810 flower chain 0 handle 0x1 \n  eth_type ipv4\n  ip_proto tcp\n  dst_port 22\n"
    "\taction order 1: gact action drop\n"
)
#: What an operator may have on a router that Slotcar never managed.
OPERATORS = {
    "car: a list of a flow's number": lambda: ios("cisco-car", LIST),
    "car: with a remark of its own": lambda: ios("cisco-car", f"access-list 2650 remark not slotcar's\n{LIST}"),
    "car: a list of a precedence's number": lambda: ios("cisco-car", "access-list rate-limit 63 5\n"),
    "car: that very precedence": lambda: ios("cisco-car", "access-list rate-limit 63 3\n"),
    "car: a list by mask": lambda: ios("cisco-car", "access-list rate-limit 63 mask 07\n"),
    "car: weights": lambda: ios("cisco-car", port=" fair-queue tos\n fair-queue tos 1 weight 5\n"),
    "car: a rate-limit by such a list": lambda: ios(
        "cisco-car",
        LIST,
        " rate-limit input access-group 2650 8000 1500 1500 conform-action transmit exceed-action drop\n",
    ),
    "gsr: a list of a flow's number": lambda: ios("cisco-gsr", LIST),
    "linux: a clsact": lambda: tc(CLSACT),
    "linux: a clsact with a program": lambda: tc(CLSACT, BPF),
    "linux: a filter of a flow's preference": lambda: tc(CLSACT, FLOWER),
}


@pytest.mark.parametrize("reading", OPERATORS.values(), ids=OPERATORS)
def test_nothing_without_a_mark_is_slotcars_or_a_sign_that_a_device_was_managed(
    reading: object, tmp_path: Path
) -> None:
    running = reading()  # type: ignore[operator]
    assert running.lines == ()
    assert running.foreign
    adoption = Adoption(ledger=None, archive=Archive(tmp_path))  # type: ignore[arg-type]
    assert not adoption.manages(running.device, Reading(running))


@pytest.mark.parametrize(
    ("top", "port", "words"),
    [
        (
            "access-list rate-limit 63 5\n",
            "",
            "`access-list rate-limit 63` is wanted .* slotcar_options.first_precedence",
        ),
        ("", " fair-queue tos\n", "has `fair-queue tos`, which is not Slotcar's"),
    ],
)
def test_what_stands_where_slotcars_would_go_is_refused(top: str, port: str, words: str) -> None:
    device = device_of("cisco-car")
    port = port and port.replace("fair", "fair")
    with pytest.raises(Unrenderable, match=words):
        renderer_of(device).change(ios("cisco-car", top, port), wanted("cisco-car"), device)


def test_an_operators_list_stays_where_its_number_is_not_wanted() -> None:
    device = device_of("cisco-car")
    change = renderer_of(device).change(ios("cisco-car", LIST), wanted("cisco-car"), device)
    assert not [line for line in (*change.apply, *change.undo) if "2650" in line]
    assert change.apply[0] == "ip access-list extended SLOTCAR-OWNS"
    assert change.undo[-1] == "no ip access-list extended SLOTCAR-OWNS"


def test_all_lists_of_an_older_slotcar_are_its_mark_where_they_are_used() -> None:
    lists = "".join(f"access-list rate-limit {60 + one} {one}\n" for one in (1, 3, 5, 7))
    assert not ios("cisco-car", lists).lines, "nothing uses them"
    assert "access-list rate-limit 65 5" in ios("cisco-car", lists, " fair-queue tos\n").lines
    assert not ios("cisco-car", f"{lists}access-list rate-limit 62 2\n", " fair-queue tos\n").lines


def test_what_an_older_slotcar_archived_is_all_its_own() -> None:
    device = device_of("cisco-car")
    lines = (
        "access-list rate-limit 65 5",
        "interface FastEthernet4/0/0",
        " fair-queue tos",
        " fair-queue tos 1 weight 45",
    )
    stored = renderer_of(device).stored(lines, device)
    assert {"access-list rate-limit 65 5", " fair-queue tos 1 weight 45"} <= set(stored.lines)


def test_a_clsact_that_was_there_is_neither_made_nor_taken_away() -> None:
    device = device_of("linux-tc")
    name = sorted(device.interfaces)[0]
    change = renderer_of(device).change(tc(CLSACT), wanted("linux-tc"), device)
    assert not [line for line in (*change.apply, *change.undo) if f"dev {name}" in line and "clsact" in line]
    bare = renderer_of(device).change(tc(), wanted("linux-tc"), device)
    assert f"qdisc add dev {name} clsact" in bare.apply


def test_beside_a_root_of_slotcars_a_clsact_is_its_own_and_the_root_goes_last() -> None:
    device = device_of("linux-tc")
    name = sorted(device.interfaces)[0]
    running = tc(CLSACT, root=OURS)
    assert f"qdisc dev {name} clsact" in running.lines
    nothing = Configuration(device.name, device.platform)
    assert renderer_of(device).change(running, nothing, device).apply == (
        f"qdisc del dev {name} clsact",
        f"qdisc del dev {name} root",
    )
    change = renderer_of(device).change(tc(), wanted("linux-tc"), device).apply
    assert change.index(f"qdisc add dev {name} clsact") > next(
        number for number, line in enumerate(change) if line.startswith(f"qdisc add dev {name} root")
    )


@pytest.mark.parametrize("platform", ["cisco-car", "cisco-cat6500"])
def test_what_is_left_of_a_push_whose_mark_was_refused_is_slotcars_to_take_away(platform: str) -> None:
    """A router takes a file line by line: it may refuse the list `SLOTCAR-OWNS`, and take what that tells of."""
    device, after = device_of(platform), wanted(platform)
    renderer = renderer_of(device)
    head, *more = next(lines for one in ios_of(after).lists.values() if (lines := printed(one))[0].endswith(OWNS))
    left = tuple(
        line for line in after.lines if line not in (head, *more) and not line.startswith("access-list rate-limit ")
    )
    outputs = {SHOW: "\n".join(["hostname x", *left, "end", ""])}
    nothing = Configuration(device.name, platform)
    assert len(renderer.running(outputs, device).lines) < len(left)
    running = renderer.running(outputs, device, after.lines)
    assert running.lines == left
    change = renderer.change(running, nothing, device)
    assert change.apply
    assert OWNS not in "\n".join(change.apply)
    elsewhere = {SHOW: f"hostname x\ninterface Serial9/9\n{OF_ANOTHER_PORT[platform]}\nend\n"}
    assert renderer.running(elsewhere, device, after.lines).lines == ()
