"""Which configuration and which variables Ansible gets, wherever Slotcar starts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.network.ansible_environment import LEFT_OUT, caller_variables, configuration_of
from slotcar.network.reading import read_inventory
from slotcar.rollout.playbook import Playbooks

HOSTS = "all:\n  hosts:\n    r1:\n      slotcar_note: \"{{ 'x' | ours }}\"\n"
FILTER = "class FilterModule:\n    def filters(self):\n        return {'ours': lambda value: value + ' of ours'}\n"


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (tmp_path / "filters").mkdir()
    (folder / "hosts.yml").write_text(HOSTS)
    (tmp_path / "filters" / "ours.py").write_text(FILTER)
    return folder


def test_an_inventory_has_a_configuration_of_its_own(
    inventory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With plugins, as an operator's own may name them: in the inventory's folder, and not in the current one."""
    configuration = "[defaults]\nfilter_plugins = ../filters\n"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ansible.cfg").write_text(configuration.replace("../", ""))
    node = read_inventory(inventory).hosts["r1"]
    assert "ours" in node.problems[0][1], "the current folder's counts for nothing"
    (inventory / "ansible.cfg").write_text(configuration)
    for named in (inventory, inventory / "hosts.yml", Path("site")):
        assert read_inventory(named).hosts["r1"].variables["slotcar_note"] == "x of ours"
        environment = Playbooks(tmp_path / "home", named)._environment("scratch")
        assert environment["ANSIBLE_CONFIG"] == str(inventory / "ansible.cfg")


def test_the_shipped_configuration_serves_others(inventory: Path, tmp_path: Path) -> None:
    assert configuration_of(inventory, tmp_path / "home") == tmp_path / "home" / "ansible.cfg"


def test_what_others_could_have_written_is_refused(inventory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (inventory / "ansible.cfg").write_text("[defaults]\n")
    for file, mode in ((inventory / "ansible.cfg", 0o666), (inventory, 0o777)):
        before = file.stat().st_mode
        file.chmod(mode)
        with pytest.raises(InvalidInput, match=r"ansible.cfg: can be written by everybody"):
            read_inventory(inventory)
        file.chmod(before)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    real = (inventory / "ansible.cfg").stat()
    status = os.stat_result((*real[:4], 4712, *real[5:]))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: status)
    with pytest.raises(InvalidInput, match="belongs to the account 4712"):
        configuration_of(inventory, Path("home"))


def test_surprising_variables_of_the_caller_are_left_out() -> None:
    environment = dict.fromkeys(LEFT_OUT, "x") | {
        "_ANSIBLE_COVERAGE_REMOTE_OUTPUT": "x", "PATH": ".:/usr/bin::bin:/bin", "PYTHONPATH": ".",
        "ANSIBLE_HOST_KEY_CHECKING": "false", "NETBOX_TOKEN": "secret",
    }  # fmt: skip
    assert caller_variables(environment) == {
        "PATH": "/usr/bin:/bin", "PYTHONPATH": "", "ANSIBLE_HOST_KEY_CHECKING": "false", "NETBOX_TOKEN": "secret",
    }  # fmt: skip


@pytest.mark.parametrize("variable", ["ANSIBLE_VAULT_PASSWORD_FILE", "ANSIBLE_BECOME_PASSWORD_FILE"])
def test_a_secret_of_the_current_folder_is_refused(variable: str) -> None:
    with pytest.raises(InvalidInput, match=rf"{variable}: is not a whole path \(got vault\)"):
        caller_variables({variable: "vault"})
    assert caller_variables({variable: "/etc/vault"}) == {variable: "/etc/vault"}
    assert caller_variables({variable: "~/vault"}) == {variable: "~/vault"}


def test_vault_identities_are_named_by_whole_paths() -> None:
    with pytest.raises(InvalidInput, match=r"got keys/prod"):
        caller_variables({"ANSIBLE_VAULT_IDENTITY_LIST": "dev@/etc/dev, prod@keys/prod, lab@prompt"})


@pytest.mark.parametrize("name", ["vault password", "vault"])
def test_the_vault_of_a_play_is_named_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    option = Playbooks(tmp_path, tmp_path, Path(name))._options()
    assert option.removeprefix("--vault-password-file ").strip("'") == str(tmp_path / name)
