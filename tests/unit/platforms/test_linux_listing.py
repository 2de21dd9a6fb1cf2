"""What tc prints of interfaces that are not ours stops no reading, and what makes ours without effect is seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unreadable, Unrenderable, renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.linux_tc.listing import queues_in, sections_in

LAB = Path(__file__).parents[3] / "inventories" / "lab"
NAME = "lbnl-edge"
LO = '{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}}'
CLSACT = '{"kind":"clsact","handle":"ffff:","dev":"eth1","parent":"ffff:fff1","options":{}}'


@pytest.fixture(scope="module")
def device() -> Device:
    return load_network(LAB).devices[NAME]


@pytest.fixture(scope="module")
def wanted(device: Device) -> Configuration:
    return renderer_of(device).configuration(intents_at((), load_network(LAB))[NAME], device)


def root(name: str, kind: str = "mq", handle: str = "0:") -> str:
    return f'{{"kind":"{kind}","handle":"{handle}","dev":"{name}","root":true,"options":{{}}}}'


def queues(device: Device, *others: str, eth1: str = "", before: str = "") -> str:
    own = [eth1 or root("eth1"), *(root(name) for name in device.interfaces if name != "eth1")]
    return before + "[" + ",".join((LO, *others, *own)) + "]"


def read(
    device: Device,
    text: str,
    ingress: str = "",
    closing: str = "qdisc noqueue 0: dev lo root refcnt 2 \n",
    egress: str = "",
) -> Configuration:
    listing, of_eth1 = "", {"class": "", "ingress": ingress, "egress": egress}
    for name in sorted(device.interfaces):
        for kind in ("class", "ingress", "egress"):
            listing += (of_eth1[kind] if name == "eth1" else "") + closing
    question, of_classes = renderer_of(device).readback_commands(device)
    return renderer_of(device).running({question: text, of_classes: listing}, device)


# -- odd versions ------------------------------------------------------------------------------------------------------

MULTIQ = '{"kind":"multiq","handle":"8001:","dev":"wlan0","root":true,"refcnt":5,"options":{bands 4/4 }}'
ODD = [
    MULTIQ,
    '{"kind":"hfsc","handle":"1:","dev":"wan9","root":true,"refcnt":2,"options":{default 0x10 }}',
    '{"kind":"skbprio","handle":"8002:","dev":"wan9","root":true,"options":{limit 64 }}',
    '{"kind":"quite_new","dev":"wan9"}',
    '{"kind":"quite_new","handle":"1:","dev":"wan9","root":true,"options":{"a":[1,{"kind":2}]}, extra words, "z": nan}',
    '{"kind":"plug","handle":"1:","dev":"a \\"quoted\\" name","root":true,"options":{limit 3Kb}}',
    "{}",
]


@pytest.mark.parametrize("odd", ODD)
def test_what_is_odd_of_another_interface_stops_no_reading(odd: str, device: Device, wanted: Configuration) -> None:
    plain = read(device, queues(device))
    for text in (
        queues(device, odd),
        queues(device, odd, MULTIQ),
        queues(device, odd, before="RTNETLINK answers: no\n"),
    ):
        assert read(device, text) == plain
        assert not renderer_of(device).change(read(device, text), wanted, device).empty


def test_a_key_that_is_missing_of_our_own_interface_is_none(device: Device) -> None:
    bare = '{"kind":"noqueue","handle":"0:","dev":"eth1","root":true}'
    assert read(device, queues(device, eth1=bare)).foreign == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        'Object "qdisc" is unknown, try "tc help".',
        "[1]",
        '[{"kind":"htb","handle":"51c0:","dev":"eth1","root":true,"options":{r2q 10}}]',
        '[{"kind":"htb","handle":"51c0:","root":true,"options":{r2q 10}}]',
    ],
)
def test_what_cannot_be_read_of_our_own_is_said(text: str, device: Device) -> None:
    with pytest.raises(Unreadable, match="not a list of queues"):
        read(device, text)


def test_more_queues_of_lo_are_no_more_sections(device: Device) -> None:
    closing = (
        "qdisc prio 1: dev lo root refcnt 2 bands 3\n Sent 0 bytes\nqdisc clsact ffff: dev lo parent ffff:fff1 \n"
    )
    ingress = "filter protocol ip pref 10 u32 chain 0 fh 800::800 order 2048 key ht 800\n"
    expected = read(device, queues(device, CLSACT), ingress)
    assert expected.foreign
    assert read(device, queues(device, CLSACT), ingress, closing).foreign == expected.foreign


@pytest.mark.parametrize("text", ["", "qdisc noqueue 0: dev lo\n" * 5, "Cannot find device\n"])
def test_a_listing_that_is_cut_off_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[05]$"):
        sections_in(text, 6)


def test_only_what_is_asked_for_is_given() -> None:
    text = f"[{LO},{MULTIQ},{root('eth1')},{root('eth2')}]"
    assert [one["dev"] for one in queues_in(text, {"eth1"})] == ["eth1"]


# -- without effect ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cake", "sfq", "fq_pie", "fq_codel", "noqueue", "one_to_come"])
def test_a_root_of_the_kernels_own_is_no_hindrance_whatever_its_kind(
    kind: str, device: Device, wanted: Configuration
) -> None:
    before = read(device, queues(device, eth1=root("eth1", kind)))
    assert before.foreign == ()
    assert not renderer_of(device).change(before, wanted, device).empty


@pytest.mark.parametrize("kind", ["cake", "fq_codel", "mq"])
def test_a_root_that_somebody_made_is_refused(kind: str, device: Device, wanted: Configuration) -> None:
    before = read(device, queues(device, eth1=root("eth1", kind, "8001:")))
    with pytest.raises(Unrenderable, match=f"eth1 carries the root qdisc {kind} 8001:"):
        renderer_of(device).change(before, wanted, device)


def block_of(kind: str, preference: int, actions: str, *, keys: str = "", protocol: str = "all") -> str:
    head = f"filter protocol {protocol} pref {preference} {kind} chain 0 "
    lines = [
        f"\taction order {number}: {one}\n\t index 1 ref 1 bind 1" for number, one in enumerate(actions.split("; "), 1)
    ]
    return "\n".join([head, f"{head}handle 0x1 ", *([keys] if keys else []), "  not_in_hw", *lines, ""])


def matchall(preference: int, action: str, protocol: str = "all") -> str:
    return block_of("matchall", preference, action, protocol=protocol)


PASS, DROP, MIRROR = "gact action pass", "gact action drop", "mirred (Egress Mirror to device ifb0) pipe"
POLICE = " police 0x1 rate 10Mbit burst 20Kb mtu 2Kb action {} overhead 0b "
TCP = "  eth_type ipv4\n  ip_proto tcp"


@pytest.mark.parametrize(
    "block",
    [
        *(matchall(10, one) for one in (PASS, DROP, "mirred (Egress Redirect to device ifb0) stolen")),
        # The kernel asks no further filter after one that matched, unless its last action is `continue`.
        *(matchall(10, one) for one in ("gact action pipe", MIRROR, f"{MIRROR}; {PASS}")),
        *(matchall(10, POLICE.format(one)) for one in ("drop", "drop/pipe", "drop/ok", "pipe", "drop/continue")),
        block_of("flower", 10, DROP),
        block_of("flower", 10, DROP, keys="  eth_type ipv4", protocol="ip"),
        block_of("u32", 10, DROP, keys="  match 00000000/00000000 at 0"),
    ],
)
def test_a_filter_that_takes_every_packet_first_is_refused(block: str, device: Device, wanted: Configuration) -> None:
    head = block.split("\n")[1].strip()
    for hook in ("ingress", "egress"):
        before = read(device, queues(device, CLSACT), **{hook: block})
        words = f"lbnl-edge eth1 {hook}: `{head}` takes every packet before Slotcar's filters are asked"
        with pytest.raises(Unrenderable, match=re.escape(words)):
            renderer_of(device).change(before, wanted, device)
        nothing = renderer_of(device).stored((), device)
        renderer_of(device).change(before, nothing, device)


@pytest.mark.parametrize(
    "block",
    [
        matchall(10, "gact action continue"),
        matchall(10, f"{MIRROR}; gact action continue"),
        matchall(10, POLICE.format("continue/continue")),
        matchall(30_000, DROP),
        matchall(10, DROP, "ipv6"),
        block_of("flower", 10, DROP, keys=f"{TCP}\n  dst_port 22"),
    ],
)
def test_a_filter_that_lets_packets_on_is_no_hindrance(block: str, device: Device, wanted: Configuration) -> None:
    before = read(device, queues(device, CLSACT), block)
    assert not renderer_of(device).change(before, wanted, device).empty


def flow(keys: str) -> Configuration:
    """One flow's filter at eth1, as Slotcar keeps it."""
    line = f"filter dev eth1 ingress protocol ip pref 20816 handle 0x2 flower {keys} action ok"
    one = load_network(LAB).devices[NAME]
    return renderer_of(one).stored((line,), one)


