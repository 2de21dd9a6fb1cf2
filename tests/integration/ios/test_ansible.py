"""`cisco.ios`, as it is, drives the emulated router over network_cli, with paramiko and with libssh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from slotcar_lab.ios import RefuseLine, Router, Routers
from tests.integration.ios.conftest import STARTUP
from tests.support.patience import PATIENCE_S

CAR = "rate-limit input access-group 2602 8000000 16000 16000 conform-action set-prec-transmit 5 exceed-action drop"
PORT = "interface FastEthernet4/0/0"


def play(folder: Path, router: Router, tasks: list[dict[str, object]], **variables: object) -> str:
    """Runs a playbook of these tasks; gives what it printed."""
    host = {
        "ansible_host": router.address,
        "ansible_port": router.port,
        "ansible_user": router.user,
        "ansible_password": router.password,
        "ansible_connection": "ansible.netcommon.network_cli",
        "ansible_network_os": "cisco.ios.ios",
        "ansible_host_key_checking": False,
        **variables,
    }
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"router": host}}}))
    (folder / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    environment = {
        **os.environ,
        "HOME": str(folder),
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "ANSIBLE_PERSISTENT_CONTROL_PATH_DIR": str(folder / "pc"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PERSISTENT_CONNECT_TIMEOUT": "30",  # it is also how long a connection waits for the next task
    }
    (folder / "none.cfg").write_text("[defaults]\n")
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "hosts.yml", "play.yml"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure(lines: list[str], *parents: str, **more: object) -> dict[str, object]:
    module = {"lines": lines, "parents": list(parents), **more}
    return {"cisco.ios.ios_config": module, "register": "result"}


def holds(*what: str) -> dict[str, object]:
    return {"ansible.builtin.assert": {"that": list(what)}}


@pytest.mark.parametrize("transport", ["libssh", pytest.param("paramiko", marks=pytest.mark.slow)])
def test_lines_are_pushed_once_and_commands_answered(router: Router, tmp_path: Path, transport: str) -> None:
    tasks = [
        configure(["access-list 2602 permit udp host 10.20.11.2 host 10.20.21.2 eq 5001"]),
        configure([CAR], PORT),
        holds("result.changed", f"result.updates == ['{PORT}', '{CAR}']"),
        configure([CAR], PORT, save_when="changed"),
        holds("not result.changed"),
        {"cisco.ios.ios_command": {"commands": ["show clock", f"show running-config {PORT}"]}, "register": "shown"},
        holds("'UTC' in shown.stdout[0]", "'rate-limit input' in shown.stdout[1]"),
        configure(["no " + CAR], PORT, save_when="always"),
    ]
    play(tmp_path, router, tasks, ansible_network_cli_ssh_type=transport)
    assert "rate-limit" not in router.running_text()
    assert router.startup_text() == router.running_text()
    assert [one.line for one in router.history if one.taken].count(CAR) == 1


@pytest.mark.slow
def test_a_push_on_trial_is_confirmed_and_a_refused_line_fails_the_task(router: Router, tmp_path: Path) -> None:
    router.fault(RefuseLine("10.66.0.0", "% Next hop address is this router"))
    tasks = [
        configure(["ip route 10.55.0.0 255.255.0.0 10.0.0.2"]),
        holds("result.changed"),
        {**configure(["shutdown", "rate-limit sideways"], PORT), "ignore_errors": True},
        holds("result is failed", "'Invalid input detected' in result.msg"),
        # What was taken before the error stays until it is taken back, or its time is over.
        {"cisco.ios.ios_command": {"commands": ["configure revert now"]}},
        # What IOS refuses in other words counts as done: who pushes must read back.
        configure(["ip route 10.66.0.0 255.255.0.0 10.0.0.2"]),
        holds("result is not failed"),
    ]
    trial = {"ansible_ios_commit_confirm_immediate": True, "ansible_ios_commit_confirm_timeout": 2}
    play(tmp_path, router, tasks, ansible_network_cli_ssh_type="libssh", ansible_command_timeout=20, **trial)
    commands = [line for _, _, line in router.commands]
    assert commands[commands.index("configure terminal revert timer 2") + 1] == "configure confirm"
    assert "ip route 10.55.0.0 255.255.0.0 10.0.0.2" in router.running_text()
    assert "shutdown" in [one.line for one in router.history]
    assert " shutdown\n" not in router.running_text()
    assert "10.66.0.0" not in router.running_text()


@pytest.mark.slow
def test_enable_asks_for_the_secret(routers: Routers, tmp_path: Path) -> None:
    router = routers.add("r", "cisco-gsr", STARTUP, privilege=1, enable_secret="fake-secret")
    become = {"ansible_become": True, "ansible_become_method": "enable", "ansible_become_password": "fake-secret"}
    tasks = [configure(["cos-queue-group SLOTCAR"]), holds("result.changed")]
    play(tmp_path, router, tasks, ansible_network_cli_ssh_type="libssh", **become)
    assert "cos-queue-group SLOTCAR\n" in router.running_text()
