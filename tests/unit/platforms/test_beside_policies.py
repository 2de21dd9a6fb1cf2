"""What keeps policies of the modular command line from their effect is seen before a push, on each platform of IOS:
operators' `rate-limit` lines beside them, and what a Catalyst does with the whole switch or port."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unrenderable, renderer_of

GOLDEN = Path(__file__).parents[2] / "golden" / "render"
ENDS = "10000000 1875000 1875000 conform-action transmit exceed-action drop"
#: By platform: a router, where a flow enters it, and where it leaves.
EDGES = {
    "cisco-mqc": ("north-edge", "GigabitEthernet0/1", "GigabitEthernet0/0"),
    "cisco-gsr": ("bo-gsr", "GigabitEthernet2/0", "POS1/0"),
    "cisco-cat6500": ("cern-lan", "GigabitEthernet1/1", "GigabitEthernet2/1"),
}
CATALYST = "cisco-cat6500"
PLATFORMS = pytest.mark.parametrize("platform", EDGES)


@cache
def device(platform: str) -> Device:
    return load_network(GOLDEN / "inventories" / platform).devices[EDGES[platform][0]]


@cache
def wanted(platform: str, case: str = "assured") -> Configuration:
    one = device(platform)
    text = (GOLDEN / f"{platform}-{case}" / f"{one.name}.configuration").read_text(encoding="utf-8")
    return renderer_of(one).stored(text.split("\n"), one)


def read(platform: str, *lines: str, port: str = "", top: str = "") -> Configuration:
    one = device(platform)
    inside = "\n".join(f" {line}" for line in lines)
    globals_ = f"{'mls qos' if platform == CATALYST else '!'}\n{top}"
    text = f"!\nversion 12.2\n{globals_}\ninterface {port or 'Loopback0'}\n{inside}\n!\nend\n"
    (command,) = renderer_of(one).readback_commands(one)
    return renderer_of(one).running({command: text}, one)


def refusal(platform: str, before: Configuration, case: str = "assured") -> str:
    """What a push is refused with, and a plan says; empty where it is not."""
    one = device(platform)
    hindrances = renderer_of(one).hindrances(before, wanted(platform, case), one)
    refused = ""
    try:
        renderer_of(one).change(before, wanted(platform, case), one)
    except Unrenderable as error:
        refused = str(error)
    assert [one.words for one in hindrances if one.certain] == ([refused] if refused else [])
    return refused


@PLATFORMS
def test_a_rate_limit_that_drops_or_marks_of_every_packet_is_refused(platform: str) -> None:
    name, entered, left = EDGES[platform]
    marks = "8000 1500 1500 conform-action set-prec-continue 0 exceed-action set-prec-continue 0"
    for port, line in ((entered, f"rate-limit input {ENDS}"), (entered, f"rate-limit input {marks}")):
        words = refusal(platform, read(platform, line, port=port))
        assert words.startswith(f"{name} {port}: `{line}` drops or marks packets that Slotcar's policy there serves")
    words = refusal(platform, read(platform, f"rate-limit output {ENDS}", port=left))
    assert f"{name} {left}: `rate-limit output {ENDS}` drops or marks packets" in words


@PLATFORMS
def test_a_rate_limit_by_an_object_group_is_a_doubt(platform: str) -> None:
    """Nobody looks into the group; what the entry says beside it may leave a flow out."""
    _, entered, _ = EDGES[platform]
    for entry, perhaps in (
        ("permit ip object-group PEOPLE any", True),
        ("permit icmp object-group PEOPLE any", False),
    ):
        line = f"rate-limit input access-group 150 {ENDS}"
        before = read(platform, line, port=entered, top=f"ip access-list extended 150\n {entry}\n!")
        hindrances = renderer_of(device(platform)).hindrances(before, wanted(platform), device(platform))
        assert [one.certain for one in hindrances] == [False] * perhaps
        assert not perhaps or f"`{line}` may drop or mark packets of reserved flows" in hindrances[0].words
        assert refusal(platform, before) == ""


@PLATFORMS
def test_a_rate_limit_that_changes_nothing_or_is_elsewhere_is_no_hindrance(platform: str) -> None:
    _, entered, _ = EDGES[platform]
    counts = "rate-limit input 8000 1500 1500 conform-action transmit exceed-action transmit"
    assert refusal(platform, read(platform, counts, port=entered)) == ""
    assert refusal(platform, read(platform, f"rate-limit input {ENDS}", port="GigabitEthernet9/9")) == ""
    one = device(platform)
    nothing = renderer_of(one).stored((), one)
    renderer_of(one).change(read(platform, f"rate-limit input {ENDS}", port=entered), nothing, one)


@PLATFORMS
@pytest.mark.parametrize("refused", [True, False])
def test_a_rate_limit_with_a_list_is_refused_where_the_list_has_the_flow(platform: str, refused: bool) -> None:
    _, entered, left = EDGES[platform]
    of_the_flow = "permit udp host 10.40.11.2 any" if platform == CATALYST else "permit tcp any any eq 2811"
    entry = of_the_flow if refused else "permit tcp any any eq 22"
    lists = f"access-list 150 {entry}\n"
    before = read(platform, f"rate-limit input access-group 150 {ENDS}", port=entered, top=lists)
    assert bool(refusal(platform, before)) is refused
    # Which flows leave there, the configuration does not say.
    before = read(platform, f"rate-limit output access-group 150 {ENDS}", port=left, top=lists)
    (doubt,) = renderer_of(device(platform)).hindrances(before, wanted(platform), device(platform))
    assert not doubt.certain
    assert f"those of its list ({entry})" in doubt.words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mls qos queueing-only", "nothing is policed or marked"),
        ("no mls qos rewrite ip dscp", "packets leave with the code point that they came with"),
    ],
)
def test_a_catalyst_that_polices_or_marks_nothing_is_refused(line: str, words: str) -> None:
    assert words in refusal(CATALYST, read(CATALYST, top=line))


def test_a_catalyst_without_microflow_policers_is_refused_where_there_is_one() -> None:
    before = read(CATALYST, top="no mls qos flow-policing")
    assert "`no mls qos flow-policing` is on, and no microflow is policed" in refusal(CATALYST, before, "microflow")
    assert refusal(CATALYST, before) == ""


@pytest.mark.parametrize(
    "line",
    [
        *("mls qos vlan-based", "no mls qos", "mls qos trust device cisco-phone", "mls qos dscp-mutation OPS"),
        *("mls qos trust cos", "service-policy input OPS", "wrr-queue bandwidth 1 2"),
    ],
)
def test_a_port_that_leaves_slotcars_lines_without_effect_is_refused(line: str) -> None:
    _, entered, _ = EDGES[CATALYST]
    assert f"{entered} has `{line}`, which is not Slotcar's" in refusal(CATALYST, read(CATALYST, line, port=entered))


def test_a_port_of_slotcars_own_may_still_be_set_to_no_effect() -> None:
    """Beside Slotcar's own lines, too, which `SLOTCAR-OWNS` tells of."""
    _, entered, _ = EDGES[CATALYST]
    text = wanted(CATALYST).text.replace(f"interface {entered}\n", f"interface {entered}\n mls qos vlan-based\n")
    one = device(CATALYST)
    (command,) = renderer_of(one).readback_commands(one)
    before = renderer_of(one).running({command: f"mls qos\n{text}end\n"}, one)
    assert f"{entered} has `mls qos vlan-based`" in refusal(CATALYST, before)
