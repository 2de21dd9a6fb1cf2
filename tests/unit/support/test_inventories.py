"""What is kept of a reading is what Ansible says."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.network import reading
from tests.support import inventories


@pytest.fixture
def read_by_ansible(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The inventories that Ansible was asked for."""
    read_folders: list[Path] = []
    really = inventories._read_by_ansible

    def read(inventory: Path, vault: Path | None, options: tuple[str, ...]) -> object:
        read_folders.append(inventory)
        return really(inventory, vault, options)

    monkeypatch.setattr(inventories, "_read_by_ansible", read)
    return read_folders


@pytest.mark.parametrize("name", ["lab", "garnet", "datagrid", "demo"])
def test_what_is_kept_is_what_ansible_says_of_another_state_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_by_ansible: list[Path]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSIBLE_OF_THIS_CASE", str(tmp_path))  # so that nobody has read it before
    inventory = inventories.OWN / name
    for state in ("one", "other"):
        monkeypatch.setenv(inventories.STATE, str(tmp_path / state))
        kept = reading.read_inventory(inventory)
    assert read_by_ansible == [inventory]
    monkeypatch.setattr(reading, "_run", inventories._read_by_ansible)
    assert reading.read_inventory(inventory) == kept


def test_another_environment_and_a_tests_own_inventory_are_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_by_ansible: list[Path]
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in ("1", "2"):
        monkeypatch.setenv("ANSIBLE_FORKS", value)
        reading.read_inventory(inventories.OWN / "lab")
    mine = tmp_path / "hosts.yml"
    mine.write_text("all: {children: {domains: {children: {here: {hosts: {r1: {}}}}}}}")
    for _ in range(2):
        assert reading.read_inventory(mine).hosts.keys() == {"r1"}
    mine.write_text("all: [")
    with pytest.raises(InvalidInput):
        reading.read_inventory(mine)
    assert len(read_by_ansible) == 5
