"""Runs a playbook through ansible-runner and gives each device's answer."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from controller.rollout.model import Failure, NobodyNamed

#: What a playbook may take beside the wait for its instant: a device that hangs does not hang the controller.
TIMEOUT_S = 180
#: Names the run in the environment of each of its processes.
OF_A_RUN = "ANSIBLE_LOCAL_TEMP"


@dataclass(slots=True)
class PlaybookResult:
    """Whether all went well; where not, which device failed first at what, or whether it was ended from here."""

    ok: bool = True
    failures: dict[str, Failure] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Playbooks:
    """The playbooks of a checkout against an inventory.

    Attributes:
        home: the folder with playbooks/, roles/ and plugins/.
        verbosity: how many `-v` Ansible gets; its output is kept only where it failed.
    """

    home: Path
    inventory: Path
    vault_password_file: Path | None = None

    def run(
        self,
        name: str,
        devices: Sequence[str],
        variables: Mapping[str, Any],
        *,
        timeout_s: int = TIMEOUT_S,
        on_task: Callable[[str], None] | None = None,
        give_up: Callable[[], bool] | None = None,
    ) -> PlaybookResult:
        """Runs `playbooks/NAME.yml` on these devices, all at once. `give_up` is asked all the time whether to end it.

        Raises:
            NobodyNamed: no device, or one without a name: to Ansible an empty limit is every host of the inventory.
        """
        import ansible_runner

        if not devices or not all(devices):
            raise NobodyNamed(f"the playbook {name} was to run on no device in particular; nothing was done")
        result = PlaybookResult()
        scratch = tempfile.mkdtemp(prefix="slotcar-run-")
        try:
            run = ansible_runner.run(
                private_data_dir=scratch,
                playbook=str(self.home / "playbooks" / f"{name}.yml"),
                inventory=str(self.inventory.absolute()),
                limit=",".join(devices),
                extravars=dict(variables),
                forks=max(5, len(devices)),
                envvars=self._environment(scratch),
                settings={"suppress_ansible_output": True, "job_timeout": timeout_s},
                cmdline=self._options(),
                event_handler=lambda event: _note(event, result, on_task),
                quiet=True,
                **({"cancel_callback": _for_good(give_up)} if give_up else {}),
            )
            result.given_up = run.status == "canceled"
            if run.status in ("canceled", "timeout"):
                _end_all(scratch)
            if run.status != "successful":
                result.ok = False
                if not result.failures:
                    result.notes.append(_last_words(run, run.status))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return result

    def _environment(self, scratch: str) -> dict[str, str]:
        return {
            "ANSIBLE_CONFIG": str(self.home / "ansible.cfg"),
            "ANSIBLE_ROLES_PATH": str(self.home / "roles"),
            "ANSIBLE_ACTION_PLUGINS": str(self.home / "plugins" / "action"),
            OF_A_RUN: scratch,
            # The playbooks take the current folder for an inventory that nobody named; this inventory was named.
            "PWD": scratch,
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "LC_ALL": "C.UTF-8",
            # Ansible of this very environment, whether or not somebody activated it.
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(self.home), os.environ.get("PYTHONPATH", "")))),
        }

    def _options(self) -> str:
        return f"--vault-password-file {self.vault_password_file}" if self.vault_password_file else ""


def _end_all(scratch: str) -> None:
    """Ends what a play that was killed left behind: Ansible's workers have sessions of their own, and would act yet."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(OF_A_RUN) == scratch:
                process.kill()


def _for_good(give_up: Callable[[], bool]) -> Callable[[], bool]:
    """Asked until it says so once: the runner asks on while the play dies, and heeds the last answer."""
    said = False

    def asked() -> bool:
        nonlocal said
        said = said or give_up()
        return said

    return asked


def _note(event: Mapping[str, Any], result: PlaybookResult, on_task: Callable[[str], None] | None) -> bool:
    kind, data = event.get("event", ""), event.get("event_data", {})
    host = data.get("host", "")
    if kind == "playbook_on_task_start" and on_task is not None:
        on_task(str(data.get("name") or data.get("task") or ""))
    elif kind == "runner_on_unreachable":
        words = data.get("res", {}).get("msg", "")
        result.failures.setdefault(host, Failure(host, _sentence(words, "it does not answer"), unreachable=True))
    elif told := _told(data):
        for name, words in told.items():
            result.failures.setdefault(name, Failure(name, _sentence(words, "it gave no reason"), unreachable=False))
    elif kind == "runner_on_failed" and not data.get("ignore_errors"):
        words = data.get("res", {}).get("msg", "")
        result.failures.setdefault(host, Failure(host, _sentence(words, "Ansible gave no reason"), unreachable=False))
    elif kind == "runner_on_ok" and data.get("res", {}).get("changed"):
        result.changed.add(host)
    return True


def _told(data: Mapping[str, Any]) -> Mapping[str, str]:
    """Failures of a task that serves many devices at once (`slotcar_ios`)."""
    found = data.get("res", {}).get("failures") if str(data.get("task_action", "")).startswith("slotcar_") else None
    return found if isinstance(found, dict) else {}


def _sentence(words: object, otherwise: str) -> str:
    text = " ".join(str(words).split())
    return text[:600] if text else otherwise


def _last_words(run: Any, status: str) -> str:
    try:
        output = run.stdout.read() + run.stderr.read()
    except (OSError, AttributeError):
        output = ""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if status == "timeout":
        return f"Ansible did not end in time{f'; the last it said is: {lines[-1]}' if lines else ''}"
    errors = [line for line in lines if "ERROR" in line or "error" in line.lower()]
    last: str = (errors or lines or ["Ansible gave no reason"])[-1]
    return last
