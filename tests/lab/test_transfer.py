"""A folder of 1,000 files and a large one arrives by its deadline over a link that is full: `slotcar-transfer` on two hosts
of the lab, a controller that pushes to its routers, and background traffic at the link's rate.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from slotcar_lab import control
from slotcar_lab.chaos.script import pace_of
from slotcar_lab.client import LabProcess
from slotcar_lab.control import Lab
from slotcar_lab.experiments import nict_af
from slotcar_lab.experiments.bench import Bench, Udp, bench
from slotcar_lab.movers import acquaint, mover, python
from slotcar_lab.requirements import Backend
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base
from tests.support import relay
from tests.support.patience import wait_for

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(2_400)]
SOURCE, SINK, SINK_ADDRESS = "source-a", "sink-a", "10.30.21.2"
FILES, LARGE_BYTES = 1_000, 36_000_000
#: Of the host's own, where it finds the controller.
API_PORT = 8480
#: What QEMU's user network calls the machine that it runs on.
GUESTS_HOST = "10.0.2.2"
#: From the request on; what is reserved for it is then about half of what may be. Opening a thousand files takes the
#: emulated hosts' own time: where the machine is slow there is more, up to the longest.
BY_S, LONGEST_BY_S = 240, 600
LINK_BPS, PAYLOAD_BYTES, LINE_BYTES = 8_000_000, 1_400, 1_442
#: After its start, and before its end: a mean is over 5 s.
SETTLE_S = 10
FILL = """
import pathlib, random, sys
folder, files, large = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(1)
for number in range(files):
    file = folder / f"{number % 10}" / f"file-{number:04}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(chance.randbytes(chance.randrange(3000)))
(folder / "large").write_bytes(chance.randbytes(large))
"""


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """NICT's network, of its own: half of a link of 8 Mb/s may be reserved."""
    monkeypatch.setenv(PORT_BASE_VARIABLE, str(free_base()))
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path / "state"))
    with bench(nict_af.HERE / "inventory", tmp_path / "state", control.quiet, smoke=True, real_time=True) as started:
        yield started


def command(lab: Lab, home: str, *words: str) -> list[str]:
    return mover(lab, home, *words, SLOTCAR_API=f"http://127.0.0.1:{API_PORT}")


@contextmanager
def controller_at_the_source(bench: Bench, folder: str) -> Iterator[None]:
    """Of the lab's nodes only the guest itself reaches this machine; hosts reach it over a socket in the file system that
    they all have."""
    machine = GUESTS_HOST if bench.lab.backend is Backend.GUEST else "127.0.0.1"
    path, program = f"{folder}/api", Path(relay.__file__)
    with (
        closing(bench.lab.start_python("", program, path, f"{machine}:{bench.controller.port}")) as outer,
        closing(bench.lab.start_python(SOURCE, program, f"127.0.0.1:{API_PORT}", path)) as inner,
    ):
        for one in (outer, inner):
            wait_for(lambda one=one: has_said(one, "ready"), "the way to the controller")
        yield


def has_said(process: LabProcess, word: str) -> bool:
    assert process.poll() is None, process.stderr[-1000:]
    return word in process.stdout


def digest(lab: Lab, folder: str) -> str:
    command = f"cd {shlex.quote(folder)} && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum"
    return lab.check(SINK, ["sh", "-c", command], 120)


def moved(bench: Bench, folder: str, by_s: int) -> tuple[int, list[dict[str, Any]]]:
    """The exit status of the command, and what it said."""
    by = ("--by", f"now + {by_s} s", "--service", "assured-rate", "--owner", "nict", "--here", SOURCE)
    with bench.lab.popen(
        SOURCE, command(bench.lab, f"{folder}/{SOURCE}", f"{folder}/run", f"{SINK}:run", *by)
    ) as process:
        code = process.wait(by_s + 300)
        assert process.stderr == "", process.stderr[-2000:]
        return code, [json.loads(line) for line in process.stdout.splitlines()]


def base_share(documents: list[dict[str, Any]]) -> float:
    """The mean rate of the base connection over its committed rate, while the large file is on its way.

    An emulated host opens, checks and closes some twenty small files a second, whatever the network gives.
    """
    running = [one for one in documents if one["event"] == "progress" and one["committed_bps"]]
    large = [one for one in running if one["remaining_bytes"] < LARGE_BYTES][SETTLE_S:]
    steady = [one for one in large if one["remaining_bytes"] * 8 > SETTLE_S * one["committed_bps"]]
    assert len(steady) > SETTLE_S, "the base connection was not reserved for long"
    return sum(one["base_bps"] / one["committed_bps"] for one in steady) / len(steady)


def shown(documents: list[dict[str, Any]]) -> str:
    """For who reads a failure: what was left, and both connections' rates beside the committed one."""
    keys = ("at", "remaining_bytes", "base_bps", "committed_bps", "additional_bps")
    return "\n".join(" ".join(str(one.get(key)) for key in keys) for one in documents if one["event"] == "progress")


def test_a_thousand_files_and_a_large_one_arrive_by_their_deadline_on_a_full_link(ready: Bench) -> None:
    lab, folder = ready.lab, "/tmp/transfer"  # noqa: S108 - of the lab's hosts
    lab.check(SOURCE, ["mkdir", "-p", f"{folder}/into"])
    lab.check(SOURCE, [python(lab), "-c", FILL, f"{folder}/run", str(FILES), str(LARGE_BYTES)], 180)
    acquaint(lab, folder, SOURCE, SINK, SINK_ADDRESS)
    serving = lab.popen(SINK, command(lab, f"{folder}/{SINK}", "serve", f"{folder}/into", "--address", SINK_ADDRESS))
    full_bps = LINK_BPS * PAYLOAD_BYTES // LINE_BYTES
    by_s = min(round(BY_S * pace_of(ready.controller.first_turn_s())), LONGEST_BY_S)
    with serving, controller_at_the_source(ready, folder):
        wait_for(lambda: has_said(serving, "serves"), "the receiver")
        background = ready.udp_for(Udp("source-b", "sink-b", 6001, full_bps, PAYLOAD_BYTES), by_s + 60)
        code, documents = moved(ready, folder, by_s)
        sent = background.samples()
        background.stop()
    assert code == 0, documents[-3:]
    assert digest(lab, f"{folder}/into/run") == digest(lab, f"{folder}/run")
    done = documents[-1]
    assert (done["event"], done["late"], done["files"]) == ("done", False, FILES + 1)
    lost = sum(one.received_bps for one in sent) / len(sent)
    assert lost < full_bps, "the link was not full"
    # nict-af measures TCP's payload: 98.7 %. These are whole blocks of files, without the headers of TCP and TLS (3 %).
    assert base_share(documents) >= 0.9, shown(documents)
