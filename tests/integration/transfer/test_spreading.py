"""Files to several hosts at once by uftp, over a LAN of this test's own, with loss, a kill, and behind proxies."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from slotcar_transfer.uftp import restart_file
from tests.support.multicast import ADDRESSES, can_be_made, opened
from tests.support.patience import wait_for
from tests.support.transfers import end_of

#: Packets that a busy machine loses count as lost on the way. In short: tests/unit/transfer/test_{uftp,gathering}.py.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_be_made(), reason="namespaces need root, and uftp is to be installed"),
]


def fill(folder: Path, **sizes: int) -> list[str]:
    folder.mkdir()
    for name, size in sizes.items():
        (folder / name).write_bytes(random.Random(name).randbytes(size))
    return [str(folder / name) for name in sizes]


def test_copies_are_proved_and_who_loses_too_much_is_left_behind(tmp_path: Path) -> None:
    """Of three, one loses 5 % and gets all, one loses half and is pruned; later, alone, it gets what it lacks."""
    files = fill(tmp_path / "files", raw=4_000_000, index=70_000)
    with opened(tmp_path / "lan", ("near", "lossy", "distant")) as lan:
        lan.lose("near", 5)
        lan.lose("lossy", 50)
        ended = lan.spread(*files, "--to", "near", "--to", "lossy", "--at-most", "30 Mbit/s", code=1)
        near, lossy = ended.done["receivers"]
        assert (near["proved"], near["lacks"], near["why"]) == (["index", "raw"], [], "")
        assert "raw" in lossy["lacks"]
        assert lossy["why"] == "was pruned: it lost too much, or gave up by itself"
        assert (lan.root("near") / "raw").read_bytes() == Path(files[0]).read_bytes()
        lan.lose("lossy", 2)
        again = lan.spread(*files, "--to", "near", "--to", "lossy", "--at-most", "30 Mbit/s")
        assert [one["lacks"] for one in again.done["receivers"]] == [[], []]
        assert "to lossy at" in " ".join(again.messages)
        assert (lan.root("lossy") / "raw").read_bytes() == Path(files[0]).read_bytes()
        # A copy that somebody damaged is not proved, and is sent again.
        (lan.root("near") / "index").write_bytes(b"x" * 70_000)
        mended = lan.spread(*files, "--to", "near", "--to", "lossy", "--at-most", "30 Mbit/s")
        assert "to near at" in " ".join(mended.messages)
        assert (lan.root("near") / "index").read_bytes() == Path(files[1]).read_bytes()


def test_a_kill_is_gone_on_from_the_checkpoint(tmp_path: Path) -> None:
    """The command is killed; uftp ends in order, and what had arrived is not sent again."""
    files = fill(tmp_path / "files", raw=6_000_000)
    with opened(tmp_path / "lan", ("near", "lossy")) as lan:
        words = (*files, "--to", "near", "--to", "lossy", "--at-most", "12 Mbit/s")
        killed = lan.started(*words)
        arriving = tmp_path / "lan" / "near" / "arriving"
        wait_for(
            lambda: any(one.is_file() and one.stat().st_blocks * 512 > 2_000_000 for one in arriving.rglob("raw")),
            "a third of it to be there",
        )
        killed.send_signal(signal.SIGKILL)
        end_of(killed, code=None)
        (job,) = (lan.home("here") / "spread").iterdir()
        wait_for(lambda: restart_file(job) is not None, "uftp to write its restart file")
        wait_for(lambda: len(list(arriving.glob("*_restart"))) == 1, "the receiver to note what it has")
        before = lan.log("near", "uftpd")
        ended = lan.spread(*words)
        assert any(one.startswith("goes on from its checkpoint to near, lossy") for one in ended.messages)
        assert [one["lacks"] for one in ended.done["receivers"]] == [[], []]
        assert (lan.root("near") / "raw").read_bytes() == Path(files[0]).read_bytes()
        assert "restart" in lan.log("near", "uftpd")[len(before) :].lower()
        assert not job.exists()


def test_requests_for_one_file_become_one_session(tmp_path: Path) -> None:
    """Two ask, one after the other: the file is sent once, to both. Who asks later is of a session of its own."""
    with opened(tmp_path / "lan", ("near", "lossy")) as lan:
        (source,) = fill(lan.root("here") / "new", raw=1_500_000)
        lan.gather("--gather-within", "3600", "--gather-for", "2", "--gather-at-most", "30 Mbit/s")
        first, second = (lan.start_ask(name, "here:new/raw") for name in ("near", "lossy"))
        assert [end_of(one).out for one in (first, second)] == ["new/raw is here, as it is at here\n"] * 2
        for name in ("near", "lossy"):
            assert (lan.root(name) / "raw").read_bytes() == Path(source).read_bytes()
        log = lan.log("here", "serve")
        assert (
            log.count(f"multicast: {source} for near, lossy") + log.count(f"multicast: {source} for lossy, near") == 1
        )
        assert log.count("multicast: sends to") == 1
        assert "there is no new/other" in end_of(lan.start_ask("near", "here:new/other"), code=1).err


def test_proxies_answer_for_a_subnet_and_lead_where_no_multicast_is(tmp_path: Path) -> None:
    """Two receivers of one subnet answer by one proxy; a third is beyond a router that forwards unicast alone."""
    files = fill(tmp_path / "files", raw=3_000_000)
    with opened(tmp_path / "lan", ("distant",)) as lan:
        lan.proxy("agent", "-r")
        lan.proxy("tunnel", "-s", ADDRESSES["gate"])
        lan.proxy("gate", "-c")
        for name in ("near", "lossy"):
            lan.receive(name, "-R", ADDRESSES["agent"])
            lan.lose(name, 8)
        receivers = ("--to", "near", "--to", "lossy", "--to", "distant")
        proxies = ("--proxy", ADDRESSES["agent"], "--proxy", ADDRESSES["gate"])
        ended = lan.spread(*files, *receivers, *proxies, "--at-most", "10 Mbit/s")
        assert [one["lacks"] for one in ended.done["receivers"]] == [[], [], []]
        assert (lan.root("distant") / "raw").read_bytes() == Path(files[0]).read_bytes()
        assert "NAK" in lan.log("agent", "uftpproxyd")
