"""The commands of docker-compose.yml, run outside a container, with their own environment."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from sqlalchemy.engine import make_url

from tests.support.controllers import SLOTCAR
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "docker-compose.yml"
PASSWORD = "of this test only"
#: Where an image's user keeps what `useradd` and `VOLUME` of the Dockerfile make.
IN_IMAGE = "/var/lib/slotcar"
#: A variable that nobody set, which Compose replaces by what is written behind `:-`.
_DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")


class Stack:
    """What Compose would make of the file: for each service an environment, volumes and secrets, and a command."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.services: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
        self.folder = folder
        (folder / "database_password").write_text(PASSWORD)
        url = make_url(database_url)
        #: A socket's path stands in for the host name that only Compose's network knows.
        self.database_url = f"postgresql://slotcar_service@/{url.database}?host={url.query['host']}"

    def environment(self, service: str, port: int) -> dict[str, str]:
        """The service's own, each address and path of the container replaced by one of this machine."""
        written = self.services[service]["environment"]
        given = {name: _DEFAULT.sub(r"\1", value) for name, value in written.items()}
        inventory = self.services["controller-a"]["volumes"][2]
        assert inventory.endswith(":/etc/slotcar/inventory:ro")
        given["SLOTCAR_DATABASE_URL"] = self.database_url
        given["SLOTCAR_DATABASE_PASSWORD_FILE"] = str(self.folder / Path(given["SLOTCAR_DATABASE_PASSWORD_FILE"]).name)
        given["SLOTCAR_TOKENS_FILE"] = given["SLOTCAR_TOKENS_FILE"].replace(IN_IMAGE, str(self.folder))
        given["SLOTCAR_INVENTORY"] = str(ROOT / re.split(r":-|\}", inventory)[1])
        given["SLOTCAR_LISTEN_PORT"] = str(port)
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "SLOTCAR_STATE_DIR": str(self.folder),
            # No router of the example inventory is here: what this test is about does not push.
            "SLOTCAR_RECONCILE": "false", **given,
        }  # fmt: skip

    def run(self, service: str, arguments: list[str] | None = None) -> subprocess.CompletedProcess[str]:
        command = arguments if arguments is not None else self.services[service]["command"]
        return subprocess.run(
            [str(SLOTCAR), *command], env=self.environment(service, 0),
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    @contextmanager
    def up(self, service: str, port: int) -> Iterator[None]:
        log = self.folder / f"{service}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(SLOTCAR), *self.services[service]["command"]], env=self.environment(service, port),
                stdout=output, stderr=output,
            )  # fmt: skip
        try:
            wait_for(lambda: self.healthy(service, port) or process.poll() is not None, f"{service} to be healthy")
            assert process.poll() is None, log.read_text()
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_S)

    def healthy(self, service: str, port: int) -> bool:
        """By the service's own health check."""
        kind, program, *arguments = self.services[service]["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        own = [argument.replace("8470", str(port)) for argument in arguments]
        return (
            subprocess.run([sys.executable, *own], capture_output=True, timeout=PATIENCE_S, check=False).returncode
            == 0
        )


@pytest.fixture
def stack(tmp_path: Path, empty_database_url: str) -> Iterator[Stack]:
    database = make_url(empty_database_url).database
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE slotcar_service LOGIN PASSWORD '{PASSWORD}'")
        connection.execute(f"ALTER DATABASE {database} OWNER TO slotcar_service")
    yield Stack(tmp_path, empty_database_url)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("REASSIGN OWNED BY slotcar_service TO CURRENT_USER; DROP OWNED BY slotcar_service")
        connection.execute("DROP ROLE slotcar_service")


def documented_token_command() -> list[str]:
    """From the comment at the top of docker-compose.yml: what comes after the service's name."""
    line = next(line for line in COMPOSE.read_text().splitlines() if "compose run" in line)
    return shlex.split(line.partition("controller-a")[2])


def get(port: int, path: str, token: str = "") -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.slow
def test_the_services_start_as_the_compose_file_says(stack: Stack) -> None:
    assert not stack.healthy("controller-a", free_port())
    early = stack.run("controller-a")
    assert early.returncode == 1
    assert "token" in early.stderr, "0.0.0.0 without tokens is refused"

    migrated = stack.run("migrate")
    assert migrated.returncode == 0, migrated.stderr
    assert stack.run("migrate").returncode == 0

    created = stack.run("controller-a", documented_token_command())
    assert created.returncode == 0, created.stderr
    token = created.stdout.strip()

    first, second = free_port(), free_port()
    with stack.up("controller-a", first), stack.up("controller-b", second):
        for port in (first, second):
            assert get(port, "/v1/reservations")[0] == 401
            status, body = get(port, "/v1/reservations", token)
            assert (status, json.loads(body)["items"]) == (200, [])
        check_dashboard(get(first, "/metrics", token)[1])


def check_dashboard(metrics: str) -> None:
    """Every figure that the dashboard draws is one that the controller tells, but those of the loop, which is off here."""
    exported = set(re.findall(r"^# TYPE (\S+)", metrics, re.MULTILINE)) | set(
        re.findall(r"^(\w+)", metrics, re.MULTILINE)
    )
    of_the_loop = set(re.findall(r'"(slotcar_\w+)"', (ROOT / "controller/slotcar/api/metrics.py").read_text()))
    dashboard = (ROOT / "deploy/grafana/dashboards/slotcar.json").read_text()
    drawn = set(re.findall(r"slotcar_\w+", " ".join(re.findall(r'"expr": "(.*)"', dashboard))))
    assert len(drawn) >= 6
    assert {name for name in drawn if name not in exported} <= of_the_loop | {f"{name}_total" for name in of_the_loop}
    assert {"slotcar_ledger_up", "slotcar_reservations", "slotcar_ledger_events_total"} <= drawn & exported | {
        "slotcar_reservations"  # no series before the first reservation
    }


def test_the_unit_file_starts_what_is_there() -> None:
    unit = (ROOT / "deploy/systemd/slotcar.service").read_text()
    commands = re.findall(r"^ExecStart(?:Pre)?=\S+/slotcar (.*)$", unit, re.MULTILINE)
    assert commands == ["db upgrade", "serve"]
    for command in commands:
        helped = subprocess.run(
            [str(SLOTCAR), *command.split(), "--help"], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert helped.returncode == 0, helped.stderr
