"""Runs a playbook through ansible-runner and gives each device's answer."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import structlog

from slotcar.base.problems import SlotcarError
from slotcar.base.stopping import PROCESS, Stopping, StopRequest
from slotcar.base.texts import lines_of
from slotcar.base.timebase import SYSTEM, Clocks
from slotcar.network.ansible_environment import caller_variables, configuration_of, is_left_out
from slotcar.rollout import play_clock
from slotcar.rollout.host_keys import CHANGED, UNKNOWN
from slotcar.rollout.model import Failure, NobodyNamed

log = structlog.get_logger("slotcar.loop")
#: What a playbook may take beside the wait for its instant: a device that hangs does not hang the controller.
TIMEOUT_S = 180
#: Names the run in the environment of each of its processes.
OF_A_RUN = "ANSIBLE_LOCAL_TEMP"
#: Names this process in the environment of all that its runs start, also of ssh's connections that outlive a run.
OF_THIS_PROCESS = ("SLOTCAR_RUN_BY", secrets.token_hex(8))
STATE_DIR = "SLOTCAR_STATE_DIR"
#: The playbooks that change nothing, and the one that takes a push back.
#: Of the first two there are also those of one kind of device, such as `read-linux`.
READ, PUSH, ROLL_BACK = "read", "push", "rollback"
#: How often, in seconds, it is looked whether a play is to be ended.
LOOK_S = 1
#: For so long, in seconds, processes are looked for that are to end: one that is killed may have started another.
END_S = 5.0
#: The folders of this process's runs, for as long as they exist.
_folders: set[str] = set()


class CannotRun(SlotcarError):
    """Ansible could not be started here; no device was touched."""


@dataclass(slots=True)
class PlaybookResult:
    """Whether all went well; where not, which device failed first at what, or whether it was ended from here.

    `reached` are the devices for which some task began.
    """

    ok: bool = True
    failures: dict[str, Failure] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Playbooks:
    """The playbooks of a checkout against an inventory.

    Attributes:
        home: the folder with playbooks/, roles/ and plugins/.
        stop_timeout_s: how long all that goes on may take from when this process is told to end: a push is ended after
            half of that and taken back in the other half.
        clocks: what the plays go by, as it is when each begins.
        same_clock: what all of them go by instead, also where it is set meanwhile.
    """

    home: Path
    inventory: Path
    vault_password_file: Path | None = None
    stop: StopRequest = PROCESS
    stop_timeout_s: float = 90.0
    clocks: Clocks = SYSTEM
    same_clock: Mapping[str, str] | None = None

    def by_the_present_clock(self) -> Playbooks:
        """All its plays go by the clock as it is now, also where it is set meanwhile."""
        return replace(self, same_clock=play_clock.environment(self.clocks.offset()))

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
            CannotRun: there is no room for its files, or no process to be had.
            Stopping: this process was told to end, and the playbook is not the one that takes a push back; or it only
                read, and was ended for that.
            NobodyNamed: no device, or one without a name: to Ansible an empty limit is every host of the inventory.
        """
        if not devices or not all(devices):
            raise NobodyNamed(f"the playbook {name} was to run on no device in particular; nothing was done")
        if name != ROLL_BACK:
            self.stop.check()
        elif self.stop.at_once.is_set():
            return PlaybookResult(ok=False, notes=["Slotcar was told twice to stop, and ends at once"])
        limits = _Limits(self, name, timeout_s, give_up)
        result = PlaybookResult()
        try:
            with self.stop.handled(), _folder_of_a_run(limits) as scratch:
                self._run(name, devices, variables, scratch, result, limits, on_task)
        except OSError as error:
            raise CannotRun(_why_not(error)) from error
        if _is_read(name) and limits.reason == STOPPING:
            raise Stopping
        return result

    def _run(
        self,
        name: str,
        devices: Sequence[str],
        variables: Mapping[str, Any],
        scratch: str,
        result: PlaybookResult,
        limits: _Limits,
        on_task: Callable[[str], None] | None,
    ) -> None:
        import ansible_runner.interface

        environment = self._environment(scratch)
        play = ansible_runner.interface.init_runner(
            private_data_dir=scratch,
            playbook=str(self.home / "playbooks" / f"{name}.yml"),
            inventory=str(self.inventory.absolute()),
            limit=",".join(devices),
            extravars=dict(variables),
            forks=max(5, len(devices)),
            envvars=environment,
            settings={"suppress_ansible_output": True, "pexpect_timeout": LOOK_S},
            cmdline=self._options(),
            event_handler=lambda event: _note(event, result, on_task),
            quiet=True,
            cancel_callback=limits.passed,
        )
        # The runner gives a play this process's environment, and ours over it.
        for variable in filter(is_left_out, set(play.config.env) - set(environment)):
            del play.config.env[variable]
        play.run()
        result.given_up = limits.reason == GIVEN_UP
        if play.status == "successful" and limits.reason is None:
            return
        result.ok = False
        if limits.reason == STOPPING:
            result.notes.append("Slotcar was told to stop, and it did not end in time")
        elif not result.failures:
            result.notes.append(_last_words(play, late=limits.reason == LATE))

    def _environment(self, scratch: str) -> dict[str, str]:
        # An inventory may look it up (the lab's does), and a run has a folder of its own.
        callers = caller_variables(os.environ)
        state_dir = os.environ.get(STATE_DIR)
        clock = self.same_clock if self.same_clock is not None else play_clock.environment(self.clocks.offset())
        return ({STATE_DIR: str(Path(state_dir).absolute())} if state_dir else {}) | {
            "ANSIBLE_CONFIG": str(configuration_of(self.inventory, self.home)),
            # Whatever configuration that is: what the playbooks rest on.
            "ANSIBLE_GATHERING": "explicit",
            "ANSIBLE_RETRY_FILES_ENABLED": "false",
            "ANSIBLE_ROLES_PATH": str(self.home / "roles"),
            "ANSIBLE_ACTION_PLUGINS": str(self.home / "plugins" / "action"),
            OF_A_RUN: scratch,
            OF_THIS_PROCESS[0]: OF_THIS_PROCESS[1],
            **clock,
            # The playbooks take the current folder for an inventory that nobody named; this inventory was named.
            "PWD": scratch,
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "LC_ALL": "C.UTF-8",
            # Ansible of this very environment, whether or not somebody activated it.
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), callers.get("PATH", os.defpath))),
            "PYTHONPATH": os.pathsep.join(filter(None, (PACKAGES, callers.get("PYTHONPATH", "")))),
        }

    def _options(self) -> str:
        if self.vault_password_file is None:
            return ""
        return f"--vault-password-file {shlex.quote(str(self.vault_password_file.absolute()))}"


