"""The image runs closed, with a PostgreSQL of its own: it plans, pushes to routers, and ends in order at SIGTERM."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab.ios import Routers, Slow
from tests.support import containers
from tests.support.cisco import CiscoWorld
from tests.support.containers import CLOSED, NAME, Container, output_of, podman
from tests.support.health import healthy
from tests.support.patience import wait_for
from tests.support.ports import free_port

FIRST, LAST = "anl-7507-1", "lbnl-7507"
RESERVATION = {
    "name": "now", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
    "service": "ip-premium", "rate": "10 Mbit/s", "direction": "both", "start": "now", "duration": "1 h",
}  # fmt: skip


@pytest.fixture(scope="module")
def run() -> tuple[str, ...]:
    """How podman runs the image here."""
    return containers.image()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CiscoWorld]:
    tmp_path.chmod(0o755)  # the image's user reads the inventory
    with Routers() as routers:
        yield CiscoWorld(routers, tmp_path, containers.ROOT / "inventories" / "garnet", answer_s=60)


@pytest.fixture
def volume() -> Iterator[str]:
    name = f"slotcar-test-{uuid.uuid4().hex[:8]}"
    output_of("volume", "create", name)
    yield name
    podman("volume", "rm", "--force", name)


@pytest.mark.slow  # in short: what the image is made of, in tests/unit/deploy
@pytest.mark.timeout(1800)
def test_the_image_pushes_from_a_read_only_root_without_privileges(
    run: tuple[str, ...], world: CiscoWorld, volume: str, tmp_path: Path
) -> None:
    port = free_port()
    (tmp_path / "now.json").write_text(json.dumps({"version": 1, "reservations": [RESERVATION]}))
    # This machine's network: the routers listen on its loopback.
    options = (
        "--network=host", f"--volume={volume}:/var/lib/slotcar", f"--volume={tmp_path}:{tmp_path}:ro",
        f"--env=SLOTCAR_INVENTORY={world.inventory}", f"--env=SLOTCAR_LISTEN_PORT={port}", "--env=SLOTCAR_ADOPT_ALL=true",
    )  # fmt: skip
    assert output_of(*run, "--rm", *CLOSED, *options, NAME, "token", "create", "ops", "--role", "operator")
    with containers.started(run, f"{volume}-serves", *options, NAME) as controller:
        wait_for(lambda: healthy(port), "the image to answer")
        has_no_privileges(controller)
        assert "1 to create" in controller.output_of("slotcar", "plan", str(tmp_path / "now.json"))
        wait_for(lambda: has_baseline(world), "the routers to have what they have without a reservation")
        unreserved = world.running()

        world.routers[LAST].fault(Slow(line_ms=150))
        before = len(world.routers[LAST].history)
        controller.output_of("slotcar", "apply", str(tmp_path / "now.json"), "--yes")
        wait_for(lambda: len(world.routers[LAST].history) > before, "the push to begin")
        assert controller.stop(120) == 0, controller.log()
        assert '"stopped"' in controller.log()
        reserved = world.running()
        assert [name for name in reserved if reserved[name] != unreserved[name]] == [FIRST, LAST]
    # Another container on the same volume: the ledger and the archive outlive the first.
    assert "hep/now" in output_of(*run, "--rm", *CLOSED, *options, NAME, "status")
    output_of(*run, "--rm", *CLOSED, *options, NAME, "rollback", "--yes")
    assert world.running() == unreserved


def has_baseline(world: CiscoWorld) -> bool:
    """Whether every router has what is wanted of it with no reservation, and nobody is at work on one."""
    return all("fair-queue tos" in text for text in world.running().values())


def has_no_privileges(controller: Container) -> None:
    """As the kernel has it of the container's first process, which is the controller."""
    status = dict(
        line.split(":\t", 1) for line in controller.output_of("cat", "/proc/1/status").splitlines() if ":\t" in line
    )
    assert set(status["Uid"].split()) == {"10001"}
    assert set(status["Gid"].split()) == {"10001"}
    assert [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")] == [0, 0, 0]
    assert status["NoNewPrivs"] == "1"
    refused = podman("exec", controller.name, "touch", "/opt/slotcar/venv/written")
    assert "Read-only file system" in refused.stderr
    assert controller.output_of("stat", "--format=%a %U", "/var/lib/slotcar").endswith(" slotcar")
    assert controller.output_of("cat", "/var/lib/slotcar/postgres/PG_VERSION")
