"""A `rate-limit` of an operator's that takes the packets before Slotcar's lines on `cisco-car` is seen before a push."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest

from slotcar.intent import intents_at
from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unrenderable, renderer_of

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
        f"rate-limit output {ENDS}",
        f"rate-limit input access-group 101 {ENDS}",
        f"rate-limit input access-group rate-limit 5 {ENDS}",
    ],
)
def test_a_line_that_goes_on_or_is_of_others_packets_is_no_hindrance(
    line: str, device: Device, wanted: Configuration
) -> None:
    assert not renderer_of(device).change(beside(device, line), wanted, device).empty


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
