"""An SLS that is kept, and one that is broken on purpose by delay, by its variation, by loss: each alone, and only in the
direction in which it was. A probe measures it in a real kernel; in virtual time, so that each run measures the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import slotcar_probe
from slotcar.base.settings import Settings
from slotcar.base.timebase import Window
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.auditing import Auditing
from slotcar.desk.desk import Desk
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.store import Ledger
from slotcar_client.wire import documents, verbs
from slotcar_lab.client import LabProcess
from slotcar_lab.control import Lab
from slotcar_probe import clock, datagrams, handing_in, packet, pairing, reflector, sender, streams
from tests.integration.conftest import database_url, ledger, migrated, server_url
from tests.lab.conftest import ROOT
from tests.support.patience import PATIENCE_S

__all__ = ["database_url", "ledger", "migrated", "server_url"]
pytestmark = [pytest.mark.lab, pytest.mark.slow]
PROGRAM = Path(slotcar_probe.__file__).with_name("__main__.py")
MODULES = (slotcar_probe, packet, clock, datagrams, pairing, streams, reflector, sender, handing_in)
PORT, SECONDS, INTERVAL_MS = 8_620, 20, 20
GARNET = ROOT / "inventories" / "garnet"
OPERATOR = Caller(name="ops", role=Role.OPERATOR)
#: What the router does to what it sends to `far`, and how delay, variation and loss come out there.
BROKEN = {
    "nothing": ("delay 8ms", ["kept", "kept", "kept"]),
    "delay": ("delay 30ms", ["broken", "kept", "kept"]),
    "variation": ("delay 10ms 8ms", ["kept", "broken", "kept"]),
    "loss": ("delay 8ms loss 5%", ["kept", "kept", "broken"]),
}


@pytest.fixture(scope="module")
def answering(virtual_lab: Lab) -> Iterator[Lab]:
    """Two hosts of one kernel have one clock: it is off by nothing."""
    words = ("reflect", "--port", str(PORT), "--clock-error-us", "1")
    with virtual_lab.start_python("far", PROGRAM, *words, modules=MODULES):
        yield virtual_lab
    virtual_lab.check("router", ["tc", "qdisc", "del", "dev", "eth2", "root"])


@pytest.mark.parametrize("by", BROKEN)
def test_an_sls_is_broken_by_what_was_done_to_it_alone(
    answering: Lab, ledger: Ledger, tmp_path: Path, by: str
) -> None:
    netem, expected = BROKEN[by]
    answering.check("router", ["tc", "qdisc", "replace", "dev", "eth2", "root", "netem", *netem.split()])
    began = datetime.fromtimestamp(int(answering.clock.now()), UTC)
    handed_in = measured(answering, tmp_path)
    over = datetime.fromtimestamp(answering.clock.now(), UTC)
    auditing = Auditing(Desk(ledger, promising(began), Settings(state_dir=tmp_path, inventory=GARNET)))
    for one in handed_in:
        auditing.record_stream(verbs.RecordStream(**one), OPERATOR, over)
    items = {}
    for name in ("forward", "reverse"):
        answer = auditing.audits(name, None, Window(began, over), "day", OPERATOR, over)
        (items[name],) = answer["items"][0]["items"]
    assert verdicts(items["forward"]) == expected, items["forward"]
    assert verdicts(items["reverse"]) == ["kept", "kept", "kept"], items["reverse"]
    assert [one.kind for one in ledger.events()] == ([] if by == "nothing" else ["sls.broken"])


def promising(began: datetime) -> Network:
    """Two SLSs with figures, which hold for as long as is measured."""
    network = load_network(GARNET, None)
    usual = network.sls["anl-esnet-ip-premium"]
    figures = {
        "delay_us": 20_000, "variation_us": 5_000, "loss_ppm": 10_000, "quantile_ppm": 990_000,
        "validity": Window(began, began + timedelta(seconds=SECONDS + 5)),
    }  # fmt: skip
    slses = {name: usual.model_copy(update={"name": name, **figures}) for name in ("forward", "reverse")}
    return network.model_copy(update={"sls": slses})


def measured(lab: Lab, folder: Path) -> list[dict[str, Any]]:
    """What the probe would hand in."""
    stream = {
        "sls": "forward", "reverse_sls": "reverse", "source": "near", "destination": "far",
        "address": lab.topology.address_of("far"), "port": PORT, "dscp": 46, "interval_ms": INTERVAL_MS,
    }  # fmt: skip
    configuration = folder / "sender.json"
    configuration.write_text(json.dumps({"clock_error_us": 1, "streams": [stream]}))
    words = ("send", lab.inside(configuration), "--print", "--seconds", str(SECONDS))
    with lab.start_python("near", PROGRAM, *words, modules=MODULES) as process:
        _let_run(lab, process)
        assert process.wait(PATIENCE_S) == 0, process.stderr
        return [json.loads(line) for line in process.stdout.splitlines()]


def _let_run(lab: Lab, process: LabProcess) -> None:
    """Time passes in the guest for as long as is waited for it."""
    until = lab.clock.now() + SECONDS + 30
    while process.poll() is None and lab.clock.now() < until:
        lab.clock.wait_until(lab.clock.now() + 1)


def verdicts(item: documents.AuditItem) -> list[str]:
    return [one["verdict"] for one in (item["delay"], item["variation"], item["loss"]) if one]
