"""Where the numbers of a reservation come from, and what a plan says of the commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slotcar.base.registry import FOLDERS, facts_of
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.timeline import active_at
from slotcar.cli.plan_words import changes_of, folded
from slotcar.network import load_network
from slotcar.planning.offline import entries_of
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.linux_tc.queues import HEADROOM_PERCENT
from slotcar.views.bursts import burst_notes
from slotcar.views.commands import Lapse, commands_of, lapses_in
from slotcar.views.configurations import Differences, transitions
from slotcar.views.numbers import _raised, burst_note, explain
from tests.golden.test_terminal import ENDS
from tests.support.requests import T0, at, reservation

GARNET = load_network(Path(__file__).resolve().parents[3] / "inventories" / "garnet", None)
REQUESTED = reservation("cms", 20_000_000, 10, 20, **ENDS)


def test_every_number_has_its_arithmetic() -> None:
    request = REQUESTED.model_copy(update={"protocol": Protocol.TCP, "rtt_us": 50_000, "packet_size_bytes": 1500})
    (entry,) = entries_of([request], GARNET, T0)
    explanation = explain(entry, [entry], GARNET, T0)
    assert explanation.at == at(10)
    policer, burst = (one for one in explanation.numbers if one.what in ("policer", "burst"))
    assert (policer.value, policer.place) == (20_552_000, "anl-7507-1:FastEthernet4/0/0")
    assert policer.formula.startswith("20 Mbit/s x 1500 / 1460: 40 bytes of IP and TCP headers")
    assert policer.formula.endswith("; 20,547,946 bit/s, which cisco-car is told as 20,552,000")
    assert burst.value == 128_425 == -(-20_547_946 * 50_000 // 8_000_000)
    links = [one for one in explanation.numbers if one.what == "link"]
    assert {one.place.partition(":")[0] for one in links} >= {"anl-7507-1", "esnet-7507"}
    assert any("20552000 128425" in line for line in explanation.lines["anl-7507-1"]), "as the router is told it"
    assert explanation.notes[0] == burst_note(request)
    assert any("steps of 8 kbit/s" in note for note in explanation.notes)


def test_a_burst_that_the_platform_enlarges_is_the_one_that_is_said() -> None:
    """A PFC's bucket was measured to need more than the round-trip time says (D7.3 §8.1.1)."""
    request = REQUESTED.model_copy(update={"protocol": Protocol.TCP, "rtt_us": 50_000, "packet_size_bytes": 1500})
    (entry,) = entries_of([request], GARNET, T0)
    (flow,) = intents_at(active_at([entry], at(10)), GARNET, at(10))["anl-7507-1"].flows
    catalyst = GARNET.devices["anl-7507-1"].model_copy(update={"platform": "cisco-cat6500"})
    configured_bps, configured_bytes = renderer_of(catalyst).policer(flow, catalyst)
    assert (configured_bps, flow.cbs_bytes) == (20_971_520, 128_425)
    assert configured_bytes == 20_971_520 * 400_000 // 8_000_000
    assert _raised(flow.cbs_bytes, configured_bytes, "bytes", catalyst).endswith(
        f"which cisco-cat6500 is told as {configured_bytes:,}"
    )


def test_a_flow_whose_bucket_is_larger_than_its_slss_is_said_and_so_is_what_becomes_of_the_rest() -> None:
    request = REQUESTED.model_copy(update={"protocol": Protocol.UDP, "packet_size_bytes": 1500})
    (entry,) = entries_of([request], GARNET, T0)
    active = active_at([entry], at(10))
    assert burst_notes(active, GARNET) == {}
    (path,) = entry.paths
    sls = GARNET.sls[path.sls[0]].model_copy(update={"burst_bytes": 1_500, "excess": "remark"})
    network = GARNET.model_copy(update={"sls": GARNET.sls | {sls.name: sls}})
    ((device, (note,)),) = burst_notes(active, network).items()
    assert device == sls.ingress.device
    assert f"the SLS {sls.name} takes 1.5 kB (burst): the rest goes on as best effort there" in note.words


def test_a_bucket_that_is_a_little_larger_than_its_slss_is_not_said_to_be_equal() -> None:
    tcp = REQUESTED.model_copy(update={"protocol": Protocol.TCP, "rtt_us": 400_000, "packet_size_bytes": 1500})
    (entry,) = entries_of([tcp], GARNET, T0)
    (path,) = entry.paths
    smaller = {name: GARNET.sls[name].model_copy(update={"burst_bytes": 1_027_000}) for name in path.sls}
    notes = burst_notes(active_at([entry], at(10)), GARNET.model_copy(update={"sls": GARNET.sls | smaller}))
    words = [note.words for listed in notes.values() for note in listed]
    assert len(words) == len(path.sls)
    assert all("may send 1.028 MB at once" in one and "takes 1.027 MB (burst)" in one for one in words)


