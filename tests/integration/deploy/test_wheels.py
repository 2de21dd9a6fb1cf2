"""The wheels hold all that an installed Slotcar needs, and it works in an empty folder on every supported Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from slotcar_lab.ios import Routers
from tests.support import wheels as building
from tests.support.cisco import CiscoWorld
from tests.support.health import healthy
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[3]
PYTHONS = dict(building.pythons())
RESERVATION = {
    "name": "tonight", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
    "service": "ip-premium", "rate": "10 Mbit/s", "start": "now + 1 h", "duration": "1 h",
}  # fmt: skip
#: The router of GARNET at which that reservation comes in.
EDGE = "anl-7507-1"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return building.build(tmp_path_factory.mktemp("wheels"))


def names_in(wheels: list[Path], distribution: str) -> set[str]:
    (wheel,) = [one for one in wheels if one.name.startswith(f"{distribution}-")]
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_each_wheel_has_one_package_of_its_own_name(wheels: list[Path]) -> None:
    for distribution in ("slotcar", "slotcar_client", "slotcar_transfer", "slotcar_lab"):
        assert {name.split("/")[0] for name in names_in(wheels, distribution)} == {distribution}


def test_the_controllers_wheel_holds_what_ansible_and_the_renderers_read(wheels: list[Path]) -> None:
    held = names_in(wheels, "slotcar")
    for folder in ("playbooks", "roles", "plugins", "templates", "schemas", "inventories", "deploy/systemd"):
        for file in (ROOT / folder).rglob("*"):
            parts = file.relative_to(ROOT).parts
            if file.is_file() and not {"molecule", "__pycache__"} & set(parts):
                assert "/".join(("slotcar", "share", *parts)) in held, file
    assert "slotcar/share/ansible.cfg" in held
    assert not [name for name in held if "molecule" in name or name.endswith(".pyc")]


def test_every_module_and_file_of_the_packages_is_in_a_wheel(wheels: list[Path]) -> None:
    packages = {"controller": "slotcar", "client": "slotcar_client", "mover": "slotcar_transfer", "lab": "slotcar_lab"}
    for folder, package in packages.items():
        held = names_in(wheels, package)
        for file in (ROOT / folder / package).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc":
                assert file.relative_to(ROOT / folder).as_posix() in held, file


@dataclass
class Installed:
    """`slotcar` of the wheels, in a folder that knows no checkout."""

    programs: Path
    folder: Path

    @property
    def packages(self) -> Path:
        (folder,) = self.programs.parent.glob("lib/python*/site-packages")
        return folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.programs / "slotcar"), *arguments],
            cwd=self.folder, env=building.bare_environment(self.folder), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def __call__(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def in_an_emergency(self, inventory: Path, arguments: str) -> None:
        """What docs/howto/emergency-rollback.md tells somebody who has nothing but what pip installed."""
        page = (ROOT / "docs" / "howto" / "emergency-rollback.md").read_text()
        (line,) = re.findall(r"^(cd /opt/slotcar/venv.*?)\s+# with pip$", page, re.MULTILINE)
        (play,) = re.findall(r"^(ansible-playbook .* --limit domains) --check --diff$", page, re.MULTILINE)
        go = line.replace("/opt/slotcar/venv", str(self.programs.parent))
        script = f"set -e\n{go}\n{play.removesuffix('--limit domains')} {arguments}"
        of_network = {"SLOTCAR_INVENTORY": str(inventory), "SLOTCAR_STATE_DIR": str(self.folder / "var")}
        done = subprocess.run(
            ["bash", "-c", script], env=building.bare_environment(self.folder) | of_network,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    def refuses(self, *arguments: str, code: int = 1) -> str:
        """What is said of a mistake; nothing goes to standard output."""
        done = self.run(*arguments)
        assert (done.returncode, done.stdout) == (code, ""), done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr


@pytest.fixture(scope="module", params=building.SUPPORTED)
def programs(request: pytest.FixtureRequest, wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of the wheels, installed once for each Python."""
    if request.param not in PYTHONS:
        pytest.skip(f"this machine has no Python {request.param}")
    return building.install(PYTHONS[request.param], tmp_path_factory.mktemp("installed") / "venv", wheels)


