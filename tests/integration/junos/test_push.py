"""Changes on routers with Junos in software: every golden one and its undo, and what a router does otherwise than hoped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from slotcar.network.model import Device
from slotcar.platforms import Change, Unrenderable, renderer_of
from slotcar_lab.junos import Refused
from tests.golden.test_render import CASES, Case, change_of, network_of
from tests.integration.netconf.conftest import Peer
from tests.support.junos import Emulated, startup
from tests.support.patience import wait_for

PREFIX = "juniper-junos-"
CHANGES = [
    pytest.param(folder, file.stem, id=f"{folder.name.removeprefix(PREFIX)}-{file.stem}")
    for folder in CASES
    if folder.name.startswith(PREFIX)
    for file in sorted(folder.glob("*.change"))
]


def router_of(peer: Peer) -> Any:
    assert isinstance(peer.server, Emulated)
    return peer.server.router


def meaning(text: str) -> str:
    """Without interfaces and units under `class-of-service` that hold nothing but their name: they stay where they were
    filled once, and mean nothing."""
    root = etree.fromstring(text, etree.XMLParser(remove_blank_text=True))
    for holder in root.iterfind("class-of-service/interfaces"):
        for port in list(holder):
            for unit in [one for one in port.iterfind("unit") if len(one) == 1]:
                port.remove(unit)
            if len(port) == 1:
                holder.remove(port)
        if not len(holder):
            holder.getparent().remove(holder)
    return str(etree.tostring(root, encoding="unicode"))


# -- the golden changes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("folder", "name"), CHANGES)
def test_the_router_takes_every_change_and_its_undo(make_peer: Any, folder: Path, name: str) -> None:
    router = network_of(Case.read(folder).inventory).devices[name]
    peer: Peer = make_peer(device=router)
    change = change_of(folder, name)
    bare = router_of(peer).running()
    forward = renderer_of(router).change(peer.owned(), change.before, router)
    if not forward.empty:
        peer.push_at_once(forward)
    peer.push_at_once(change)
    assert peer.owned().lines == change.after.lines
    peer.push_at_once(Change(name, change.platform, change.after, change.before, change.undo, change.apply))
    assert peer.owned().lines == change.before.lines
    away = renderer_of(router).change(peer.owned(), renderer_of(router).stored((), router), router)
    if not away.empty:
        peer.push_at_once(away)
    assert meaning(router_of(peer).running()) == meaning(bare)


def test_there_are_changes_of_every_router() -> None:
    assert len(CHANGES) >= 20


@pytest.mark.parametrize(("yang_compliant", "piece_bytes"), [(False, 11), (True, 30_000)])
def test_a_push_is_the_same_however_the_router_prints_and_cuts_its_answers(
    make_peer: Any, yang_compliant: bool, piece_bytes: int
) -> None:
    peer: Peer = make_peer(yang_compliant=yang_compliant, piece_bytes=piece_bytes)
    change = peer.case("standing")
    peer.push_at_once(change)
    assert peer.owned().lines == change.after.lines


def test_what_is_an_operators_stays_and_what_is_in_the_way_is_refused(peer: Peer) -> None:
    before = router_of(peer).running()
    folder = peer.push(peer.case("standing"))
    assert peer.take("restore", folder, target="before.txt").error == ""
    assert peer.owned().lines == ()
    assert meaning(router_of(peer).running()) == meaning(before)
    router_of(peer).configure(filters("ge-0/0/1"))
    with pytest.raises(Unrenderable, match=r"north-edge ge-0/0/1.0: `filter input EDGE-IN` is in the way"):
        renderer_of(peer.device).change(peer.owned(), peer.case("standing").after, peer.device)


def filters(port: str, name: str = "EDGE-IN") -> str:
    return (
        f"<configuration><interfaces><interface><name>{port}</name><unit><name>0</name><family><inet><filter><input>"
        f"<filter-name>{name}</filter-name></input></filter></inet></family></unit></interface></interfaces></configuration>"
    )


# -- what a router refuses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("<policer>SLOTCAR-F2<", "<policer>SLOTCAR-F3<", "Referenced policer 'SLOTCAR-F3' is not defined"),
        ("<scheduler>SLOTCAR-EF-", "<scheduler>SLOTCAR-FE-", "scheduler 'SLOTCAR-FE-ge-0-0-0-0' is not defined"),
        ("<filter-name>SLOTCAR-IN-", "<filter-name>SLOTCAR-NO-", "Referenced filter 'SLOTCAR-NO-ge-0-0-1-0' is not"),
        ("<bandwidth-limit>4112000<", "<bandwidth-limit>4112<", "value 4112 is not within range (8000..100000000000)"),
        ("<queue-num>4<", "<queue-num>9<", "value 9 is not within range (0..7)"),
        ("<source-address>", "<source-adress>", "syntax error"),
    ],
)
def test_a_change_that_is_refused_leaves_the_router_as_it_was(peer: Peer, old: str, new: str, complaint: str) -> None:
    bare = router_of(peer).running()
    nothing = renderer_of(peer.device).stored((), peer.device)
    change = renderer_of(peer.device).change(nothing, peer.case("premium").after, peer.device)
    text = "\n".join(change.apply)
    assert old in text
    text = text.replace(old, new).replace(f"</{old[1:]}", f"</{new[1:]}")
    outcome = peer.take("stage", peer.revision(replace(change, apply=tuple(text.split("\n")))))
    assert complaint in outcome.error
    assert router_of(peer).running() == bare
    peer.check_left_clean()


def test_while_somebody_holds_the_candidate_nothing_is_tried_and_it_says_who(peer: Peer) -> None:
    folder = peer.revision(peer.case("standing"))
    with peer.session() as somebody:
        somebody.do("lock", target="candidate")
        outcome = peer.take("stage", folder)
        assert "configuration database locked by" in outcome.error
        assert outcome.error.endswith("nothing was changed")
        somebody.do("unlock", target="candidate")
    assert peer.take("stage", folder).error == ""


def test_an_operators_uncommitted_edits_are_neither_committed_nor_lost(peer: Peer) -> None:
    folder = peer.revision(peer.case("standing"))
    with peer.session() as operator:
        config = (
            '<config xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><configuration><firewall><family><inet><filter>'
            "<name>MINE</name><term><name>ALL</name><then><accept/></then></term></filter></inet></family></firewall>"
            "</configuration></config>"
        )
        operator.do("edit_config", target="candidate", config=config)
        assert "configuration database modified" in peer.take("activate", folder).error
        assert "MINE" in peer.everything("candidate")
        assert "MINE" not in peer.everything()
        operator.do("discard_changes")
    assert peer.take("activate", folder).error == ""


# -- commits that wait -------------------------------------------------------------------------------------------------


def test_a_commit_that_nobody_confirms_is_taken_back_and_the_verification_says_so(peer: Peer) -> None:
    bare = router_of(peer).running()
    folder = peer.revision(peer.case("standing"))
    assert peer.take("activate", folder).error == ""
    assert router_of(peer).call(lambda machine: machine.waiting.confirm_s) == 300
    router_of(peer).expire()
    assert router_of(peer).running() == bare
    assert "it does not have what is wanted" in peer.take("verify", folder).error


def test_where_a_commit_ends_with_its_session_the_steps_one_by_one_say_so(make_peer: Any) -> None:
    """RFC 4741 §8.4 has it; whether Junos does is not known."""
    peer: Peer = make_peer(outlives_session=False)
    folder = peer.revision(peer.case("standing"))
    assert peer.take("activate", folder).error == ""
    wait_for(lambda: router_of(peer).machine.taken_back, "the session's end")
    assert "it does not have what is wanted" in peer.take("verify", folder).error
    peer.push_at_once(peer.case("standing"))
    assert peer.owned().lines == peer.case("standing").after.lines


def test_warnings_of_a_commit_are_no_refusal(make_peer: Any) -> None:
    peer: Peer = make_peer(warnings=["statement has no contents"])
    peer.push_at_once(peer.case("standing"))
    assert peer.owned().lines == peer.case("standing").after.lines


# -- a term in an operator's filter ------------------------------------------------------------------------------------


@pytest.fixture
def extending(device: Device) -> Device:
    return device.model_copy(update={"options": {"input_filter:ge-0/0/1.0": "EDGE-IN"}})


def test_the_term_comes_first_in_the_operators_filter_and_goes_again(make_peer: Any, extending: Device) -> None:
    peer: Peer = make_peer(device=extending)
    bare = router_of(peer).running()
    wanted = peer.case("operators-filter").after
    folder = peer.push(renderer_of(extending).change(peer.owned(), wanted, extending))
    root = etree.fromstring(router_of(peer).running())
    (edge,) = [one for one in root.iterfind("firewall/family/inet/filter") if one.findtext("name") == "EDGE-IN"]
    assert [term.findtext("name") for term in edge.iterfind("term")] == ["SLOTCAR", "SPOOFED", "CUSTOMER", "ALL"]
    assert peer.take("restore", folder, target="before.txt").error == ""
    assert meaning(router_of(peer).running()) == meaning(bare)


def test_a_term_that_does_not_come_first_is_found_by_the_verification(make_peer: Any, extending: Device) -> None:
    """Whether Junos minds `insert="first"` in an `edit-config` is not known."""
    peer: Peer = make_peer(device=extending, takes_insert=False)
    bare = router_of(peer).running()
    wanted = peer.case("operators-filter").after
    folder = peer.revision(renderer_of(extending).change(peer.owned(), wanted, extending))
    for step in ("stage", "activate"):
        assert peer.take(step, folder).error == ""
    assert "it does not have what is wanted" in peer.take("verify", folder).error
    assert peer.take("restore", folder, target="before.txt").error == ""
    assert meaning(router_of(peer).running()) == meaning(bare)


def test_the_start_up_configuration_is_one_that_junos_would_commit(device: Device) -> None:
    with pytest.raises(Refused, match="'filter-nam': syntax error"):
        Emulated(Path(), device, startup=startup(device).replace("filter-name", "filter-nam"))
