"""A router that Slotcar has never managed gets nothing before an operator says so (ADR 27)."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.base.settings import Settings
from slotcar.rollout.adoption import managed_devices
from slotcar.rollout.archive import Archive
from slotcar.store import Ledger
from slotcar_lab.ios import Routers
from tests.integration.rollout.test_machine_faults import events, leading, settled
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.command_line import in_this_process
from tests.support.patience import wait_for

ONE = "anl-7507-1"


@pytest.mark.slow
def test_nothing_is_pushed_to_a_router_before_it_is_adopted(
    ledger: Ledger,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Routers() as routers:
        world = CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet")
        world.settings = world.settings.model_copy(update={"adopt_all": Settings().adopt_all})
        operators = world.running()
        for variable, value in (
            ("STATE_DIR", world.settings.state_dir),
            ("INVENTORY", world.inventory),
            ("DATABASE_URL", database_url),
        ):
            monkeypatch.setenv(f"SLOTCAR_{variable}", str(value))
        operator = in_this_process(monkeypatch, capfd)
        with leading(world, ledger) as (loop, _):
            wait_for(lambda: loop.status.troubles.keys() == world.network.devices.keys(), "all routers to wait")
            assert "never managed" in loop.status.troubles[ONE]
            assert "slotcar adopt" in loop.status.troubles[ONE]
            assert not loop.status.settled
            done = operator("adopt", ONE)
            assert done.code == 2, "nobody can be asked"
            assert f"Let Slotcar manage {ONE}?" in done.err
            assert "policy-map" in done.out + done.err or "rate-limit" in done.out + done.err, "the diff was shown"
            assert events(ledger, "device.adopted") == []

            assert operator("adopt", ONE, "--yes").code == 0
            wait_for(lambda: ONE not in loop.status.troubles, "it to be pushed to")
            assert {name for name, text in world.running().items() if text != operators[name]} == {ONE}
            assert "Slotcar manages all of these already." in operator("adopt", ONE, "--yes").out

            others = ", ".join(sorted(world.network.devices.keys() - {ONE}))
            unasked = operator("adopt", "--yes")
            assert unasked.code == 2
            assert f"{others}; nothing was done. Say --all --yes" in " ".join(unasked.err.split())
            assert operator("adopt", ONE, "--all").code == 2
            assert len(events(ledger, "device.adopted")) == 1
            assert f"Adopted: {others}." in operator("adopt", "--all", "--yes").out
            wait_for(settled(loop), "the routers to have what is wanted")

            whole = world.running()[ONE]
            assert world.routers[ONE].configure("no access-list rate-limit 61 1") == []
            done = operator("drift", "--repair", "--yes")
            assert (done.code, f"Pushed and verified, by the controller that leads: {ONE}." in done.out) == (0, True)
            assert world.running()[ONE] == whole
            assert [event.device for event in ledger.events(limit=1000) if event.kind == "device.drifted"] == [ONE]
            assert "Nothing to push." in operator("push", "--yes").out
        assert {event.device for event in ledger.events(limit=1000) if event.kind == "device.unadopted"} == {
            *world.network.devices
        }
        assert managed_devices(ledger, Archive(tmp_path / "elsewhere")) == {*world.network.devices}
        with leading(world, ledger) as (loop, _):
            wait_for(settled(loop), "the next leader asks nobody")
