"""Three controllers, each with the routers of its own domain, carry a premium flow that they agreed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar_lab.domains import main
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base

#: A guest, three databases, and three slots on four routers take minutes. In short: tests/integration/domains.
pytestmark = [pytest.mark.lab, pytest.mark.slow]


def test_a_chain_and_an_agent_keep_the_flow_that_is_lost_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path))
    monkeypatch.setenv(PORT_BASE_VARIABLE, str(free_base()))
    failed = main(["--traffic"])
    out = capsys.readouterr().out
    assert not failed, out
    assert [line.split()[0] for line in out.splitlines() if "packets came" in line] == ["yes"] * 3
    assert "yes  anl-esnet-ip-premium is agreed on, and policed at esnet-hub:eth1" in out
