"""What inet_diag tells of connections: real ones of this process, and figures that are made up."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slotcar_transfer import own_sockets
from slotcar_transfer.connections import app, draw, watch
from slotcar_transfer.errors import TransferError
from slotcar_transfer.kept_looks import Keeping, read
from slotcar_transfer.own_sockets import Buffer
from slotcar_transfer.tcp_state import Ends, TcpState, ends_of, lines_of, of_user

#: Sends what is asked for on a connection and keeps it open.
OTHER = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print(connection.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as near:
        far, _ = server.accept()
        with far:
            yield near, far


def state_of(connection: socket.socket) -> TcpState:
    own, peer = connection.getsockname(), connection.getpeername()
    (found_state,) = [one for one in own_sockets.connections() if (one.local_port, one.peer_port) == (own[1], peer[1])]
    return found_state


def test_the_kernel_tells_what_was_sent_without_root(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    before = state_of(near)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 50_000)
    near.sendall(bytes(30_000))
    left = 30_000
    while left:
        left -= len(far.recv(left))
    now = state_of(near)
    assert now.sent_bytes - before.sent_bytes == 30_000
    assert now.sent_segments > before.sent_segments
    assert now.send_buffer_bytes == near.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 100_000
    assert state_of(far).received_bytes == 30_000
    assert now.rto_us > now.rtt_us > 0
    assert now.sack
    assert (now.sent_again_segments, now.threshold_segments, now.window_segments > 0) == (0, None, True)
    assert (
        now.congestion_control == near.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    )


def test_a_pace_is_told(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    near.setsockopt(socket.SOL_SOCKET, 47, 125_000)
    near.sendall(b"x")
    far.recv(1)
    assert state_of(near).pacing_bps == 1_000_000


def test_the_send_buffer_of_another_process_of_one_s_own_is_set_while_it_runs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with subprocess.Popen(
            [sys.executable, "-c", OTHER, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            own_port = int(other.stdout.readline())
            peer, _ = server.accept()
            with peer:
                (state,) = [one for one in own_sockets.connections() if one.local_port == own_port]
                assert own_sockets.set_buffer(state, Buffer.SEND, 70_000) == 70_000
                (state,) = [one for one in own_sockets.connections() if one.local_port == own_port]
                assert state.send_buffer_bytes == 140_000
                assert own_sockets.set_buffer(state, Buffer.RECEIVE, 90_000) == 90_000
                (state,) = [one for one in own_sockets.connections() if one.local_port == own_port]
                assert (state.send_buffer_bytes, state.receive_buffer_bytes) == (140_000, 180_000)
            other.communicate("")


def test_a_connection_that_nobody_holds_cannot_be_set(pair: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(TransferError, match="no process that you may look into holds"):
        own_sockets.set_buffer(replace(state_of(pair[0]), inode=1), Buffer.SEND, 9)


@pytest.fixture
def state(pair: tuple[socket.socket, socket.socket]) -> TcpState:
    return replace(
        state_of(pair[0]), local="10.0.0.1", local_port=4_000, peer="10.0.1.1", peer_port=5_001, user=1_000,
        sent_segments=1_000, sent_again_segments=5, marked_segments=2, sent_bytes=1_250_000, rtt_us=24_060,
        least_rtt_us=20_000, rto_us=224_000, window_segments=31, threshold_segments=None, segment_bytes=1_448,
        congestion_control="cubic", sack=True, ecn=True, pacing_bps=9_000_000, delivery_bps=8_000_000, busy_us=1_000,
        waited_for_window_us=250, waited_for_buffer_us=0, send_window_bytes=65_536, receive_window_bytes=64_000,
        send_buffer_bytes=87_040, receive_buffer_bytes=131_072, unanswered_timeouts=0,
    )  # fmt: skip


def test_people_read_it_in_sentences(state: TcpState) -> None:
    later = replace(state, sent_bytes=2_500_000, threshold_segments=15)
    assert lines_of(later, state, 2.0) == [
        "10.0.0.1:4000 - 10.0.1.1:5001  cubic, SACK, ECN",
        "  sent 1000 segments, 5 of them again (0.50 %), 2 marked by ECN, 5.00 Mbit/s now",
        "  round trip 24.1 ms (least 20.0), RTO 224 ms, 0 time-outs unanswered",
        "  cwnd 31 and ssthresh 15, segments of 1448 B; pace 9.00 Mbit/s, delivered 8.00 Mbit/s",
        "  windows: 65536 B to send, 64000 B to receive; buffers: 87040 B, 131072 B",
        "  25 % of its time it waited for the other end's window",
    ]
    assert "ssthresh none yet" in lines_of(state)[3]


@pytest.mark.parametrize(
    ("ends", "fits"),
    [
        (Ends("10.0.0.1", 4_000, "10.0.1.1", 5_001), True),
        (Ends("10.0.1.1", 5_001, "10.0.0.1", 4_000), True),
        (Ends("10.0.0.1", None, "10.0.1.1", 5_001), True),
        (Ends(None, 5_001, None, None), True),
        (Ends("10.0.0.1", 4_001, "10.0.1.1", 5_001), False),
        (Ends("10.0.1.1", 4_000, "10.0.0.1", 5_001), False),
        (Ends("10.0.0.9", None, "10.0.1.1", None), False),
    ],
)
def test_a_reservation_s_connections_are_those_of_its_ends(state: TcpState, ends: Ends, fits: bool) -> None:
    assert ends.has(state) is fits


def test_names_of_end_systems_stand_for_their_addresses() -> None:
    document = {"source": {"host": "anl", "port": None}, "destination": {"host": "10.0.1.1", "port": 5_001}}
    assert ends_of(document, {"anl": "10.0.0.1"}) == Ends("10.0.0.1", None, "10.0.1.1", 5_001)


def test_one_sees_one_s_own_and_root_everybody_s(state: TcpState) -> None:
    other = replace(state, user=1_001, local_port=3_000)
    assert of_user([state, other], 1_000) == [state]
    assert of_user([state, other], 0) == [other, state]


def test_looks_are_kept_line_by_line(pair: tuple[socket.socket, socket.socket], tmp_path: Path) -> None:
    port, file = pair[0].getsockname()[1], tmp_path / "looks.jsonl"
    shown: list[list[str]] = []
    ends = [Ends(None, port, None, None)]
    looks = watch(
        own_sockets.connections, ends, 0.0, 2, lambda _look, lines: shown.append(lines), file, {Buffer.SEND: 60_000}
    )
    assert [json.loads(line) for line in file.read_text().splitlines()] == looks
    assert [one["local_port"] for one in looks[0]["connections"]] == sorted(
        [port, pair[1].getsockname()[1]], key=lambda one: one
    )
    assert looks[1]["connections"][0]["send_buffer_bytes"] == 120_000
    assert "Mbit/s now" in shown[1][1]


def test_what_was_kept_is_shown_as_it_was_seen(pair: tuple[socket.socket, socket.socket], tmp_path: Path) -> None:
    port, file = pair[0].getsockname()[1], tmp_path / "looks.jsonl"
    live: list[list[str]] = []
    watch(own_sockets.connections, [Ends(None, port, None, None)], 0.0, 2, lambda _, lines: live.append(lines), file)
    shown = CliRunner().invoke(app, ["--kept", str(file), "--port", str(port)])
    assert shown.exit_code == 0, shown.output
    # Beside the rates since the look before, which go by another clock there.
    assert [line for line in shown.output.splitlines() if line == live[0][0]] == [live[0][0]] * 2
    as_documents = CliRunner().invoke(app, ["--kept", str(file), "--format", "json"]).output
    assert as_documents == file.read_text()
    nothing = CliRunner().invoke(app, ["--kept", str(file), "--port", "1"]).output
    assert nothing.count("no such connection of yours on this host") == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}\n", ":1 is no look at connections, as --keep writes them"),
        ("nothing", "does not hold what --keep writes: Expecting value"),
        ('{"at": "noon", "connections": []}', "does not hold what --keep writes: Invalid isoformat string: 'noon'"),
        (
            '{"at": "2027-03-01T12:00:00+00:00", "connections": [{"local": "10.0.0.1"}]}',
            "was kept by another version of slotcar-transfer: ",
        ),
        (None, "does not hold what --keep writes: [Errno 2] No such file or directory"),
    ],
    ids=["no look", "no JSON", "no instant", "of another version", "not there"],
)
def test_a_file_that_holds_something_else_is_refused_in_words(text: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "looks.jsonl"
    if text is not None:
        file.write_text(text)
    result = CliRunner().invoke(app, ["--kept", str(file)])
    assert result.exit_code == 1
    assert words in result.output


@pytest.mark.parametrize(
    "words", [["--send-buffer", "9"], ["--receive-buffer", "9"], ["--times", "1"], ["--keep", "x"]]
)
def test_what_is_done_to_connections_goes_with_no_file(words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "looks.jsonl"
    file.touch()
    result = CliRunner().invoke(app, ["--kept", str(file), *words])
    assert result.exit_code == 1
    assert "--kept looks at no connection: leave out --keep, --times and the buffers" in result.output


def test_a_transfer_keeps_its_own_connections_and_goes_on_where_it_cannot(
    pair: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    near, far = pair
    sentences: list[str] = []
    at = datetime(2027, 3, 1, 12, tzinfo=UTC)
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_connection(other.getsockname()):
        keeping = Keeping(
            tmp_path / "looks.jsonl", near.getpeername()[1], own_sockets.connections, sentences.append, lambda: at
        )
        keeping.look()
        keeping.look()
    looks = read(tmp_path / "looks.jsonl")
    assert [look["at"] for look in looks] == [at.isoformat()] * 2
    ends = [(one["local_port"], one["peer_port"]) for look in looks for one in look["connections"]]
    assert ends == [(near.getsockname()[1], far.getsockname()[1])] * 2
    keeping.to = tmp_path / "nowhere" / "looks.jsonl"
    keeping.look()
    keeping.look()
    assert len(sentences) == 1
    assert sentences[0].startswith("nothing more is kept of the connections: [Errno 2] No such file or directory")


def test_a_picture_is_drawn_of_what_was_seen(state: TcpState, tmp_path: Path) -> None:
    later = replace(state, threshold_segments=15)
    looks = [
        {"at": f"2027-03-01T12:00:0{second}+00:00", "connections": [one.document()]}
        for second, one in enumerate([state, later])
    ]
    draw(looks, tmp_path / "a.svg")
    assert "<svg" in (tmp_path / "a.svg").read_text()
    with pytest.raises(TransferError, match="nothing to draw"):
        draw([{"at": "2027-03-01T12:00:00+00:00", "connections": []}], tmp_path / "b.svg")


def test_without_matplotlib_a_picture_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(TransferError, match=r"install slotcar-transfer\[pictures\]"):
        draw([], tmp_path / "a.svg")


def test_the_command_shows_connections_of_a_port(pair: tuple[socket.socket, socket.socket]) -> None:
    port = str(pair[0].getsockname()[1])
    done = CliRunner().invoke(app, ["--port", port, "--times", "1"])
    assert done.exit_code == 0, done.output
    assert f"127.0.0.1:{port} - " in done.output
    assert "no such connection" in CliRunner().invoke(app, ["--port", "1", "--times", "1"]).output
    done = CliRunner().invoke(app, ["--port", port, "--times", "1", "--format", "json"])
    assert len(json.loads(done.stdout)["connections"]) == 2
    done = CliRunner().invoke(app, ["--format", "xml"])
    assert (done.exit_code, "--format is text or json (got xml)" in done.output) == (1, True)
