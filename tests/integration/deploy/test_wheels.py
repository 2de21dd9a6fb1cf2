"""The wheels hold all that an installed Slotcar needs, and it works in an empty folder on every supported Python."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support import wheels as building

ROOT = Path(__file__).resolve().parents[3]
PYTHONS = dict(building.pythons())
RESERVATION = {
    "name": "tonight", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
    "service": "ip-premium", "rate": "10 Mbit/s", "start": "now + 1 h", "duration": "1 h",
}  # fmt: skip


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
    for folder in ("playbooks", "roles", "plugins", "templates", "schemas", "inventories"):
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


def slotcar(programs: Path, folder: Path, *arguments: str, code: int = 0) -> str:
    environment = building.bare_environment(folder)
    done = subprocess.run(
        [str(programs / "slotcar"), *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", building.SUPPORTED)
def test_an_installed_slotcar_plans_and_serves_from_an_empty_folder(
    version: str, wheels: list[Path], tmp_path: Path
) -> None:
    """Pushing to routers and taking it back from an installed wheel: tests/lab/test_tutorial.py."""
    if version not in PYTHONS:
        pytest.skip(f"this machine has no Python {version}")
    programs = building.install(PYTHONS[version], tmp_path / "venv", wheels)
    folder = tmp_path / "empty"
    folder.mkdir()
    share = Path(
        subprocess.run(
            [str(programs / "python"), "-c", "from slotcar.shipped import shipped; print(shipped())"],
            cwd=folder, env=building.bare_environment(folder), capture_output=True, text=True, check=True,
        ).stdout.strip()
    )  # fmt: skip
    assert share.is_relative_to(tmp_path / "venv")
    (folder / "tonight.json").write_text(json.dumps({"version": 1, "reservations": [RESERVATION]}))
    for inventory in ("lab", "garnet"):
        where = str(share / "inventories" / inventory)
        shown = slotcar(
            programs, folder, "plan", "tonight.json", "--offline", "--inventory", where, "--format", "json"
        )
        planned: dict[str, Any] = json.loads(shown)
        assert [step["action"] for step in planned["steps"]] == ["create"]
    where = str(share / "inventories" / "lab")
    slotcar(programs, folder, "apply", "tonight.json", "--inventory", where, "--yes")
    assert "hep/tonight" in slotcar(programs, folder, "status", "--inventory", where)
    rolled = slotcar(programs, folder, "rollback", "--device", "anl-edge", "--inventory", where, "--yes", code=1)
    assert rolled == "", "the routers of the lab are not up"