GIVEN_UP, STOPPING, LATE = "given up", "stopping", "late"
#: The folder that Slotcar's packages are imported from; Ansible's action plugin imports them too.
PACKAGES = str(Path(__file__).resolve().parents[2])


def _is_read(name: str) -> bool:
    return name.partition("-")[0] == READ


class _Limits:
    """The reasons to end a play early, asked again and again while it runs and while it is being ended.

    Attributes:
        reason: why it was ended from here; None where it was not.
    """

    def __init__(self, playbooks: Playbooks, name: str, timeout_s: float, give_up: Callable[[], bool] | None) -> None:
        self.reason: str | None = None
        self._stop, self._give_up = playbooks.stop, give_up
        whole_s = playbooks.stop_timeout_s
        self._may_finish_s = 0.0 if _is_read(name) else whole_s if name == ROLL_BACK else whole_s / 2
        self._end_s = time.monotonic() + timeout_s

    def passed(self) -> bool:
        """Once true it stays so: the runner goes by the last answer."""
        if self.reason is None:
            self.reason = self._look()
        return self.reason is not None

    def _look(self) -> str | None:
        if self._stop.at_once.is_set():
            return STOPPING
        if self._stop.requested.is_set() and self._stop.lasts_s() >= self._may_finish_s:
            return STOPPING
        if self._is_given_up():
            return GIVEN_UP
        # By the clock that nobody sets: the runner's own limit would end a play because the time was set.
        return LATE if time.monotonic() >= self._end_s else None

    def _is_given_up(self) -> bool:
        """False where the question itself fails, and it is not asked again: an error in it must not end a play in the
        middle of its change."""
        try:
            return self._give_up is not None and self._give_up()
        except Exception:
            log.exception("a play goes on: nobody can say whether it is to be given up")
            self._give_up = None
            return False


@contextmanager
def _folder_of_a_run(limits: _Limits) -> Iterator[str]:
    """A new folder for the files of one run; it is gone afterwards, and where the run was cut short its processes too.

    Raises:
        OSError: there is no room for it.
    """
    folder = tempfile.mkdtemp(prefix="slotcar-run-")
    _folders.add(folder)
    ended = False
    try:
        yield folder
        ended = limits.reason is None
    finally:
        if not ended:  # also where an exception ends it: its processes would go on without it
            _end_all(OF_A_RUN, folder)
        _remove(folder)


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if not Path(folder).exists():
        _folders.discard(folder)


