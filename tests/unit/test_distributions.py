"""The checkout holds four distributions: `slotcar`, its client, and the lab and the mover, which add commands."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from slotcar.cli import installed
from slotcar.cli.exit_codes import ExitCode
from slotcar_lab.cli import app as lab
from slotcar_transfer.cli import ExitCode as TransferExit
from tests.unit.test_layers import names_imported

ROOT = Path(__file__).resolve().parents[2]


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def packages() -> set[str]:
    """What can be imported of this checkout."""
    tops = (ROOT, *(ROOT / one for one in ("client", "controller", "lab", "mover")))
    return {file.parent.name for top in tops for file in top.glob("*/__init__.py")}


def requirements(name: str) -> set[str]:
    lines = (ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines()
    return {line.partition("#")[0].strip() for line in lines} - {""}


def added(monkeypatch: pytest.MonkeyPatch, *commands: EntryPoint) -> typer.Typer:
    """A program with one command of its own and those that are installed."""
    monkeypatch.setattr(installed, "entry_points", lambda group: commands if group == "slotcar.commands" else ())
    program = typer.Typer(cls=installed.WithInstalled)
    program.command("plan")(lambda: typer.echo("planned"))
    program.callback()(lambda: None)
    return program


def entry_point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, "slotcar.commands")


def test_the_lab_declares_its_command() -> None:
    assert project(ROOT / "lab")["project"]["entry-points"] == {"slotcar.commands": {"lab": "slotcar_lab.cli:app"}}


def test_the_lab_is_installed_beside_the_controller() -> None:
    """As `make setup` does it; an environment from before needs it once more."""
    assert [one.load() for one in entry_points(group="slotcar.commands", name="lab")] == [lab]


def test_the_mover_declares_its_commands_and_what_it_needs() -> None:
    """Of this checkout the client library alone: a host that moves data has no controller."""
    declared = project(ROOT / "mover")["project"]
    assert declared["entry-points"] == {
        "slotcar.commands": {"transfer": "slotcar_transfer.cli:app", "connections": "slotcar_transfer.connections:app"}
    }
    assert declared["scripts"] == {"slotcar-transfer": "slotcar_transfer.__main__:main"}
    assert set(declared["dependencies"]) == {"slotcar-client", "typer>=0.15", *requirements("transfer")}
    assert "typer>=0.15" in requirements("runtime")
    assert not requirements("transfer") & requirements("runtime")
    assert packages() >= {"slotcar", "slotcar_client", "slotcar_lab", "slotcar_transfer", "benchmarks", "tests"}
    for module in (ROOT / "mover").rglob("*.py"):
        roots = {name.partition(".")[0] for name in names_imported(module.read_text(encoding="utf-8"))}
        assert roots & packages() <= {"slotcar_client", "slotcar_transfer"}, module


def test_the_movers_commands_end_as_the_controllers_do() -> None:
    codes = {one.name: one.value for one in ExitCode}
    same = {"ERROR": "ERROR", "USAGE": "USAGE", "NOT_ADMITTED": "REFUSED", "LATE": "LATE", "IN_TIME": "OK"}
    same |= {"INTERRUPTED": "INTERRUPTED", "TERMINATED": "TERMINATED"}
    assert {one.name: one.value for one in TransferExit} == {name: codes[other] for name, other in same.items()}


def test_a_transfer_is_a_command_beside_the_controller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also without its verb, and it ends with its own code."""
    monkeypatch.setenv("SLOTCAR_TRANSFER_HOME", str(tmp_path))
    program = added(monkeypatch, entry_point("transfer", "slotcar_transfer.cli:app"))
    assert "serve" in CliRunner().invoke(program, ["transfer", "--help"]).stdout
    for words in (["transfer", "a", "b"], ["transfer", "copy", "a", "b"], ["transfer", "--service", "qbss", "a", "b"]):
        ended = CliRunner().invoke(program, words)
        assert ended.exit_code == 1
        assert "both are paths of this host" in ended.stderr


def test_an_installed_command_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    program = added(monkeypatch, entry_point("experiments", "slotcar_lab.cli:app"))
    assert "snapshot" in CliRunner().invoke(program, ["experiments", "--help"]).stdout


@pytest.mark.parametrize("value", ["slotcar_lab.not_there:app", "slotcar_lab.cli:not_there"])
def test_a_command_that_cannot_be_loaded_is_named_and_the_others_work(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    program = added(monkeypatch, entry_point("broken", value), entry_point("lab", "slotcar_lab.cli:app"))
    warning = "warning: the installed command `slotcar broken` cannot be loaded: "
    shown = CliRunner().invoke(program, ["--help"])
    assert shown.stderr.startswith(warning)
    assert "The lab: routers" in shown.stdout
    refused = CliRunner().invoke(program, ["broken"])
    assert refused.stderr.startswith(warning)
    assert refused.exit_code == 2
    assert CliRunner().invoke(program, ["plan"]).output == "planned\n"
    assert CliRunner().invoke(program, ["lab", "--help"]).exit_code == 0


def test_a_command_of_its_own_imports_no_installed_one() -> None:
    """The lab takes longer to import than all of the controller's commands."""
    program = "import sys; from slotcar.cli.app import app; app(['schema', '--help'], standalone_mode=False);"
    roots = "print(*sorted({one.partition('.')[0] for one in sys.modules}))"
    shown = subprocess.run(
        [sys.executable, "-c", f"{program} {roots}"], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert set(shown.stdout.splitlines()[-1].split()) & packages() == {"slotcar", "slotcar_client"}


def test_the_lab_needs_the_controller_and_what_its_requirements_say() -> None:
    assert set(project(ROOT / "lab")["project"]["dependencies"]) == {"slotcar", *requirements("lab")}
    assert not requirements("lab") & requirements("runtime")


def test_the_controller_needs_the_client_and_the_same_httpx() -> None:
    assert requirements("distributions") == {project(ROOT / "client")["project"]["name"]}
    assert set(project(ROOT / "client")["project"]["dependencies"]) <= requirements("runtime")


def test_every_file_of_the_lab_is_in_its_distribution() -> None:
    patterns = project(ROOT / "lab")["tool"]["setuptools"]["package-data"]
    packaged = {
        file
        for package, globs in patterns.items()
        for pattern in globs
        for file in (ROOT / "lab").joinpath(*package.split(".")).glob(pattern)
    }
    left_out = {"pyproject.toml", "build", "__pycache__", "slotcar_lab.egg-info"}
    files = {
        file
        for file in (ROOT / "lab").rglob("*")
        if file.is_file() and file.suffix != ".py" and not left_out & set(file.relative_to(ROOT / "lab").parts)
    }
    assert files - packaged == set()


def test_the_controllers_image_holds_neither_lab_nor_mover() -> None:
    assert project(ROOT)["tool"]["setuptools"]["packages"]["find"]["where"] == ["controller"]
    for file in ("Dockerfile", ".dockerignore"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert "lab" not in text
        assert "mover" not in text
