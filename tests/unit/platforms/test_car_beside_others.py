"""A `rate-limit` of an operator's that takes the packets before Slotcar's lines on `cisco-car` is seen before a push."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unrenderable, renderer_of
from slotcar.platforms.intent import intents_at

GARNET = Path(__file__).parents[3] / "inventories" / "garnet"
NAME, PORT = "anl-7507-1", "FastEthernet4/0/0"
ENDS = "10000000 1875000 1875000 conform-action transmit exceed-action drop"
LISTS = """
access-list 101 permit icmp any any
access-list 102 deny tcp any any
access-list 102 permit ip any any
ip access-list extended 2100
 permit ip any any
access-list rate-limit 5 5
"""


@pytest.fixture(scope="module")
def device() -> Device:
    return load_network(GARNET).devices[NAME]


@pytest.fixture(scope="module")
def wanted(device: Device) -> Configuration:
    return renderer_of(device).configuration(intents_at((), load_network(GARNET))[NAME], device)


def read(device: Device, text: str) -> Configuration:
    (command,) = renderer_of(device).readback_commands(device)
    return renderer_of(device).running({command: text}, device)


def beside(device: Device, line: str, *, before: str = "", port: str = PORT) -> Configuration:
    return read(device, f"!\nversion 12.1\n{LISTS}interface {port}\n{before} {line}\n!\nend\n")


@pytest.mark.parametrize(
    "line",
    [
        f"rate-limit input {ENDS}",
        f"rate-limit input dscp 46 {ENDS}",
        f"rate-limit input qos-group 3 {ENDS}",
        "rate-limit input 8000 1500 1500 conform-action set-prec-transmit 0 exceed-action continue",
        "rate-limit input 8000 1500 1500 conform-action continue exceed-action drop",
        f"rate-limit input access-group 102 {ENDS}",
        f"rate-limit input access-group 2100 {ENDS}",
        f"rate-limit input access-group 199 {ENDS}",
        f"rate-limit input access-group rate-limit 7 {ENDS}",
    ],
)
def test_a_line_that_takes_any_packet_first_is_refused_with_its_words(
    line: str, device: Device, wanted: Configuration
) -> None:
    assert wanted.lines
    with pytest.raises(Unrenderable) as refused:
        renderer_of(device).change(beside(device, line), wanted, device)
    assert str(refused.value).startswith(f"{NAME} {PORT}: `{line}` takes packets before Slotcar's lines are asked")


@pytest.mark.parametrize(
    "line",
    [
        "rate-limit input 8000 1500 1500 conform-action continue exceed-action set-prec-continue 0",
        "rate-limit output 8000 1500 1500 conform-action transmit exceed-action transmit",
        f"rate-limit output access-group 101 {ENDS}",
        f"rate-limit input access-group 101 {ENDS}",
        f"rate-limit input access-group rate-limit 5 {ENDS}",
    ],
)
def test_a_line_that_goes_on_or_is_of_others_packets_is_no_hindrance(
    line: str, device: Device, wanted: Configuration
) -> None:
    assert not renderer_of(device).change(beside(device, line), wanted, device).empty


def test_a_line_on_the_way_out_that_drops_of_every_service_is_refused(device: Device, wanted: Configuration) -> None:
    line = f"rate-limit output {ENDS}"
    with pytest.raises(Unrenderable, match="drops or marks packets of every service as they leave"):
        renderer_of(device).change(beside(device, line), wanted, device)


def test_a_list_on_the_way_out_and_a_policy_are_doubts(device: Device, wanted: Configuration) -> None:
    listed = beside(device, f"rate-limit output access-group 101 {ENDS}")
    (doubt,) = renderer_of(device).hindrances(listed, wanted, device)
    assert (doubt.certain, "permit icmp any any" in doubt.words) == (False, True)
    (doubt,) = renderer_of(device).hindrances(beside(device, "service-policy input OPS"), wanted, device)
    assert (doubt.certain, "`service-policy input OPS` may drop or mark packets" in doubt.words) == (False, True)


FLOW = "permit tcp host 10.20.11.2 host 10.20.13.2 eq 5001"


def with_a_flow(device: Device, wanted: Configuration, number: int = 2600, entry: str = FLOW) -> Configuration:
    """What is wanted with a flow in front."""
    lists = [f"access-list {number} remark slotcar hep/a forward", f"access-list {number} {entry}"]
    rates = "16448000 25700 25700 conform-action set-prec-transmit 5 exceed-action drop"
    line = f" rate-limit input access-group {number} {rates}"
    text = wanted.text.replace(f"interface {PORT}\n", f"interface {PORT}\n{line}\n")
    return renderer_of(device).stored([*lists, *text.split("\n")], device)


@pytest.mark.parametrize(
    ("entries", "refused"),
    [
        ("permit tcp any any eq 5001", True),
        ("permit tcp 10.20.0.0 0.0.255.255 any range 5000 5010", True),
        ("permit ip host 10.20.11.2 any", True),
        ("permit tcp any eq 9 any", True),
        ("permit tcp any any established", True),
        ("deny tcp any any eq 5001\npermit tcp any any", False),
        ("deny tcp any eq 9 any\npermit tcp any any gt 1023", True),
        ("permit tcp any any eq www 443", False),
        ("permit tcp any any lt 5001", False),
        ("permit tcp any any neq 5001", False),
        ("permit udp any any", False),
        ("remark permit tcp any any\npermit udp any any", False),
        ("permit icmp any any", False),
        ("permit tcp any host 10.20.13.3", False),
        ("permit tcp 10.99.0.0 0.0.255.255 any", False),
    ],
)
def test_a_list_that_takes_packets_of_a_flow_first_is_refused(
    entries: str, refused: bool, device: Device, wanted: Configuration
) -> None:
    line = f"rate-limit input access-group 150 {ENDS}"
    lists = "".join(f"access-list 150 {one}\n" for one in entries.split("\n"))
    before = read(device, f"!\nversion 12.1\n{lists}interface {PORT}\n {line}\n!\nend\n")
    hindrances = renderer_of(device).hindrances(before, with_a_flow(device, wanted), device)
    assert [one.certain for one in hindrances] == [True] * refused
    assert (
        not refused or f"{NAME} {PORT}: `{line}` takes packets before Slotcar's lines are asked" in hindrances[0].words
    )


@pytest.mark.parametrize(
    ("entries", "perhaps"),
    [
        ("permit object-group SERVICES any any", True),
        ("permit tcp object-group PEOPLE any eq 5001", True),
        ("permit tcp any object-group PEOPLE", True),
        ("deny tcp object-group PEOPLE any\npermit tcp any any", True),
        ("permit tcp object-group PEOPLE any eq 22", False),
        ("permit udp object-group PEOPLE any", False),
        ("deny ip any any\npermit tcp object-group PEOPLE any", False),
        ("deny object-group SERVICES any any", False),
    ],
)
def test_a_list_with_an_object_group_is_a_doubt(
    entries: str, perhaps: bool, device: Device, wanted: Configuration
) -> None:
    line = f"rate-limit input access-group 150 {ENDS}"
    lists = "".join(f" {one}\n" for one in entries.split("\n"))
    before = read(device, f"!\nversion 12.4\nip access-list extended 150\n{lists}interface {PORT}\n {line}\n!\nend\n")
    hindrances = renderer_of(device).hindrances(before, with_a_flow(device, wanted), device)
    assert [one.certain for one in hindrances] == [False] * perhaps
    assert not perhaps or f"{NAME} {PORT}: `{line}` may drop or mark packets of reserved flows" in hindrances[0].words
    goes_on = line.replace("transmit", "continue").replace("action drop", "action continue")
    on = read(device, f"!\nversion 12.4\nip access-list extended 150\n{lists}interface {PORT}\n {goes_on}\n!\nend\n")
    assert renderer_of(device).hindrances(on, with_a_flow(device, wanted), device) == ()


def test_lines_that_are_written_anew_come_behind_an_operators(device: Device, wanted: Configuration) -> None:
    """IOS appends: from the first line that differs on, Slotcar's of an interface stand behind all others."""
    line = f"rate-limit input {ENDS}"
    head, _, rest = wanted.text.partition(f"interface {PORT}\n")
    ours = list(takewhile(lambda one: one.startswith(" rate-limit input"), rest.split("\n")))
    lines = rest.split("\n")
    lines.insert(len(ours), f" {line}")
    before = read(device, f"!\nversion 12.1\n{head}interface {PORT}\n" + "\n".join(lines))
    assert renderer_of(device).hindrances(before, wanted, device) == ()
    (hindrance,) = renderer_of(device).hindrances(before, with_a_flow(device, wanted), device)
    assert hindrance.certain


def test_a_line_behind_slotcars_and_one_elsewhere_are_no_hindrance(device: Device, wanted: Configuration) -> None:
    line = f"rate-limit input {ENDS}"
    head, _, rest = wanted.text.partition(f"interface {PORT}\n")
    assert rest
    lines = rest.split("\n")
    ours = list(takewhile(lambda one: one.startswith(" rate-limit input"), lines))
    lines.insert(len(ours), f" {line}")
    text = f"!\nversion 12.1\n{head}interface {PORT}\n" + "\n".join(lines)
    assert ours
    assert renderer_of(device).change(read(device, text), wanted, device).empty
    other = beside(device, line, port="FastEthernet9/0/0")
    assert not renderer_of(device).change(other, wanted, device).empty


def test_what_is_slotcars_can_always_be_taken_away(device: Device) -> None:
    nothing = renderer_of(device).stored((), device)
    renderer_of(device).change(beside(device, f"rate-limit input {ENDS}"), nothing, device)
