"""docker-compose.yml against the compose specification's schema, and what the schema cannot say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "docker-compose.yml"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def validate(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_follows_the_compose_specification() -> None:
    outcome = validate(COMPOSE)
    assert outcome.returncode == 0, outcome.stdout


def test_the_schema_check_can_fail(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yml"
    broken.write_text("services:\n  postgres:\n    imagee: postgres\n")
    assert validate(broken).returncode != 0


def test_images_are_pinned_by_version(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        tag = service["image"].rpartition(":")[2]
        assert re.match(r"v?\d+\.\d+", tag), f"{name} runs {service['image']}"


def test_every_file_that_is_mounted_is_there(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).exists(), source


def test_there_is_no_password_in_it_and_each_secret_is_a_file(compose: dict[str, Any]) -> None:
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())
    for service in compose["services"].values():
        for key, value in service.get("environment", {}).items():
            if "PASSWORD" in key:
                assert value.startswith("/run/secrets/"), key
    assert not re.search(r"postgresql://[^@\s]*:[^@\s]*@", COMPOSE.read_text())


def test_everything_is_published_on_loopback_only(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_services_do_not_run_as_root_where_we_choose(compose: dict[str, Any]) -> None:
    for name in ("controller-a", "controller-b", "migrate", "prometheus", "grafana"):
        user = compose["services"][name]["user"].partition(":")[0]
        assert int(user) > 0


def test_secrets_are_random_and_made_once(tmp_path: Path) -> None:
    deploy = tmp_path / "deploy"
    (deploy / "secrets").mkdir(parents=True)
    script = deploy / "make-secrets.sh"
    script.write_text((ROOT / "deploy" / "make-secrets.sh").read_text())
    subprocess.run(["bash", str(script)], check=True)
    first = {path.name: path.read_text() for path in (deploy / "secrets").iterdir()}
    subprocess.run(["bash", str(script)], check=True)
    assert first == {path.name: path.read_text() for path in (deploy / "secrets").iterdir()}
    assert len(set(first.values())) == 2
    assert all(len(value) >= 40 for value in first.values())


def test_a_proxy_on_this_machine_is_trusted_and_nobody_else(compose: dict[str, Any]) -> None:
    """It comes by the published port, from the gateway of the network."""
    (network,) = compose["networks"]["default"]["ipam"]["config"]
    gateway = re.search(r":-([0-9.]+)}", network["gateway"])
    trusted = re.search(r":-(.+)}", compose["services"]["controller-a"]["environment"]["SLOTCAR_TRUSTED_PROXIES"])
    assert gateway is not None
    assert trusted is not None
    assert trusted[1] == gateway[1]
