"""Files and folders between ends on loopback: each way, and with what is wrong said in words."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar_transfer import calling, sending, tcp
from slotcar_transfer.calling import Caller
from slotcar_transfer.errors import Changed, Damaged, OtherVersion, TransferError, WrongPeer
from slotcar_transfer.identity import Identity
from slotcar_transfer.lanes import Steering
from slotcar_transfer.moving import Job, pull, push, relay
from slotcar_transfer.profile import Profile, Step
from slotcar_transfer.serving import Rights, Server
from slotcar_transfer.sources import Reader
from slotcar_transfer.staging import Tree
from slotcar_transfer.wire import Channel
from tests.support.patience import wait_for
from tests.support.transfers import STAGING, World, content, fill

SIZES = {
    "large": 9_000_001,
    "empty": 0,
    "a/b/c": 5,
    "name with space ä": 70_000,
    **{f"many/{n}": n for n in range(50)},
}
#: Both connections, with more than there is.
BOTH = Profile((Step(datetime(2020, 1, 1, tzinfo=UTC), 10**9),))


class Ends:
    """Servers in this process."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.servers: list[tuple[Server, threading.Thread]] = []

    def serve(self, name: str, rights: Rights | None = None) -> Server:
        world = self.world
        server = Server(world.root(name), world.identity(name), "127.0.0.1", world.ports[name], rights)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        self.servers.append((server, thread))
        return server

    def caller(self, to: str, of: str = "here") -> Caller:
        identity = self.world.identity(of)
        return Caller(identity, identity.peer(to))

    def job(self, profile: Profile | None = None) -> Job:
        return Job(self.world.identity("here"), "job", Steering(profile))

    def close(self) -> None:
        for server, thread in self.servers:
            server.close()
            thread.join()


@pytest.fixture
def ends(world: World) -> Iterator[Ends]:
    pair = Ends(world)
    yield pair
    pair.close()


@pytest.fixture
def data(world: World) -> Path:
    folder = world.folder / "source"
    fill(folder, SIZES)
    (folder / "nothing").mkdir()
    return folder


def below(folder: str, source: Path) -> dict[str, bytes]:
    return {f"{folder}/{path}": body for path, body in content(source).items()}


@pytest.mark.parametrize("profile", [None, BOTH], ids=["one connection", "two"])
def test_a_folder_is_pushed(ends: Ends, data: Path, profile: Profile | None) -> None:
    ends.serve("there")
    job = ends.job(profile)
    result = push(job, data, ends.caller("there"), "run")
    assert result == {"files": len(SIZES) + 1, "bytes": sum(SIZES.values())}
    assert content(ends.world.root("there")) == below("run", data)
    assert (ends.world.root("there") / "run" / "nothing").is_dir()
    assert job.count.files_placed == len(SIZES) + 1
    assert job.count.arrived_bytes == sum(job.count.lanes.values()) == sum(SIZES.values())


def test_a_folder_is_pulled_and_the_sender_is_steered(ends: Ends, data: Path, tmp_path: Path) -> None:
    (ends.world.root("there") / "run").symlink_to(data)  # a link that the server's own operator made leads out
    fill(ends.world.root("there") / "real", SIZES)
    ends.serve("there")
    (tmp_path / "in").mkdir()
    tree = Tree(tmp_path / "in")
    with pytest.raises(TransferError, match=r"leads out of the folder that is served"):
        pull(ends.job(), ends.caller("there"), "run", tree, "x")
    job = ends.job(BOTH)
    pull(job, ends.caller("there"), "/real", tree, "x")
    assert content(tmp_path / "in") == below("x", ends.world.root("there") / "real")
    assert set(job.count.lanes) <= {"base", "additional"}
    tree.close()