def test_flows_that_each_fit_and_together_do_not_are_said_with_their_number() -> None:
    udp = {"protocol": Protocol.UDP, "packet_size_bytes": 1500}
    requests = [REQUESTED.model_copy(update=udp | {"name": f"n{number}"}) for number in range(3)]
    listed = entries_of(requests, GARNET, T0)
    name = listed[0].paths[0].sls[0]
    burst = intents_at(active_at(listed[:1], at(10)), GARNET, at(10))["anl-7507-1"].flows[0].cbs_bytes
    sls = GARNET.sls[name].model_copy(update={"burst_bytes": 2 * burst})
    others = {each: one.model_copy(update={"burst_bytes": 10 * burst}) for each, one in GARNET.sls.items()}
    network = GARNET.model_copy(update={"sls": others | {name: sls}})
    assert burst_notes(active_at(listed[:2], at(10)), network) == {}
    ((device, (note,)),) = burst_notes(active_at(listed, at(10)), network).items()
    assert (device, note.aspect) == (sls.ingress.device, f"bursts at the SLS {name}")
    assert note.words.startswith("3 flows may send ")
    assert f"at once together, and the SLS {name} takes" in note.words


@pytest.mark.parametrize(
    "change", [{"rtt_us": 400_000}, {"service": Service.ASSURED_RATE}, {"protocol": Protocol.UDP}]
)
def test_who_does_not_need_it_is_not_warned_of_a_short_burst(change: dict[str, object]) -> None:
    tcp = REQUESTED.model_copy(update={"protocol": Protocol.TCP, "rtt_us": 50_000})
    assert "400 ms" in burst_note(tcp)
    assert burst_note(tcp.model_copy(update=change)) == ""


def test_what_a_platform_says_of_its_numbers_is_what_it_does() -> None:
    words = " ".join(facts_of("linux-tc").number_words)
    assert f"premium's has {HEADROOM_PERCENT} % more" in words
    assert all(isinstance(facts_of(name).number_words, tuple) for name in FOLDERS)


def test_what_is_taken_out_and_put_in_again_lapses_meanwhile() -> None:
    commands = (
        "policy-map P", " no class A", " no class B", " class F", "  police 8000", " class B", "  set dscp 0", " class A",
        "no access-list 2602", "access-list 2602 permit ip any any", "policy-map Q", " no class A", "policy-map P",
        " class A",
    )  # fmt: skip
    assert lapses_in(commands) == (
        Lapse("class B of policy-map P", 3, 6),
        Lapse("class A of policy-map P", 2, 8),
        Lapse("access-list 2602", 9, 10),
    )


def test_the_commands_of_a_boundary_are_those_of_a_push_and_equal_boundaries_are_one() -> None:
    (entry,) = entries_of([REQUESTED.over(tuple(REQUESTED.windows))], GARNET, T0)
    later = replace(entry, number=entry.number, reservation=reservation("cms", 20_000_000, 30, 40, **ENDS))
    both = [*transitions([entry], [at(10), at(20)], Differences(GARNET))]
    again = [*transitions([later], [at(30), at(40)], Differences(GARNET))]
    same = folded([*both, *again], changes_of)
    assert [[one.at for one in group] for group in same] == [[at(10), at(30)], [at(20), at(40)]]
    (device,) = both[0].devices
    commands = commands_of(device, GARNET.devices[device.device])
    assert commands[0].startswith("access-list 26")
    assert [lapse.what.partition(" 8000")[0][-2:] for lapse in lapses_in(commands)] == ["61", "63", "65", "67"]


@pytest.mark.parametrize(
    ("rate_bps", "protocol", "warned"),
    [(30_000_000, Protocol.TCP, False), (39_000_000, Protocol.TCP, True), (39_000_000, Protocol.UDP, False)],
)
def test_a_burst_that_the_device_cannot_hold_is_told_with_the_plan(
    rate_bps: int, protocol: Protocol, *, warned: bool
) -> None:
    """Above 2 MB (GARA §5.1), where D7.3 §8.1.1 measured what one connection needs."""
    more = {"protocol": protocol, "rtt_us": 400_000, "packet_size_bytes": 1500}
    entries = entries_of([reservation("cms", rate_bps, 10, 20, **ENDS, **more)], GARNET, T0)
    (begins,) = transitions(entries, [at(10)], Differences(GARNET))
    notes = [note for one in begins.devices for note in one.approximations if "slotcar_burst_ceiling" in note.words]
    assert notes == [note for note in begins.approximations if "slotcar_burst_ceiling" in note.words]
    words = "hep/cms forward: one TCP connection of 400 ms needs a burst of 2.004 MB at 39 Mbit/s, and has 2 MB"
    assert [(note.device, note.words.partition(" (")[0]) for note in notes] == (
        [("anl-7507-1", words)] if warned else []
    )