FLOW = "ip_proto tcp dst_ip 10.10.21.2 src_ip 10.10.11.2 dst_port 5001"
SOURCE, PORTS = f"{TCP}\n  src_ip 10.10.0.0/16", f"{TCP}\n  dst_port 5000-5010"


@pytest.mark.parametrize(
    ("keys", "certain"),
    [
        (SOURCE, [True]),
        (PORTS, [True]),
        (f"{TCP}\n  src_port 2000", [True]),
        (f"{TCP}\n  dst_port 22", []),
        ("  ip_proto udp", []),
        ("  eth_type ipv4\n  dst_ip 10.20.0.0/16", []),
        ("  ip_tos 0xb8/0xfc", [False]),
        ("  src_mac 00:11:22:33:44:55", [False]),
        (f"{TCP}\n  dst_port 5000/0xfff8", [False]),
    ],
)
def test_a_filter_for_packets_of_a_flow_is_a_hindrance_where_it_is_surely_one(
    keys: str, certain: list[bool], device: Device
) -> None:
    before = read(device, queues(device, CLSACT), block_of("flower", 10, DROP, keys=keys, protocol="ip"))
    hindrances = renderer_of(device).hindrances(before, flow(FLOW), device)
    assert [one.certain for one in hindrances] == certain
    assert all(
        one.words.startswith("lbnl-edge eth1 ingress: `filter protocol ip pref 10 flower") for one in hindrances
    )


def test_what_nobody_can_tell_of_a_filter_is_a_doubt_and_no_refusal(device: Device, wanted: Configuration) -> None:
    head = "filter protocol all pref 1 bpf chain 0 "
    bpf = f"{head}\n{head}handle 0x1 x.o:[cls] direct-action\n"
    before = read(device, queues(device, CLSACT), bpf)
    (doubt,) = renderer_of(device).hindrances(before, wanted, device)
    assert not doubt.certain
    assert "may take packets from Slotcar's filters" in doubt.words
    assert not renderer_of(device).change(before, wanted, device).empty


def test_a_shared_block_takes_no_filter_of_one_interface(device: Device, wanted: Configuration) -> None:
    shared = CLSACT.replace('"options"', '"ingress_block":22,"options"')
    with pytest.raises(Unrenderable, match="eth1 carries a clsact qdisc with the shared ingress_block 22"):
        renderer_of(device).change(read(device, queues(device, shared)), wanted, device)