def test_a_peer_that_sends_marks_and_paces(ends: Ends, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a pull it is the server's sockets that count."""
    marked: dict[int, int] = {}
    paced: list[int | None] = []
    mark, pace = tcp.mark, tcp.pace

    def marking(one: socket.socket, dscp: int) -> None:
        mark(one, dscp)
        with suppress(OSError):  # what this end marks is not connected yet
            marked[one.getpeername()[1]] = dscp

    for module in (sending, tcp):
        monkeypatch.setattr(module, "mark", marking)
    monkeypatch.setattr(tcp, "pace", lambda one, rate: (paced.append(rate), pace(one, rate)))
    fill(ends.world.root("there"), {"x": 3_000_000})
    ends.serve("there")
    port = calling.free_port()
    job = ends.job(Profile((Step(datetime(2020, 1, 1, tzinfo=UTC), 40_000_000),)))
    job.steering.dscps, job.base_port = {"base": 46, "additional": 8}, port
    tree = Tree(tmp_path)
    pull(job, ends.caller("there"), "x", tree, "")
    tree.close()
    assert marked[port] == 46
    assert sorted(marked.values()) == [8, 46]
    assert paced
    assert all(one is not None and 39_000_000 < one < 42_000_000 for one in paced)


def test_one_end_sends_to_another_for_a_third(ends: Ends) -> None:
    fill(ends.world.root("third") / "run", SIZES)
    ends.serve("third")
    ends.serve("there")
    job = ends.job(BOTH)
    relay(job, ends.caller("third"), "run", "there", "copy")
    assert content(ends.world.root("there")) == below("copy", ends.world.root("third") / "run")
    assert job.count.arrived_bytes == sum(SIZES.values())


def test_a_file_comes_under_its_name_or_another(ends: Ends, data: Path) -> None:
    ends.serve("there")
    for destination, path in (("", "large"), ("x/", "x/large"), ("x", "x/large"), ("y/z", "y/z")):
        push(ends.job(), data / "large", ends.caller("there"), destination)
        assert (ends.world.root("there") / path).read_bytes() == (data / "large").read_bytes()


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("destination", ["../x", "a/../../x", "a/./b", ".slotcar-transfer-x"])
def test_a_destination_that_leads_elsewhere(ends: Ends, data: Path, destination: str) -> None:
    ends.serve("there")
    with pytest.raises(TransferError, match=r"leads elsewhere|is for parts"):
        push(ends.job(), data, ends.caller("there"), destination)
    assert content(ends.world.root("there")) == {}


def test_a_link_at_the_destination(ends: Ends, data: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (ends.world.root("there") / "run").symlink_to(tmp_path / "outside")
    ends.serve("there")
    with pytest.raises(TransferError, match="has a link or a file where a folder is to be"):
        push(ends.job(), data, ends.caller("there"), "run")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_file_that_changes_while_it_is_read(ends: Ends, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends.serve("there")
    read = Reader.read

    def changing(self: Reader, block: object) -> memoryview:
        if getattr(block, "offset", 0) > 0:
            os.utime(data / "large")
        return read(self, block)  # type: ignore[arg-type]

    monkeypatch.setattr(Reader, "read", changing)
    with pytest.raises(Changed, match="large changed while it was read"):
        push(ends.job(), data, ends.caller("there"), "run")
    wait_for(
        lambda: not [one for one in content(ends.world.root("there")) if STAGING in one],
        "what is staged to go",
        pause_s=0.02,
    )
    assert "run/large" not in content(ends.world.root("there"))


def test_a_receiver_that_is_somebody_else_gets_nothing(ends: Ends, data: Path) -> None:
    """Who answers at the address of `there` has another key."""
    Identity(ends.world.home("there")).key.unlink()
    Identity(ends.world.home("there")).make("there")
    ends.serve("there")
    with pytest.raises(WrongPeer, match="is not there: its certificate is another than the one known here"):
        push(ends.job(), data, ends.caller("there"), "run")
    assert content(ends.world.root("there")) == {}


def test_a_sender_that_is_not_known(ends: Ends, data: Path) -> None:
    (ends.world.home("there") / "peers" / "here.pem").unlink()
    ends.serve("there")
    with pytest.raises(WrongPeer, match="there does not know this end; give it the certificate"):
        push(ends.job(), data, ends.caller("there"), "run")


def test_who_speaks_no_tls(world: World, data: Path) -> None:
    with socket.create_server(("127.0.0.1", world.ports["there"])) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        identity = world.identity("here")
        with pytest.raises(WrongPeer, match="does not speak TLS as it should"):
            Caller(identity, identity.peer("there")).ask(verb="about")
        thread.join()


@pytest.mark.parametrize("older", ["client", "server"])
def test_ends_of_different_versions(ends: Ends, data: Path, older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends.serve("there")
    hello = calling.hello
    if older == "client":
        monkeypatch.setattr(calling, "hello", lambda **keys: hello(**keys) | {"protocol": 0})
    else:
        monkeypatch.setattr("slotcar_transfer.serving.hello", lambda **keys: hello(**keys) | {"protocol": 2})
    with pytest.raises(OtherVersion, match=r"speaks version [02] of the transfer protocol .* this end 1"):
        push(ends.job(), data, ends.caller("there"), "run")


def test_a_block_that_arrives_damaged_is_sent_again(ends: Ends, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurt = damaging(monkeypatch, times=3)
    ends.serve("there")
    push(ends.job(), data, ends.caller("there"), "run")
    assert len(hurt) == 3
    assert content(ends.world.root("there")) == below("run", data)


def test_blocks_that_always_arrive_damaged_end_it(ends: Ends, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaging(monkeypatch, times=10**9)
    ends.serve("there")
    with pytest.raises(Damaged, match="a block arrived damaged 5 times"):
        push(ends.job(), data, ends.caller("there"), "run")
    wait_for(
        lambda: not content(ends.world.root("there")).keys() - {"run/empty", "run/many/0"},
        "the rest to go",
        pause_s=0.02,
    )


def damaging(monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """So many blocks are changed after their digest was made."""
    send, hurt = Channel.send_block, []

    def changed(self: Channel, header: object, body: memoryview) -> None:
        if len(hurt) < times:
            hurt.append(1)
            body = memoryview(bytes([body[0] ^ 1]) + bytes(body[1:]))
        send(self, header, body)  # type: ignore[arg-type]

    monkeypatch.setattr(Channel, "send_block", changed)
    return hurt


@pytest.mark.parametrize(
    ("rights", "words"), [(Rights(write=False), "for reading only"), (Rights(read=False), "for writing only")]
)
def test_a_server_with_fewer_rights(ends: Ends, data: Path, rights: Rights, words: str, tmp_path: Path) -> None:
    fill(ends.world.root("there"), {"x": 1})
    ends.serve("there", rights)
    work = push if rights.read else pull
    given = (data, ends.caller("there"), "run") if rights.read else (ends.caller("there"), "x", Tree(tmp_path), "")
    with pytest.raises(TransferError, match=words):
        work(ends.job(), *given)  # type: ignore[operator]


def test_what_is_not_there(ends: Ends, tmp_path: Path) -> None:
    ends.serve("there")
    with pytest.raises(TransferError, match="there is no nothing in the folder that is served"):
        pull(ends.job(), ends.caller("there"), "nothing", Tree(tmp_path), "")


def test_a_data_connection_of_somebody_elses_session_is_refused(ends: Ends) -> None:
    ends.serve("there")
    control, answer = ends.caller("there").call(verb="receive", destination="x", job="j")
    with pytest.raises(TransferError, match="there is no such session"):
        ends.caller("there", "third").ask(verb="data", session=answer["session"], lane="base")
    control.close()


def test_a_full_disk_is_said_and_leaves_nothing(world: World, data: Path) -> None:
    """A file system of 4 MiB at the destination."""
    small = world.root("there")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a file system")
    try:
        with world.serve("there"):
            ended = world.run(str(data), "there:run", code=1)
        assert "free and" in ended.err
        assert "are to come; nothing was sent" in ended.err
        assert content(small) == {}
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_keys_that_others_can_read_are_refused(world: World) -> None:
    world.identity("here").key.chmod(0o644)
    with world.serve("there"):
        assert "can be read by others: say chmod 600" in world.run("there:x", str(world.folder), code=1).err
