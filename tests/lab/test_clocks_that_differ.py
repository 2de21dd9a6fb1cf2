"""Two machines whose clocks differ by more than a packet takes: what their probes measured of delay is unknown both ways.

The reflector runs here and the sender in a guest with a kernel of its own, whose clock is set to another time; both say
that their clocks are kept right.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from slotcar.measuring.audits.judging import AuditVerdict, Judgement, judge
from slotcar.measuring.audits.reading import stream_of
from slotcar.measuring.audits.streams import windows_of
from slotcar.network.model import Network
from slotcar_client.wire import verbs
from slotcar_lab.control import Lab
from tests.lab.conftest import ROOT
from tests.lab.systemd_guest import sh, systemd_guest
from tests.support.networks import line_network
from tests.support.ports import free_port

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIBRARY = ROOT / "roles" / "slotcar_probe" / "files"
INVENTORY = ROOT / "roles" / "slotcar_probe" / "molecule" / "default" / "inventory"
#: The machine that a guest's emulated network leads to (QEMU's user networking).
HERE = "10.0.2.2"
ERROR_US, SECONDS = 100, 3


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with systemd_guest(tmp_path_factory.mktemp("guest"), INVENTORY) as running:
        yield running


@pytest.fixture
def port() -> Iterator[int]:
    """Where a reflector answers on this machine."""
    chosen = free_port()
    words = ["reflect", "--address", "127.0.0.1", "--port", str(chosen), "--clock-error-us", str(ERROR_US)]
    process = subprocess.Popen([sys.executable, "-m", "slotcar_probe", *words], env={"PYTHONPATH": str(LIBRARY)})
    yield chosen
    process.terminate()
    process.wait()


def network() -> Network:
    whole = line_network(2)
    name = min(whole.sls)
    figures = {"delay_us": 500_000, "variation_us": 60_000_000, "loss_ppm": 1_000_000}
    return whole.model_copy(update={"sls": {**whole.sls, name: whole.sls[name].model_copy(update=figures)}})


def judgements(guest: Lab, port: int, ahead_s: float) -> dict[str, Judgement]:
    """By the sending end, as an audit of that minute alone finds it."""
    sls = min(network().sls)
    stream = {
        "sls": sls, "reverse_sls": sls, "source": "guest", "destination": "here", "address": HERE, "port": port,
        "dscp": 0, "interval_ms": 50,
    }  # fmt: skip
    configuration = json.dumps({"clock_error_us": ERROR_US, "streams": [stream]})
    sh(guest, f"cat > /run/probe.json <<'END'\n{configuration}\nEND")
    sh(guest, f"date --set=@{time.time() + ahead_s:.3f}")
    program = f"PYTHONPATH={LIBRARY} python3 -m slotcar_probe send /run/probe.json --print --seconds {SECONDS}"
    printed = sh(guest, program)
    documents: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert {one["source"] for one in documents} == {"guest", "here"}, printed
    return {one["source"]: _judged(one) for one in documents}


def _judged(document: dict[str, Any]) -> Judgement:
    whole = network()
    now = datetime.fromisoformat(document["start"]) + timedelta(minutes=1)
    stream = stream_of(verbs.RecordStream(**document), whole, now)
    sls = whole.sls[stream.way.sls]
    return judge(sls, windows_of(stream, sls)[0], SECONDS * 1_000_000)


@pytest.mark.parametrize("ahead_s", [2, -2])
def test_a_delay_is_unknown_both_ways_where_two_clocks_differ_by_more(guest: Lab, port: int, ahead_s: int) -> None:
    """The way in which it takes too long would be broken, and the other one kept."""
    by_sender = judgements(guest, port, ahead_s)
    for judged in by_sender.values():
        assert judged.delay is not None
        assert (judged.delay.verdict, judged.delay.reason) == (
            AuditVerdict.UNKNOWN,
            "no clocks that are kept right measured it",
        )
        assert judged.loss is not None
        assert judged.loss.verdict is AuditVerdict.KEPT
        assert judged.verdict is AuditVerdict.UNKNOWN
