"""The repository's root builds as an Ansible collection, which an operator's own Ansible runs without Slotcar."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.rollout import staging
from slotcar.rollout.device_folder import DeviceFolder
from tests.support.own_ansible import OwnAnsible

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tools"))
import collection_docs  # noqa: E402

#: What of the repository's top is in the archive; Galaxy writes the last two.
TOPS = {
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md", "client", "controller", "docs", "meta", "playbooks",
    "plugins", "roles", "templates", "FILES.json", "MANIFEST.json",
}  # fmt: skip
INVENTORY = """
all:
  children:
    domains:
      children:
        here:
          hosts:
            r1:
              ansible_connection: local
              ansible_python_interpreter: /usr/bin/python3
              slotcar_platform: linux-tc
              slotcar_interfaces: {lo: {capacity: 1 Gbit/s, address: 127.0.0.1/8}}
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> OwnAnsible:
    return OwnAnsible(tmp_path_factory.mktemp("own"))


def test_the_archive_holds_what_a_push_needs_and_nothing_of_the_rest(own: OwnAnsible) -> None:
    with tarfile.open(own.archive) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
    for needed in ("meta/runtime.yml", "plugins/action/slotcar_linux.py", "playbooks/rollback.yml", "LICENSE",
                   "templates/linux-tc/filter.j2", "controller/slotcar/rollout/linux/device.sh"):  # fmt: skip
        assert needed in names
    assert {name.split("/")[0] for name in names} == TOPS
    client = {name.removeprefix("client/slotcar_client/") for name in names if name.startswith("client/")}
    assert {name for name in client if not name.startswith("wire/")} == {"__init__.py"}
    assert not [name for name in names if "/static/" in name or "molecule" in name or name.endswith((".pyc", ".nbc"))]


def test_a_router_is_read_by_an_ansible_that_has_no_slotcar(own: OwnAnsible, tmp_path: Path) -> None:
    assert own.has("pydantic")
    assert not own.has("slotcar")
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    device = load_network(tmp_path / "hosts.yml").devices["r1"]
    revision = tmp_path / "revision"
    DeviceFolder(revision / "r1").write_questions(device, staging.commands(device))
    shown = own.run(
        "playbook", "-i", str(tmp_path / "hosts.yml"), "--limit", "r1", "-e", f"slotcar_revision={revision}",
        "slotcar.broker.read",
    )  # fmt: skip
    assert "slotcar.broker.slotcar_linux_tc" in shown
    answers = json.loads((revision / "r1" / "reading.json").read_text())
    assert set(answers) == set(staging.commands(device))


def test_ansible_documents_the_plugins(own: OwnAnsible) -> None:
    for name in ("slotcar_linux", "slotcar_fanout", "slotcar_preflight"):
        assert f"slotcar.broker.{name}:" in own.run("doc", "-t", "module", f"slotcar.broker.{name}")


def test_the_collections_readme_links_to_the_page_of_every_role_and_plugin() -> None:
    text = (ROOT / "docs" / "collection" / "README.md").read_text(encoding="utf-8")
    assert [name for name in collection_docs.pages() if f"({name})" not in text] == []


@pytest.mark.parametrize("name", collection_docs.pages())
def test_a_page_of_a_role_or_plugin_is_what_ansible_reads(name: str) -> None:
    kept = (ROOT / "docs" / "collection" / name).read_text(encoding="utf-8")
    assert kept == collection_docs.pages()[name], "run: make generate"
