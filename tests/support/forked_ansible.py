"""Ansible's programs in processes that begin with their modules loaded: two thirds of what a play of a few routers in
software takes of a processor are imports.

From `fork` on a play's `ansible-playbook`, and the reader of inventories, is a small process (`stand_in.py`), which asks
the server of `prefork.py` for one that runs Ansible's own code. That one has the environment, the folder and the output of
the small one, which ends as it does; where the small one is killed, it is too. Ansible's configuration is read by each for
itself, as it is in the environment: the server loads only what does without.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from slotcar.network import reading
from slotcar.rollout import playbook

PLAYBOOK, READER = "ansible-playbook", "ansible_reader"
STAND_IN = Path(__file__).with_name("stand_in.py")
#: Of the modules of a play, those that no others of this list import and that do not ask for Ansible's configuration.
WITHOUT_CONFIGURATION = (
    "ansible.module_utils.common.process", "ansible.module_utils.common.sys_info", "ansible.module_utils.common.yaml",
    "ansible.module_utils.common.file", "ansible.module_utils.compat.paramiko", "ansible.module_utils.json_utils",
    "ansible.module_utils.common.locale", "ansible.module_utils._internal._ansiballz._extensions._coverage",
    "ansible.module_utils._internal._ansiballz._extensions._debugpy",
    "ansible.module_utils._internal._ansiballz._extensions._pydevd", "ansible._internal._ssh._ssh_agent",
    "ansible._internal._templating._access", "ansible._internal._templating._errors", "ansible.errors",
    "ansible._internal._templating._jinja_patches", "ansible._internal._templating._utils", "ansible._internal._wrapt",
    "ansible._internal._datatag._utils", "ansible._internal._datatag._wrappers", "ansible._internal._collection_proxy",
    "ansible._internal._errors._captured", "ansible._internal._errors._alarm_timeout", "ansible._internal._locking",
    "ansible._internal._errors._task_timeout", "ansible._internal._yaml._errors", "ansible._internal._display_utils",
    "ansible.config.manager", "ansible.context", "ansible.parsing.quoting", "ansible.parsing.splitter",
    "ansible.parsing.utils.addresses", "ansible.utils._junit_xml", "ansible.utils.collection_loader",
    "ansible.utils.hashing", "ansible.utils.helpers", "ansible.utils.lock", "ansible.utils.multiprocessing",
    "ansible.utils.shlex", "ansible.utils.singleton", "ansible.vars.hostvars", "cryptography.hazmat.primitives.hmac",
    "curses", "distro", "encodings.idna", "encodings.unicode_escape", "jinja2.nativetypes", "jinja2.sandbox",
    "multiprocessing.queues", "multiprocessing.resource_tracker", "multiprocessing.shared_memory",
    "multiprocessing.synchronize", "packaging.specifiers", "packaging.utils", "syslog", "tarfile", "xml.dom.minidom",
)  # fmt: skip
#: What is loaded into a program at its start is not to be had in one that is forked.
LOADED_AT_START = "LD_PRELOAD"
_THEMSELVES = {
    PLAYBOOK: (str(Path(sys.executable).with_name(PLAYBOOK)),),
    READER: (sys.executable, "-P", str(reading.READER)),
}
_run_play, _run = playbook.Playbooks._run, subprocess.run


def fork() -> None:
    """From now on, in this process and those that it forks."""
    playbook.Playbooks._run = _play  # type: ignore[method-assign]
    reading.subprocess = SimpleNamespace(run=_read, TimeoutExpired=subprocess.TimeoutExpired)  # type: ignore[assignment]


def command(program: str, environment: Mapping[str, str]) -> list[str]:
    """What is started in place of the program, with the environment that it would have; that itself where it must be."""
    from tests.support import prefork

    if LOADED_AT_START in environment:
        return list(_THEMSELVES[program])
    return [sys.executable, "-I", "-S", str(STAND_IN), prefork.started(), program]


def _play(self: playbook.Playbooks, *arguments: Any) -> None:
    _runner_with_stand_ins()
    _run_play(self, *arguments)


@cache
def _runner_with_stand_ins() -> None:
    """Once, and not before a play is made: the runner takes long to import."""
    from ansible_runner import interface

    make = interface.init_runner

    def init_runner(**options: Any) -> Any:
        play = make(**options)
        play.config.command[:1] = command(PLAYBOOK, play.config.env)
        return play

    interface.init_runner = init_runner


def _read(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    from tests.support import prefork

    assert words[:3] == list(_THEMSELVES[READER])
    if not prefork.is_started():  # which takes as long as five readings: not for a run of a few cases
        return _run(words, **options)
    return _run([*command(READER, options["env"]), *words[3:]], **options)
