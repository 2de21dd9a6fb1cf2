"""Tuning of a host's TCP: what follows from reservations, what bounds it, what is refused, and the undo to the byte."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.platforms.host_tcp.change import change_to
from slotcar.platforms.host_tcp.flows import Flow, NoFlows, document_of, flows_of, read_flows
from slotcar.platforms.host_tcp.state import Card, HostState, Kept, Route, Unreadable, state_of
from slotcar.platforms.host_tcp.tuning import Choices, NotTunable, tuned
from slotcar.platforms.host_tcp.writing import READ, program_of

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
PEER = "10.10.21.2"
#: D7.3 §9.1.2: Manchester to Amsterdam, 14.5 ms and 750 Mb/s.
AMSTERDAM = Flow("hep/run", PEER, 750_000_000, 0, 14_500)
CARD = Card("eth1", 1500, 9000, 1000, 1, 1_000_000_000, "pfifo_fast", "0:")
HOST = HostState(
    sysctls={
        "net/core/rmem_max": "212992", "net/core/wmem_max": "212992", "net/ipv4/tcp_rmem": "4096 131072 6291456",
        "net/ipv4/tcp_wmem": "4096 16384 4194304", "net/ipv4/tcp_mem": "90000 120000 180000",
        "net/ipv4/tcp_available_congestion_control": "reno cubic",
    },
    writable=frozenset({"net/core/rmem_max", "net/core/wmem_max", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"}),
    page_bytes=4096,
    cards={"eth1": CARD},
    routes={PEER: Route("eth1", "10.10.11.1", "", "boot", "")},
)  # fmt: skip
#: D7.3 §9.2's script.
SCRIPT = {"receive": "4096 87380 4194304", "send": "4096 65536 4194304", "pacing": False}


def entry(**more: Any) -> dict[str, Any]:
    reservation = {
        "name": "run", "owner": "hep", "source": {"host": "anl", "port": None}, "destination": {"host": PEER, "port": 5001},
        "protocol": "tcp", "direction": "both", "rtt_us": 20_000, "packet_size_bytes": 1500, "share": None,
        "slots": [
            {"start": "2027-03-01T08:00:00Z", "end": "2027-03-01T10:00:00Z", "forward_bps": 9_000_000, "reverse_bps": 0},
            {"start": "2027-03-01T13:00:00Z", "end": "2027-03-01T14:00:00Z", "forward_bps": 4_000_000,
             "reverse_bps": 1_000_000},
        ],
    }  # fmt: skip
    return {"reservation": reservation | more}


# -- flows -----------------------------------------------------------------------------------------------------------


def test_a_flow_is_the_highest_rate_of_the_slots_that_are_not_over_and_each_end_sees_it_its_way() -> None:
    addresses = {"anl": "10.10.11.2", "lbnl": PEER}
    assert flows_of([entry()], "anl", addresses, NOW) == (Flow("hep/run", PEER, 4_000_000, 1_000_000, 20_000),)
    assert flows_of([entry()], "lbnl", addresses, NOW) == (
        Flow("hep/run", "10.10.11.2", 1_000_000, 4_000_000, 20_000),
    )


def test_what_is_no_flow_of_its_own_tcp_is_left_out() -> None:
    addresses = {"anl": "10.10.11.2", "other": "10.10.11.3"}
    others = [entry(protocol="udp"), entry(claim={"kind": "cpu"})]
    assert flows_of(others, "anl", addresses, NOW) == ()
    assert flows_of([entry()], "other", addresses, NOW) == ()
    assert flows_of([entry()], "anl", addresses, datetime(2027, 3, 1, 14, tzinfo=UTC)) == ()


def test_a_share_counts_with_what_it_may_come_to_have() -> None:
    share = {"weight": 1, "at_least_bps": 0, "at_most_bps": 40_000_000}
    (flow,) = flows_of([entry(share=share, direction="forward")], "anl", {"anl": "10.10.11.2"}, NOW)
    assert (flow.out_bps, flow.in_bps) == (40_000_000, 1_000_000)


def test_a_document_reads_back_and_a_wrong_one_is_told() -> None:
    document = json.loads(json.dumps(document_of("anl", [AMSTERDAM])))
    assert read_flows(document, "anl") == (AMSTERDAM,)
    for wrong, words in (
        ([], "has no `flows`"),
        ({"host": "lbnl", "flows": []}, "is of lbnl, and this is anl"),
        ({"host": "anl", "flows": [{"peer": PEER}]}, r"flows\[0\] of the file is no flow"),
        ({"host": "anl", "flows": [document["flows"][0] | {"peer": "$(reboot)"}]}, "no flow"),
        ({"host": "anl", "flows": [document["flows"][0] | {"out_bps": "1"}]}, "out_bps is no whole number"),
    ):
        with pytest.raises(NoFlows, match=words):
            read_flows(wrong, "anl")


# -- what is set -----------------------------------------------------------------------------------------------------


def test_the_window_is_that_of_the_reference() -> None:
    """1.36 MB of 14.5 ms × 750 Mb/s, 1.81 MB at 1 Gb/s; 1.23 MB of 21.4 ms × 460 Mb/s (D7.3 §9.1.2)."""
    assert AMSTERDAM.window_bytes(750_000_000) == 1_359_375
    assert AMSTERDAM.window_bytes(1_000_000_000) == 1_812_500
    assert Flow("hep/cern", PEER, 0, 0, 21_400).window_bytes(460_000_000) == 1_230_500


def test_limits_are_raised_to_twice_the_window_and_never_lowered() -> None:
    settings = tuned([replace(AMSTERDAM, out_bps=3_000_000_000)], Choices(), HOST).settings
    assert settings == {
        "sysctl net/core/rmem_max": "212992",
        "sysctl net/ipv4/tcp_rmem": "4096 131072 6291456",
        "sysctl net/core/wmem_max": "10875000",
        "sysctl net/ipv4/tcp_wmem": "4096 16384 10875000",
        "qdisc eth1": "fq 534c:",
    }
    assert tuned([AMSTERDAM], Choices(), HOST).settings["sysctl net/ipv4/tcp_wmem"] == "4096 16384 4194304"


def test_the_reference_s_script_is_a_choice() -> None:
    settings = tuned([], Choices.of_mapping(SCRIPT), HOST).settings
    assert settings == {
        "sysctl net/core/rmem_max": "4194304",
        "sysctl net/ipv4/tcp_rmem": "4096 87380 4194304",
        "sysctl net/core/wmem_max": "4194304",
        "sysctl net/ipv4/tcp_wmem": "4096 65536 4194304",
    }


def test_connections_to_a_peer_have_a_route_of_their_own() -> None:
    choices = Choices(congestion_control="reno", path_mtu=1400)
    assert tuned([AMSTERDAM], choices, HOST).settings[f"route {PEER}"] == (
        f"{PEER} via 10.10.11.1 dev eth1 proto 83 scope global mtu lock 1400 congctl reno"
    )


def test_a_card_with_several_queues_paces_in_each() -> None:
    host = replace(HOST, cards={"eth1": replace(CARD, queues=4)})
    change = change_to(tuned([AMSTERDAM], Choices(), host).settings, host)
    assert change.commands(host)[-4:] == [
        f"tc qdisc replace dev eth1 parent 534c:{number} fq" for number in (1, 2, 3, 4)
    ]


# -- what bounds it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flow", "choices", "host", "words"),
    [
        (AMSTERDAM, Choices(most=1_000_000), HOST, "a buffer is at most 1 MB (slotcar_tuning.most)"),
        (
            replace(AMSTERDAM, out_bps=10**10),
            Choices(most=2**31 - 1),
            replace(HOST, sysctls=HOST.sysctls | {"net/ipv4/tcp_mem": "900 1200 1800"}),
            "this host's own limit for all of TCP, net.ipv4.tcp_mem",
        ),
        (replace(AMSTERDAM, out_bps=2 * 10**9), Choices(), HOST, "eth1 carries 1 Gbit/s, and 2 Gbit/s is reserved"),
        (replace(AMSTERDAM, peer="192.0.2.1"), Choices(), HOST, "this host has no route to 192.0.2.1"),
        (
            AMSTERDAM,
            Choices(),
            replace(HOST, cards={"eth1": replace(CARD, qdisc="htb", handle="1:")}),
            "eth1 keeps its queue, htb 1:",
        ),
        (
            AMSTERDAM,
            Choices(congestion_control="reno"),
            replace(HOST, routes={PEER: replace(HOST.routes[PEER], protocol="bird")}),
            "follows bird",
        ),
        (
            AMSTERDAM,
            Choices(congestion_control="reno"),
            replace(HOST, routes={PEER: replace(HOST.routes[PEER], exact=f"{PEER} via 10.10.11.9 dev eth1")}),
            "is somebody's and stays as it is",
        ),
        (
            replace(AMSTERDAM, out_bps=10**10),
            Choices(),
            replace(HOST, writable=HOST.writable - {"net/core/wmem_max"}),
            "net.core.wmem_max stays 212992: it cannot be set from here",
        ),
    ],
)  # fmt: skip
def test_what_bounds_a_flow_is_told(flow: Flow, choices: Choices, host: HostState, words: str) -> None:
    sentences = tuned([flow], choices, host).words
    assert any(words in sentence for sentence in sentences), sentences


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (
            {"congestion_control": "bbr"},
            "this kernel has reno, cubic, and not bbr; where it is a module, `modprobe tcp_bbr`",
        ),
        ({"mtu": 9001}, "eth1 carries packets of at most 9000 B"),
        ({"path_mtu": 9000}, "is above the 1500 B of eth1"),
        ({"recieve": "1 2 3"}, "slotcar_tuning.recieve is no key that is known"),
        ({"receive": "4096 87380"}, "is the least, the first and the greatest buffer in bytes"),
        ({"send": "4096 1 2"}, "goes from the least over the first to the greatest"),
        ({"pacing": "yes"}, "slotcar_tuning.pacing is true or false"),
        ({"queue": -1}, "is a whole number from 0"),
        ({"congestion_control": "a; reboot"}, "is the name of a congestion control"),
    ],
)
def test_what_cannot_be_is_refused_in_words(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(NotTunable) as refused:
        tuned([AMSTERDAM], Choices.of_mapping(choices), HOST)
    assert any(words in sentence for sentence in refused.value.mistakes), refused.value.mistakes


# -- the change and its undo -----------------------------------------------------------------------------------------

VALUES = st.dictionaries(
    st.sampled_from(["mtu eth1", "txqueuelen eth1", "sysctl net/core/rmem_max"]), st.sampled_from("1234")
)


def having(host: HostState, values: dict[str, str], kept: dict[str, Kept]) -> HostState:
    card = replace(
        host.cards["eth1"],
        mtu_bytes=int(values.get("mtu eth1", host.value("mtu eth1"))),
        queue_packets=int(values.get("txqueuelen eth1", host.value("txqueuelen eth1"))),
    )
    key = "net/core/rmem_max"
    sysctls = {**host.sysctls, key: values.get(f"sysctl {key}", host.sysctls[key])}
    return replace(host, sysctls=sysctls, cards={"eth1": card}, kept=kept)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_whatever_is_tuned_after_what_the_undo_gives_back_what_was_first(steps: list[dict[str, str]]) -> None:
    host = HOST
    for wanted in [*steps, {}]:
        change = change_to(wanted, host)
        host = having(host, dict(change.after), dict(change.kept))
        assert all(host.value(setting) == value for setting, value in wanted.items())
        assert change_to(wanted, host).after == {}
    assert host == HOST


def test_what_somebody_changed_since_is_left_to_him() -> None:
    host = replace(HOST, kept={"mtu eth1": Kept("1400", "9000")})
    change = change_to({}, host)
    assert (change.after, change.kept) == ({}, {})
    assert change.words == ("mtu eth1 was changed by somebody to `1500` since, and stays so",)


def test_an_answer_that_is_none_is_told() -> None:
    with pytest.raises(Unreadable):
        state_of("sysctl\n")


# -- on this machine's kernel ----------------------------------------------------------------------------------------

Shell = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell() -> Iterator[Shell]:
    """The shell of a network namespace with one card and one route."""
    name = f"slotcar-tuning-{os.getpid()}"
    added = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if added.returncode != 0:
        pytest.skip(f"no network namespace can be made here: {added.stderr.strip()}")

    def run(program: str) -> subprocess.CompletedProcess[str]:
        words = ["ip", "netns", "exec", name, "sh", "-s"]
        return subprocess.run(words, input=program, capture_output=True, text=True, check=False)

    try:
        up = run(
            "ip link set lo up; ip link add eth1 type veth peer name eth2 && ip link set eth1 up && ip link set eth2 up &&"
            " ip address add 10.10.11.2/24 dev eth1 && ip route add 10.10.0.0/16 via 10.10.11.1"
        )
        assert up.returncode == 0, up.stderr
        yield run
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def test_a_kernel_is_tuned_and_has_exactly_what_it_had_afterwards(shell: Shell, tmp_path: Path) -> None:
    place = str(tmp_path / "tuning")

    def read() -> tuple[str, HostState]:
        done = shell(f"set -- {place} {PEER}\n{READ.read_text()}")
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout, state_of(done.stdout)

    def give(wanted: dict[str, str]) -> None:
        host = read()[1]
        done = shell(program_of(change_to(wanted, host), host, place))
        assert done.returncode == 0, done.stderr

    before, host = read()
    choices = Choices(congestion_control="reno", path_mtu=1400, mtu=9000, queue=50, pacing=False)
    wanted = dict(tuned([replace(AMSTERDAM, out_bps=4 * 10**9)], choices, host).settings)
    give(wanted)
    host = read()[1]
    assert all(host.value(setting) == value for setting, value in wanted.items())
    assert host.value("sysctl net/ipv4/tcp_wmem").endswith(" 14500000")
    assert change_to(wanted, host).after == {}
    give({})
    assert read()[0] == before
    assert not (tmp_path / "tuning").exists()


def test_where_a_command_fails_those_before_it_are_undone(shell: Shell, tmp_path: Path) -> None:
    place = str(tmp_path / "tuning")
    question = f"set -- {place} {PEER}\n{READ.read_text()}"
    before = shell(question).stdout
    host = state_of(before)
    done = shell(program_of(change_to({"txqueuelen eth1": "50", "mtu eth1": "99999999"}, host), host, place))
    assert done.returncode == 1
    assert "this failed: ip link set dev eth1 mtu 99999999" in done.stderr
    assert shell(question).stdout == before
