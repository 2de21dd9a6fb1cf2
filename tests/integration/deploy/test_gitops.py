"""examples/gitops: each script as its workflow calls it, against a controller of its own process.

The forge's API is played by `tests/support/forge.py`; the workflow files themselves run at GitHub and GitLab alone, so what
is checked of them is that they call what there is.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.auth.tokens import create_token
from slotcar.book.rules.roles import Role
from slotcar.store import open_ledger
from slotcar_lab.ios import Routers
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.controllers import Controller
from tests.support.forge import Forge, GitHub, GitLab
from tests.support.patience import PATIENCE_S

GITOPS = ROOT / "examples" / "gitops"
MARKER = "<!-- slotcar-plan reservations -->"
START = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
FORGES: dict[str, type[Forge]] = {"github": GitHub, "gitlab": GitLab}


class Repository:
    """A clone in which a job runs: `ci/` and `reservations/`."""

    def __init__(self, folder: Path, controller: Controller, forge: Forge) -> None:
        self.folder, self.controller, self.forge = folder, controller, forge
        (folder / "reservations").mkdir(parents=True)
        (folder / "ci").symlink_to(GITOPS)

    def write(self, name: str, text: str) -> None:
        (self.folder / "reservations" / name).write_text(text)

    def reserve(self, **reservations: str) -> None:
        """A file with a reservation of each name, of that rate."""
        listed = [document(name, rate) for name, rate in reservations.items()]
        self.write("tonight.yml", json.dumps({"version": 1, "reservations": listed}))

    def run(self, script: str, *arguments: str, token: str = "", code: int = 0, owners: str = "") -> str:
        """Its output; it must end with `code`, and tell nobody its tokens."""
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(self.folder),
            "SLOTCAR_API": f"http://127.0.0.1:{self.controller.port}", "SLOTCAR_TOKEN": token,
            "SLOTCAR_SET": "reservations", "SLOTCAR_OWNERS": owners, **self.forge.environment,
        }  # fmt: skip
        if "PYTHONPATH" in os.environ:
            environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        done = subprocess.run(
            [f"ci/{script}", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True,
            timeout=PATIENCE_S,
        )  # fmt: skip
        shown = done.stdout + done.stderr
        assert done.returncode == code, f"{script} ended with {done.returncode}\n{shown}"
        assert self.forge.token not in shown
        assert not token or token not in shown
        return shown


def document(name: str, rate: str, owner: str = "hep") -> dict[str, Any]:
    return {
        "name": name, "owner": owner, "source": "anl-premium", "destination": f"lbnl-premium:{6000 + len(name)}",
        "protocol": "udp", "service": "ip-premium", "rate": rate, "start": START.isoformat(), "duration": "2 h",
    }  # fmt: skip


@pytest.fixture(params=FORGES)
def forge(request: pytest.FixtureRequest) -> Iterator[Forge]:
    with FORGES[request.param]() as running:
        yield running


def folder_of(forge: Forge) -> str:
    return "github" if isinstance(forge, GitHub) else "gitlab"


def token_of(controller: Controller, name: str, role: Role, owner: str = "noc") -> str:
    file = Path(controller.environment["SLOTCAR_STATE_DIR"]) / "tokens.json"
    return create_token(file, name, role, owner, datetime.now(UTC))


@pytest.fixture
def ledger_url(database_url: str, tmp_path: Path) -> str:
    with open_ledger(database_url, tmp_path, migrate=True):
        return database_url


@pytest.fixture
def repository(ledger_url: str, tmp_path: Path, forge: Forge) -> Iterator[Repository]:
    """Over a controller that only answers: its routers are nowhere."""
    settings: dict[str, Any] = {
        "SLOTCAR_DATABASE_URL": ledger_url,
        "SLOTCAR_OPEN": "false",
        "SLOTCAR_RECONCILE": "false",
    }
    with Controller(tmp_path, ROOT / "inventories" / "garnet", **settings) as controller:
        yield Repository(tmp_path / "clone", controller, forge)


@pytest.mark.slow
def test_a_merge_request_has_one_comment_and_its_plan_is_applied(repository: Repository) -> None:
    forge, comment = repository.forge, f"{folder_of(repository.forge)}/comment.sh"
    planner = token_of(repository.controller, "ci-plan", Role.AUDITOR)
    for number in range(120):
        forge.stranger_comments(f"{MARKER} I was here first" if number == 60 else f"number {number}")
    repository.reserve(cms="20 Mbit/s")
    assert "1 reservation, without a mistake" in repository.run("check.sh", "reservations")
    repository.run("plan.sh", "reservations", token=planner)
    repository.run(comment, "plan.md")
    assert len(forge.comments) == 121
    assert forge.comments[-1]["body"].startswith(f"{MARKER}\n\n### Slotcar: 1 to create")
    assert "<details><summary><code>anl-7507-1</code>" in forge.comments[-1]["body"]

    repository.reserve(cms="20 Mbit/s", greedy="90 Mbit/s")
    repository.run("plan.sh", "reservations", token=planner, code=3)
    repository.run(comment, "plan.md")
    assert "! hep/greedy: refused" in forge.comments[-1]["body"]

    repository.write("tonight.yml", "version: 1\nreservations:\n  - name: [oh```\n")
    assert "reservations/tonight.yml:" in repository.run("check.sh", "reservations", code=1)
    repository.run("plan.sh", "reservations", token=planner, code=1)
    repository.run(comment, "plan.md")
    assert "### Slotcar: no plan" in forge.comments[-1]["body"]
    assert "reservations/tonight.yml:" in forge.comments[-1]["body"]

    assert len(forge.comments) == 121, "it was edited"
    assert all("Slotcar" not in one["body"] for one in forge.comments[:-1]), "and no stranger's was"

    repository.reserve(cms="20 Mbit/s")
    repository.run("plan.sh", "reservations", token=planner)
    theirs = repository.folder / "theirs.json"
    theirs.write_text(json.dumps({"version": 1, "reservations": [document("theirs", "1 Mbit/s", "astro")]}))
    repository.controller.slotcar("apply", str(theirs), "--yes")
    assert "only reads" in repository.run("apply.sh", "plan.json", token=planner, code=1)
    applier = token_of(repository.controller, "ci-apply", Role.REQUESTER, "hep")
    assert "Applied: 1 created, 0 changed, 0 cancelled." in repository.run("apply.sh", "plan.json", token=applier)
    assert "the plan is stale: hep/cms is there by now" in repository.run(
        "apply.sh", "plan.json", token=applier, code=1
    )

    repository.reserve()
    operator = token_of(repository.controller, "ci-operator", Role.OPERATOR)
    repository.run("plan.sh", "reservations", token=planner, owners="hep astro")
    repository.run(comment, "plan.md")
    assert "- hep/cms" in forge.comments[-1]["body"]
    assert "Applied: 0 created, 0 changed, 1 cancelled." in repository.run("apply.sh", "plan.json", token=operator)


@pytest.mark.in_short("github")
def test_a_forge_that_refuses_ends_the_job(repository: Repository) -> None:
    repository.reserve(cms="20 Mbit/s")
    repository.run("plan.sh", "reservations", token=token_of(repository.controller, "ci-plan", Role.AUDITOR))
    forge = repository.forge
    environment = forge.environment
    forge.token = "another"
    done = subprocess.run(
        [f"ci/{folder_of(forge)}/comment.sh", "plan.md"], cwd=repository.folder, env=os.environ | environment,
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode != 0
    assert "401" in done.stderr
    assert forge.comments == []


@pytest.fixture
def drifting(ledger_url: str, tmp_path: Path) -> Iterator[tuple[Repository, CiscoWorld]]:
    """Over routers in software that have what is wanted, and a controller that does not repair them."""
    with Routers() as routers, GitHub() as forge:
        world = CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet")
        world.push()
        settings: dict[str, Any] = {
            "SLOTCAR_DATABASE_URL": ledger_url, "SLOTCAR_OPEN": "false", "SLOTCAR_RECONCILE": "false",
        }  # fmt: skip
        state = tmp_path / "controller"
        state.mkdir()
        with Controller(state, world.inventory, **settings) as controller:
            yield Repository(tmp_path / "clone", controller, forge), world


@pytest.mark.slow
def test_drift_is_one_issue_that_opens_closes_and_opens_again(drifting: tuple[Repository, CiscoWorld]) -> None:
    repository, world = drifting
    auditor = token_of(repository.controller, "ci-drift", Role.AUDITOR)
    name, github = "anl-7507-1", repository.forge

    def look(drifted: bool) -> None:
        repository.run("drift.sh", token=auditor, code=7 if drifted else 0)
        for repository.forge in (github, gitlab):
            repository.run(f"{folder_of(repository.forge)}/issue.sh", "drift.md")

    def states() -> list[list[str]]:
        return [[one["state"].removesuffix("ed") for one in forge.issues] for forge in (github, gitlab)]

    with GitLab() as gitlab:
        look(drifted=False)
        assert states() == [[], []]
        assert world.routers[name].configure("no access-list rate-limit 67 7\n") == []
        look(drifted=True)
        assert states() == [["open"], ["open"]]
        for forge, key in ((github, "body"), (gitlab, "description")):
            assert forge.issues[0][key].startswith("<!-- slotcar-drift -->")
            assert f"`` {name} ``: 1 lines missing or changed" in forge.issues[0][key]
        world.push()
        look(drifted=False)
        assert states() == [["clos"], ["clos"]]
        look(drifted=False)
        assert states() == [["clos"], ["clos"]]
        assert world.routers[name].configure("no access-list rate-limit 67 7\n") == []
        look(drifted=True)
        assert states() == [["open"], ["open"]], "the same one"
        look(drifted=True)
        assert states() == [["open"], ["open"]]


def test_workflows_call_what_there_is() -> None:
    files = [
        *GITOPS.glob("github/workflows/*.yml"),
        GITOPS / "gitlab" / "gitlab-ci.yml",
        GITOPS / "pre-commit-config.yaml",
    ]
    called = {name for file in files for name in re.findall(r"ci/([\w./-]+\.sh)", file.read_text())}
    assert called == {
        str(file.relative_to(GITOPS)) for file in GITOPS.rglob("*.sh") if file.name != "api.sh"
    }  # fmt: skip
    assert all(os.access(GITOPS / name, os.X_OK) for name in called)
    assert all(yaml.safe_load(file.read_text()) for file in files)


def test_no_token_stands_in_a_file() -> None:
    """Secrets are named where the forge puts them in, and nowhere else; none is an argument of a program."""
    for file in [one for one in GITOPS.rglob("*") if one.is_file()]:
        text = file.read_text()
        assert not re.search(r"(?i)(ghp_|glpat-|slotcar_[a-z0-9]{20})", text), file
        if file.suffix == ".sh":
            for line in text.splitlines():
                assert not re.search(r"(curl|slotcar) .*\$\{?\w*TOKEN", line), f"{file}: {line}"