def end_all_processes() -> None:
    """Ends what runs of this process left behind or are doing yet, and removes their folders."""
    _end_all(*OF_THIS_PROCESS)
    for folder in list(_folders):
        _remove(folder)


def _end_all(variable: str, value: str) -> None:
    """Ends the processes that have this in their environment: Ansible's workers have sessions of their own, and a play
    that is killed leaves them. Returns when none is left that could start another or write a file."""
    until_s = time.monotonic() + END_S
    while processes := _processes(variable, value):
        for process in processes:
            with suppress(psutil.Error):
                process.kill()
        if time.monotonic() >= until_s:
            return
        time.sleep(0.02)


def _processes(variable: str, value: str) -> list[psutil.Process]:
    """All but this one that have it in their environment. One that is dead has none, whether or not it was waited for."""
    processes = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(variable) == value:
                processes.append(process)
    return processes


def _why_not(error: OSError) -> str:
    words = (error.strerror or str(error)).lower()
    where = f" ({error.filename})" if error.filename else ""
    return f"Ansible cannot be started here: {words}{where}; make room in {tempfile.gettempdir()}"


#: How Ansible begins what ssh said of a host that cannot be reached.
_UNREACHABLE = re.compile(
    r"^(?:Task failed: )?(?:Data could not be sent to remote host \S+ Make sure this host can be reached over ssh:"
    r"|Failed to connect to the host via ssh:)\s*(?:ssh: )?"
)
#: How Ansible says that a plugin's collection is not installed.
_NOT_FOUND = re.compile(r"plugin '(\w+\.\w+)\.\w+' was not found")
#: Ansible's bundle of collections, of releases that go with the ansible-core that Slotcar needs.
BUNDLE = "ansible<13"


def _note(event: Mapping[str, Any], result: PlaybookResult, on_task: Callable[[str], None] | None) -> bool:
    kind, data = event.get("event", ""), event.get("event_data", {})
    host = data.get("host", "")
    if host:
        result.reached.add(host)
    if kind == "playbook_on_task_start" and on_task is not None:
        on_task(str(data.get("name") or data.get("task") or ""))
    elif kind == "runner_on_unreachable":
        words = _sentence(data.get("res", {}).get("msg", ""), "it does not answer")
        result.failures.setdefault(host, Failure(host, why_unreachable(words), unreachable=True))
    elif failures := _failures_of_many(data):
        for name, words in failures.items():
            result.failures.setdefault(name, Failure(name, _sentence(words, "it gave no reason"), unreachable=False))
    elif kind == "runner_on_failed" and not data.get("ignore_errors"):
        words = data.get("res", {}).get("msg", "")
        result.failures.setdefault(host, Failure(host, _sentence(words, "Ansible gave no reason"), unreachable=False))
    elif kind == "runner_on_ok" and data.get("res", {}).get("changed"):
        result.changed.add(host)
    return True


def why_unreachable(words: str) -> str:
    """What Ansible said of a host that it cannot reach, as a sentence. Which host key ssh knows it does not always say."""
    if "Host key verification failed" not in words:
        return _UNREACHABLE.sub("it cannot be reached over ssh: ", words)
    if "IDENTIFICATION HAS CHANGED" in words:
        return f"its host key {CHANGED} the known_hosts file of the account that pushes"
    return f"its host key {UNKNOWN} `ssh-keyscan -p PORT ADDRESS >> ~/.ssh/known_hosts`, as the account that pushes"


def _failures_of_many(data: Mapping[str, Any]) -> Mapping[str, str]:
    """The failures of each device, out of a task that serves many at once (`slotcar_fanout`)."""
    failures = data.get("res", {}).get("failures") if str(data.get("task_action", "")).startswith("slotcar_") else None
    return failures if isinstance(failures, dict) else {}


def _sentence(words: object, otherwise: str) -> str:
    text = " ".join(str(words).split())[:600]
    if missing := _NOT_FOUND.search(text):
        text += f"; it comes with the collection {missing[1]}: pip install '{BUNDLE}', beside Slotcar"
    return text or otherwise


def _last_words(run: Any, *, late: bool) -> str:
    try:
        output = run.stdout.read() + run.stderr.read()
    except (OSError, AttributeError):
        output = ""
    lines = [line.strip() for line in lines_of(output) if line.strip()]
    if late:
        return f"Ansible did not end in time{f'; the last it said is: {lines[-1]}' if lines else ''}"
    errors = [line for line in lines if "ERROR" in line or "error" in line.lower()]
    last: str = (errors or lines or ["Ansible gave no reason"])[-1]
    return last