@pytest.fixture
def installed(programs: Path, tmp_path: Path) -> Installed:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "tonight.json").write_text(json.dumps({"version": 1, "reservations": [RESERVATION]}))
    now = RESERVATION | {"start": "now"}
    (folder / "now.json").write_text(json.dumps({"version": 1, "reservations": [now]}))
    return Installed(programs, folder)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_installed_slotcar_plans_and_serves_from_an_empty_folder(installed: Installed) -> None:
    share = installed.packages / "slotcar" / "share"
    for inventory in ("lab", "garnet"):
        where = str(share / "inventories" / inventory)
        shown = installed("plan", "tonight.json", "--offline", "--inventory", where, "--format", "json")
        planned: dict[str, Any] = json.loads(shown)
        assert [step["action"] for step in planned["steps"]] == ["create"]
    where = str(share / "inventories" / "lab")
    installed("apply", "tonight.json", "--inventory", where, "--yes")
    assert "hep/tonight" in installed("status", "--inventory", where)
    installed.refuses("rollback", "--device", "anl-edge", "--inventory", where, "--yes")
    serves(installed, where)


def serves(installed: Installed, inventory: str) -> None:
    """Answers for its health, and ends with 0 at SIGTERM."""
    port = free_port()
    environment = building.bare_environment(installed.folder) | {"SLOTCAR_OPEN": "true", "SLOTCAR_RECONCILE": "false"}
    with (installed.folder / "serve.log").open("wb") as log:
        server = subprocess.Popen(
            [str(installed.programs / "slotcar"), "serve", "--inventory", inventory, "--port", str(port)],
            cwd=installed.folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        wait_for(lambda: server.poll() is not None or healthy(port), "the controller to answer")
    finally:
        server.terminate()
        ended = server.wait(PATIENCE_S)
    assert ended == 0, (installed.folder / "serve.log").read_text()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_installed_slotcar_pushes_and_takes_back_also_without_its_database(
    installed: Installed, tmp_path: Path
) -> None:
    """To emulated routers over SSH. Linux routers are pushed to from a wheel in tests/lab/test_tutorial.py."""
    with Routers() as routers:
        world = CiscoWorld(routers, tmp_path, building.ROOT / "inventories" / "garnet")
        of_network = ("--inventory", str(world.inventory))
        untouched = world.running()
        collections = installed.packages / "ansible_collections"
        if not collections.exists():
            missing = installed.run("check", "--devices", *of_network)
            assert missing.returncode == 1
            assert "it comes with the collection ansible.netcommon: pip install 'ansible<13'" in missing.stdout
            # What that command brings, of the release that is pinned, without its other 540 MB.
            collections.symlink_to(Path(sysconfig.get_path("purelib")) / "ansible_collections")

        installed("push", *of_network, "--yes")
        unreserved = world.running()
        assert all(unreserved[name] != untouched[name] for name in untouched)
        installed("apply", "now.json", *of_network, "--yes")
        installed("push", "--device", EDGE, *of_network, "--yes")
        reserved = world.running()
        assert [name for name in reserved if reserved[name] != unreserved[name]] == [EDGE]

        lose_the_database(installed)
        assert "PostgreSQL" in installed.refuses("push", *of_network, "--yes")
        mistakes(installed, of_network)
        assert world.running() == reserved
        for to, expected in (("before", unreserved), ("good", reserved)):
            installed.in_an_emergency(world.inventory, f"--limit {EDGE} -e slotcar_emergency_to={to}")
            assert world.running() == expected
        assert f"Rolled back and verified: {EDGE}." in installed("rollback", *of_network, "--yes")
        assert world.running() == unreserved
        first = installed("rollback", "--list", *of_network, "--format", "json")
        installed("rollback", json.loads(first)[0]["revision"], *of_network, "--yes")
        assert world.running() == untouched


def lose_the_database(installed: Installed) -> None:
    """Nothing can be read of it, and no other one can be made in its place."""
    database = installed.folder / "var" / "postgres"
    shutil.rmtree(database)
    database.write_text("lost")


def mistakes(installed: Installed, of_network: tuple[str, ...]) -> None:
    """Of somebody at night: each is refused in a sentence that says what would be right."""
    refusal = installed.refuses("rollback", "--yes")
    assert "no inventory: say --inventory FOLDER or set SLOTCAR_INVENTORY" in refusal
    assert "no managed device anl-7507" in installed.refuses("rollback", "--device", "anl-7507", *of_network, "--yes")
    assert EDGE in installed.refuses("rollback", "--device", "esnet-7507", *of_network, "--yes")
    assert "the latest is" in installed.refuses("rollback", "20010101T000000Z", *of_network, "--yes")
    assert "nothing was done" in installed.refuses("rollback", *of_network, code=2)
