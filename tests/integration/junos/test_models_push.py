"""Changes on a real NETCONF server that has Juniper's own models."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from slotcar.network.model import Device
from slotcar.platforms import Change, Unrenderable, renderer_of
from tests.golden.test_render import CASES
from tests.integration.netconf.conftest import RENDER, Peer

PREFIX = "juniper-junos-"
MINE = [folder.name.removeprefix(PREFIX) for folder in CASES if folder.name.startswith(PREFIX)]
YANG = "http://yang.juniper.net/junos/conf/"


def put(peer: Peer, *parts: tuple[str, str]) -> None:
    """An operator's own change: texts in elements such as `firewall`."""
    base = "urn:ietf:params:xml:ns:netconf:base:1.0"
    inside = "".join(f'<{name} xmlns="{YANG}{name}">{text}</{name}>' for name, text in parts)
    with peer.session() as session:
        config = f'<config xmlns="{base}"><configuration xmlns="{YANG}root">{inside}</configuration></config>'
        session.do("edit_config", target="candidate", config=config)
        session.do("commit")


def filters(name: str, unit: str = "0", filter_name: str = "EDGE-IN") -> str:
    return (
        f"<interface><name>{name}</name><unit><name>{unit}</name><family><inet><filter><input>"
        f"<filter-name>{filter_name}</filter-name></input></filter></inet></family></unit></interface>"
    )


EDGE_IN = (
    "<family><inet><filter><name>EDGE-IN</name><term><name>ALL</name><then><accept/></then></term></filter>"
    "</inet></family>"
)


def there_and_back(peer: Peer, case: str, device: str) -> None:
    change = peer.case(case, device)
    forward = renderer_of(peer.device).change(peer.owned(), change.before, peer.device)
    if not forward.empty:
        peer.push(forward)
    peer.push(change)
    assert peer.owned().lines == change.after.lines
    peer.push(Change(change.device, change.platform, change.after, change.before, change.undo, change.apply))
    assert peer.owned().lines == change.before.lines


@pytest.mark.slow  # the server reads 60,000 lines of models before it answers
@pytest.mark.parametrize("case", MINE)
def test_the_server_takes_every_change_and_its_undo(make_modelled: Any, case: str) -> None:
    for file in sorted((RENDER / f"{PREFIX}{case}").glob("*.change")):
        peer = make_modelled()
        there_and_back(peer, case, file.stem)


@pytest.mark.slow
def test_what_is_an_operators_stays_and_what_is_in_the_way_is_refused(make_modelled: Any) -> None:
    peer = make_modelled()
    put(peer, ("firewall", EDGE_IN), ("interfaces", filters("ge-0/0/9")))
    before = peer.everything()
    folder = peer.push(peer.case("standing"))
    assert peer.take("restore", folder, target="before.txt").error == ""
    assert peer.owned().lines == ()
    assert without_shells(peer.everything()) == without_shells(before)
    put(peer, ("interfaces", filters("ge-0/0/1")))
    with pytest.raises(Unrenderable, match=r"north-edge ge-0/0/1.0: `filter input EDGE-IN` is in the way"):
        renderer_of(peer.device).change(peer.owned(), peer.case("standing").after, peer.device)


@pytest.mark.slow
def test_a_term_that_does_not_come_first_is_found_by_the_verification(make_modelled: Any, device: Device) -> None:
    """netconfd knows no `insert="first"` of Junos's, and puts the term last."""
    extending = device.model_copy(update={"options": {"input_filter:ge-0/0/1.0": "EDGE-IN"}})
    peer = make_modelled(device=extending)
    put(peer, ("firewall", EDGE_IN), ("interfaces", filters("ge-0/0/1")))
    before = peer.owned()
    assert before.foreign == ()
    wanted = peer.case("operators-filter").after
    folder = peer.revision(renderer_of(extending).change(before, wanted, extending))
    for step in ("stage", "activate"):
        assert peer.take(step, folder).error == ""
    assert "it does not have what is wanted" in peer.take("verify", folder).error
    assert peer.take("restore", folder, target="before.txt").error == ""
    assert peer.owned().lines == ()
    assert "<name>ALL</name>" in peer.everything()


def without_shells(text: str) -> Any:
    """Without containers, and entries of interfaces and units, that hold nothing: they stay where they were filled once."""
    root = etree.fromstring(text.encode(), etree.XMLParser(remove_blank_text=True))
    for one in reversed(list(root.iter())):
        kind = etree.QName(one).localname
        names = [child for child in one if etree.QName(child).localname == "name"]
        empty = not len(one) and not (one.text or "").strip() and kind != "accept"
        if one.getparent() is not None and (empty or (kind in ("interface", "unit") and len(one) == len(names))):
            one.getparent().remove(one)
    return etree.tostring(root, encoding="unicode")
