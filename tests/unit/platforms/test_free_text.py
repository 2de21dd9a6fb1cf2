"""Texts in a running configuration that are no configuration, and lines that Unicode would end."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.platforms import Configuration, Unreadable, renderer_of
from slotcar.platforms.ios.tree import parse
from slotcar.platforms.linux_tc.running import QDISCS

GOLDEN = Path(__file__).parents[2] / "golden"
SHOW = "show running-config"
#: What would be taken for Slotcar's, or for an operator's hindrance, if it were configuration.
INSIDE = """\
interface GigabitEthernet0/1
 service-policy input OPS
policy-map SLOTCAR-IN-GigabitEthernet0/1
 class SLOTCAR-EF
mls qos
"""
TEXTS = {
    "banner": "banner motd ^C\n{}^C\n",
    "banner, another delimiter": "banner login #\n{}#\n",
    "banner of a VPN group": "crypto isakmp client configuration group OPS\n banner ^C\n{}^C\n",
    "aaa banner": "aaa authentication banner ^C\n{}^C\n",
    "aaa fail-message": "aaa authentication fail-message ^C\nno\n{}^C\n",
    "refuse-message": "line vty 0 4\n refuse-message ^C\n{}^C\n",
    "vacant-message": "line con 0\n vacant-message ^Chello\n{} bye ^C\n",
    "busy-message": "busy-message far-host ^C\n{}^C\n",
    "menu title": "menu OPS title ^C\n{}^C\n",
    "menu with a command": "menu OPS title ^C\n{}^C\nmenu OPS command 1 show clock\n",
    "proxy's banner": "ip admission auth-proxy-banner http ^C\n{}^C\n",
    "macro": "macro name GLOBAL-QOS\n{}@\n",
    "smartport's function": "macro auto execute OPS-EVENT {{\nif [[ $LINKUP == YES ]]; then {{\n{}}}\n}}\n",
}
IN_ONE_LINE = """\
banner motd ^Cone line^C
aaa authentication banner ^Cone^C
ip admission auth-proxy-banner http
macro description desktop
menu OPS text 1 Interface
"""
#: In UTF-8 and in latin-1, as a session reads them: a second byte of 0x85 or 0xa0, and what Unicode calls an end of line.
ODD = ["uplink Århus", "à la carte", "a\x85b", "a\u2028b", "a\x0cb", "a\x0bb", "caf\xe9\xa0bar", "a\x1eb"]


@cache
def device_of(platform: str) -> Device:
    folder = Path("inventories/lab") if platform == "linux-tc" else GOLDEN / "render" / "inventories" / platform
    network = load_network(folder)
    return next(one for one in network.devices.values() if one.platform == platform)


def read(device: Device, text: str) -> Configuration:
    return renderer_of(device).running({SHOW: text}, device)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_free_text_is_no_configuration(text: str) -> None:
    around = "hostname edge\n{}interface Loopback0\n ip address 10.0.0.1 255.255.255.255\nend\n"
    assert [node.line for node in parse(around.format(text.format(INSIDE)))] == [
        node.line for node in parse(around.format(text.format("")))
    ]
    lines = [node.line for node in parse(around.format(text.format(INSIDE)))]
    assert "mls qos" not in lines
    assert "interface Loopback0" in lines


def test_what_ends_in_its_own_line_hides_nothing() -> None:
    lines = [node.line for node in parse(f"{IN_ONE_LINE}{INSIDE}")]
    assert lines[-3:] == ["interface GigabitEthernet0/1", "policy-map SLOTCAR-IN-GigabitEthernet0/1", "mls qos"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_that_does_not_end_is_no_answer(text: str) -> None:
    """It would hide all that stands behind it, also an operator's policy."""
    begun = text.format(INSIDE).rpartition("}" if "{{" in text else text.strip()[-1])[0]
    begun = begun.removesuffix("^").split("^C\nmenu OPS command")[0]
    with pytest.raises(Unreadable, match="the text that begins with `"):
        read(device_of("cisco-mqc"), f"hostname edge\ninterface Loopback0\n{begun}\nend\n")


def test_a_catalyst_whose_qos_is_on_in_a_macro_alone_is_off() -> None:
    device = device_of("cisco-cat6500")
    text = "hostname cern-lan\n{}interface GigabitEthernet1/1\n switchport\n!\nend\n"
    assert read(device, text.format("")).foreign == ("mls qos: is not on",)
    assert read(device, text.format("macro name GLOBAL-QOS\nmls qos\n@\n")).foreign == ("mls qos: is not on",)
    assert read(device, text.format("mls qos\n")).foreign == ()


@pytest.mark.parametrize("as_latin_1", [True, False])
@pytest.mark.parametrize("odd", ODD, ids=ascii)
@pytest.mark.parametrize("platform", ["cisco-mqc", "cisco-gsr", "cisco-cat6500"])
def test_a_section_goes_on_behind_a_character_that_unicode_ends_lines_at(
    platform: str, odd: str, as_latin_1: bool
) -> None:
    device = device_of(platform)
    name = sorted(device.interfaces)[0]
    odd = odd.encode().decode("latin-1") if as_latin_1 else odd
    policy = f"service-policy input OPS-{odd.replace(' ', '-')}"
    text = f"hostname x\nmls qos\ninterface {name}\n description {odd}\n {policy}\nbanner motd ^C{odd}^C\nend\n"
    assert f"{name}: `{policy}`" in read(device, text).foreign


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\x0c", "\x0b", "\x1c", "\x1d", "\x1e", "\u2029", "\r"], ids=ascii)
def test_tc_s_lists_go_on_too(end: str) -> None:
    """A filter of an operator's may be called by a name that holds anything."""
    device = device_of("linux-tc")
    renderer = renderer_of(device)
    qdiscs, lists = renderer.readback_commands(device)
    assert qdiscs == QDISCS
    separator = "qdisc noqueue 0: dev lo root refcnt 2 \n"
    bpf = f"filter protocol all pref 1 bpf chain 0 handle 0x1 mine{end}qdisc direct-action\n"
    listing = "".join(
        (bpf if (name, kind) == (sorted(device.interfaces)[0], "ingress") else "") + separator
        for name in sorted(device.interfaces)
        for kind in ("class", "ingress", "egress")
    )
    running = renderer.running({qdiscs: "[]", lists: listing}, device)
    assert any("bpf" in note for note in running.foreign)
