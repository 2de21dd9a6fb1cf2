"""What a router does by itself at the end of a slot: its event manager, in software."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from slotcar.network import load_network
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration
from slotcar.rollout.archive import Archive, revision_id
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout import DeviceError, Job, Login, Order, Outcome, PushStep, fan_out, fan_out_push, job_of
from slotcar.rollout.ios import eem
from slotcar.rollout.ios.applets import PREFIX, applets
from slotcar.rollout.ios.ssh import SshTransport
from slotcar.rollout.model import NO_PROGRAM, STALE, DeviceRevision, Program, Revision
from slotcar.rollout.staging import commands, reading_of
from slotcar_lab.ios import FullFlash, Meanwhile, RefuseLine, Router, Routers, Slow
from tests.golden.test_render import change_of
from tests.support.cisco import startup

RENDER = Path(__file__).parents[2] / "golden" / "render"
NAME = "north-edge"
SHOW = "show running-config"
OPERATORS = 'event manager applet OPERATORS\n event timer countdown time 86400\n action 1 cli command "show clock"\n'


class Managed:
    """A router with an event manager, and revisions for it."""

    def __init__(self, routers: Routers, folder: Path) -> None:
        found = load_network(RENDER / "inventories" / "cisco-mqc").devices[NAME]
        self.device = found.model_copy(update={"options": {**found.options, eem.EEM: True}})
        self.router: Router = routers.add(NAME, "cisco-mqc", startup(self.device) + OPERATORS)
        self.archive = Archive(folder / "state")
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_text(routers.known_hosts)
        self.standing = change_of(RENDER / "cisco-mqc-standing", NAME)
        self.premium = change_of(RENDER / "cisco-mqc-premium", NAME)

    @property
    def variables(self) -> Mapping[str, Any]:
        return {
            "slotcar_platform": "cisco-mqc",
            "slotcar_options": {"eem": True},
            "slotcar_flash": "disk0:",
            "slotcar_known_hosts": str(self.known_hosts),
            "ansible_host": self.router.address,
            "ansible_port": self.router.port,
            "ansible_user": self.router.user,
            "ansible_password": self.router.password,
        }

    def revision(
        self,
        after: Configuration,
        *steps: tuple[datetime, Configuration],
        fence: int | None = None,
        good: bool = False,
    ) -> tuple[Order, Program]:
        """One that brings `after` from what the router has, and what it is to do by itself from then on.

        Args:
            good: the archive takes it for what was verified.
        """
        change = renderer_of(self.device).change(self.owned(), after, self.device)
        program = Program(tuple(at for at, _ in steps), tuple(later for _, later in steps), after.lines)
        part = DeviceRevision(self.device, change, program, tuple(commands(self.device)), self.armed())
        now = datetime.now(UTC)
        revision = Revision(revision_id(now, {NAME: part}), now, {NAME: part}, fence)
        folder = self.archive.write(revision)
        if good:
            self.archive.keep_as_good(revision)
        return Order(DeviceFolder(folder / NAME), unknown_ends=True), program  # as a controller takes back what failed

    def push(self, order: Order) -> Outcome:
        return fan_out_push([job_of(NAME, self.variables, order)])[NAME]

    def take(self, step: PushStep, order: Order, **more: Any) -> Outcome:
        return fan_out(step, [job_of(NAME, self.variables, replace(order, **more))])[NAME]

    def due(self) -> list[float | None]:
        """When each armed step is due, as the router's configuration says."""
        return [one.at for one in eem.Registered.of(self.router.running_text()).applets]

    def owned(self) -> Configuration:
        return renderer_of(self.device).running({SHOW: self.router.running_text()}, self.device)

    def armed(self) -> str:
        return eem.armed_id(self.router.running_text())

    def own_files(self) -> list[str]:
        return sorted(name for name in self.router.files() if name.startswith(PREFIX))


@pytest.fixture
def managed(routers: Routers, tmp_path: Path) -> Managed:
    made = Managed(routers, tmp_path)
    assert made.push(made.revision(made.standing.after)[0]).error == ""
    return made


def later(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


class _DiesAfter(SshTransport):
    """The controller is killed right after the change."""

    async def activate(self, apply: Sequence[str]) -> bool:
        await super().activate(apply)
        os.kill(os.getpid(), signal.SIGKILL)
        return True


class _DiesBefore(SshTransport):
    """The controller is killed right before a change, or before what was changed is restored."""

    async def activate(self, apply: Sequence[str]) -> bool:
        os.kill(os.getpid(), signal.SIGKILL)
        return True

    async def change(self, lines: Sequence[str]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def _do_and_die(kind: type[SshTransport], name: str, variables: Mapping[str, Any], parent: Connection) -> None:
    parent.send("ready")  # a process of its own takes seconds to begin
    order: Order = parent.recv()
    login = Login.from_variables(name, variables)
    job = Job(name, order, lambda: kind(name, login, str(variables["slotcar_flash"]), acts=True))
    if order.target == "before.txt":
        fan_out(PushStep.RESTORE, [job])
    else:
        fan_out_push([job])


class Doomed:
    """A controller in a process of its own, which is killed in the middle of what it does."""

    def __init__(self, kind: type[SshTransport], managed: Managed) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_do_and_die, args=(kind, NAME, dict(managed.variables), theirs))
        self._process.start()
        assert self._pipe.recv() == "ready"

    def does(self, order: Order) -> None:
        self._pipe.send(order)
        self._process.join(30)
        assert self._process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_slot_ends_on_the_router_at_its_instant_with_the_controller_killed(managed: Managed) -> None:
    controller = Doomed(_DiesAfter, managed)
    standing, end = managed.router.running_text(), later(6)
    order, program = managed.revision(managed.premium.after, (end, managed.standing.after))
    controller.does(order)
    assert managed.owned() == managed.premium.after
    assert managed.armed() == program.id
    managed.router.kill()  # and nobody can log in any more
    assert managed.router.wait_for(lambda router: router.fired)
    (fired,) = managed.router.fired
    assert fired.ended
    assert fired.at_ns / 1e9 >= end.timestamp() - 0.01, "a countdown has milliseconds"
    assert managed.router.running_text() == standing, "byte for byte, the operator's own applet with it"
    assert managed.own_files() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [_DiesBefore, pytest.param(_DiesAfter, marks=pytest.mark.slow)])
def test_an_open_slot_ends_whenever_the_controller_that_takes_it_away_is_killed(
    managed: Managed, kind: type[SshTransport]
) -> None:
    controller = Doomed(kind, managed)
    standing, end = managed.router.running_text(), later(9)
    assert managed.push(managed.revision(managed.premium.after, (end, managed.standing.after))[0]).error == ""
    cancelled, program = managed.revision(managed.standing.after)
    assert program.id == NO_PROGRAM
    controller.does(cancelled)
    assert managed.owned() == (managed.premium if kind is _DiesBefore else managed.standing).after
    assert managed.due() == [pytest.approx(end.timestamp(), abs=0.001)]
    assert managed.router.wait_for(lambda router: router.fired)
    assert (managed.router.running_text(), managed.own_files()) == (standing, [])


@pytest.mark.slow
def test_a_slot_ends_whose_beginning_was_being_taken_back_by_a_controller_that_was_killed(managed: Managed) -> None:
    controller = Doomed(_DiesBefore, managed)
    standing, end = managed.router.running_text(), later(9)
    order, _ = managed.revision(managed.premium.after, (end, managed.standing.after))
    assert managed.push(order).error == ""
    controller.does(replace(order, target="before.txt"))
    assert managed.owned() == managed.premium.after
    assert managed.router.wait_for(lambda router: router.fired)
    assert (managed.router.running_text(), managed.own_files()) == (standing, [])


@pytest.mark.slow
def test_what_is_restored_is_armed_before_it_is_changed(managed: Managed) -> None:
    """The end of a slot that a failed cancel gives back."""
    controller, end = Doomed(_DiesBefore, managed), later(600)
    assert managed.push(managed.revision(managed.premium.after, (end, managed.standing.after))[0]).error == ""
    cancelled, _ = managed.revision(managed.standing.after)
    assert managed.push(cancelled).error == ""
    assert managed.armed() == NO_PROGRAM
    controller.does(replace(cancelled, target="before.txt"))
    assert (managed.owned(), managed.due()) == (managed.standing.after, [pytest.approx(end.timestamp(), abs=0.001)])


@pytest.mark.slow
def test_what_is_armed_is_read_back_and_taken_step_by_step(managed: Managed) -> None:
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    first, last = later(6), later(600)
    order, program = managed.revision(managed.premium.after, (first, changed), (last, managed.standing.after))
    outcome = managed.push(order)
    assert (outcome.error, outcome.changed) == ("", True)
    assert managed.armed() == program.ids[0]
    assert len(managed.own_files()) == 2
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.owned() == changed
    assert managed.armed() == program.ids[1], "the name of what is left"
    assert len(managed.own_files()) == 1


def test_a_push_replaces_what_is_armed_and_the_same_again_touches_nothing(managed: Managed) -> None:
    order, _ = managed.revision(managed.premium.after, (later(500), managed.standing.after))
    managed.push(order)
    again, program = managed.revision(managed.premium.after, (later(900), managed.standing.after))
    outcome = managed.push(again)
    assert (outcome.error, outcome.changed) == ("", True), "armed anew, though the configuration is the same"
    assert managed.armed() == program.id
    assert len(managed.own_files()) == 1
    told = len(managed.router.history)
    assert managed.push(again).changed is False
    assert len(managed.router.history) == told
    ended, _ = managed.revision(managed.standing.after)
    assert managed.push(ended).error == ""
    assert (managed.armed(), managed.own_files()) == (NO_PROGRAM, [])
    assert "event manager applet OPERATORS" in managed.router.running_text()


def test_what_somebody_else_armed_since_staging_is_left(managed: Managed) -> None:
    mine, _ = managed.revision(managed.premium.after, (later(500), managed.standing.after))
    theirs, program = managed.revision(managed.premium.after, (later(900), managed.standing.after))
    assert fan_out(PushStep.STAGE, [job_of(NAME, managed.variables, mine)])[NAME].error == ""
    assert managed.push(theirs).error == ""
    outcome = fan_out(PushStep.ACTIVATE, [job_of(NAME, managed.variables, mine)])[NAME]
    assert "it acted since it was read" in outcome.error
    assert managed.armed() == program.id


@pytest.mark.parametrize("target", ["before.txt", pytest.param("", marks=pytest.mark.slow)])
def test_a_restore_disarms(managed: Managed, target: str) -> None:
    before = managed.router.running_text()
    order, _ = managed.revision(managed.premium.after, (later(500), managed.standing.after))
    managed.push(order)
    outcome = managed.take(PushStep.RESTORE, order, target=target)
    assert outcome.error == ""
    assert (managed.armed(), managed.own_files()) == (NO_PROGRAM, [])
    if target:
        assert managed.router.running_text() == before


def test_restoring_what_is_known_good_arms_what_is_left_of_it_and_leaves_out_what_is_past(managed: Managed) -> None:
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    steps = (later(-60), changed), (later(600), managed.standing.after)
    order, program = managed.revision(managed.premium.after, *steps)
    outcome = fan_out(PushStep.RESTORE, [job_of(NAME, managed.variables, order)])[NAME]
    assert outcome.error == ""
    assert managed.owned() == changed
    assert managed.armed() == program.ids[1]
    assert len(managed.own_files()) == 1


def test_a_rollback_arms_what_was_armed_before_with_its_own_instants(managed: Managed) -> None:
    first, last = later(500), later(900)
    managed.push(managed.revision(managed.premium.after, (first, managed.standing.after))[0])
    before = managed.router.running_text(), managed.armed(), managed.own_files()
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    order, _ = managed.revision(changed, (last, managed.standing.after))
    assert managed.push(order).error == ""
    assert managed.armed() != before[1]
    assert managed.take(PushStep.RESTORE, order, target="before.txt").error == ""
    assert (managed.owned(), managed.armed(), managed.own_files()) == (managed.premium.after, *before[1:])
    assert managed.due() == [pytest.approx(first.timestamp(), abs=0.001)]
    delay = re.compile(r"countdown time \S+")
    assert delay.sub("", managed.router.running_text()) == delay.sub("", before[0]), "only the countdown is another"


@pytest.mark.slow
def test_a_rollback_takes_at_once_what_fell_due_meanwhile(managed: Managed) -> None:
    end = later(5)
    managed.push(managed.revision(managed.premium.after, (end, managed.standing.after))[0])
    order, _ = managed.revision(managed.premium.after, (later(600), managed.standing.after))
    assert managed.push(order).error == "", "longer: the end is another"
    while datetime.now(UTC) <= end:
        time.sleep(0.1)
    assert managed.take(PushStep.RESTORE, order, target="before.txt").error == ""
    assert managed.router.wait_for(lambda router: router.fired)
    assert (managed.owned(), managed.armed()) == (managed.standing.after, NO_PROGRAM)


@pytest.mark.slow
def test_a_rollback_does_not_open_a_slot_again_that_has_ended_meanwhile(managed: Managed) -> None:
    end, last = later(6), later(600)
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    steps = (end, managed.standing.after), (last, changed)
    _, program = first = managed.revision(managed.premium.after, *steps, good=True)
    assert managed.push(first[0]).error == ""
    order, _ = managed.revision(managed.premium.after, (end, managed.standing.after))
    assert managed.push(order).error == ""
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.owned() == managed.standing.after
    told = len(managed.router.history)
    assert managed.take(PushStep.RESTORE, order, target="before.txt").error == ""
    assert (managed.owned(), managed.armed()) == (managed.standing.after, program.ids[1])
    assert managed.due() == [pytest.approx(last.timestamp(), abs=0.001)]
    given = [one.line for one in managed.router.history[told:]]
    assert given
    assert not [line for line in given if "class-map" in line or "policy-map" in line], "not for a moment"


@pytest.mark.slow
def test_a_router_that_never_took_a_revision_is_left_by_its_rollback(managed: Managed) -> None:
    """It began the slot by itself between the reading and a push that then failed elsewhere."""
    managed.push(managed.revision(managed.standing.after, (later(5), managed.premium.after))[0])
    order, _ = managed.revision(managed.standing.after, (later(600), managed.premium.after))
    assert managed.router.wait_for(lambda router: router.fired)
    assert "it acted since it was read" in managed.push(order).error
    outcome = managed.take(PushStep.RESTORE, order, target="before.txt")
    assert (outcome.error, outcome.changed) == ("", False)
    assert managed.owned() == managed.premium.after


@pytest.mark.slow
def test_a_reading_waits_until_a_step_is_whole(managed: Managed) -> None:
    order, program = managed.revision(managed.standing.after, (later(5), managed.premium.after))
    assert managed.push(order).error == ""
    managed.router.fault(Slow(50))
    lines = len(managed.router.history)
    assert managed.router.wait_for(lambda router: len(router.history) > lines), "it has taken the first line"
    assert managed.take(PushStep.READ, order).error == ""
    outputs = order.folder.reading()
    reading = reading_of(outputs, managed.device)
    assert (reading.configuration, reading.armed_id) == (managed.premium.after, program.ids[1])


def test_what_was_computed_for_a_time_that_has_passed_is_not_done(managed: Managed) -> None:
    """The slot would be open until its first step, which is already due."""
    before = managed.router.running_text()
    order, _ = managed.revision(managed.premium.after, (later(-1), managed.standing.after))
    assert STALE in managed.push(order).error
    assert managed.router.running_text() == before


@pytest.mark.slow
def test_a_step_that_is_about_to_be_taken_is_not_met(managed: Managed) -> None:
    managed.push(managed.revision(managed.standing.after, (later(3), managed.premium.after))[0])
    order, _ = managed.revision(managed.standing.after, (later(600), managed.premium.after))
    while managed.due()[0] - time.time() > 0.9:  # type: ignore[operator]
        time.sleep(0.02)
    assert STALE in managed.push(order).error
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.owned() == managed.premium.after


def test_who_dies_while_arming_leaves_ends_without_starts_and_is_seen(managed: Managed) -> None:
    steps = [(later(300), managed.premium.after), (later(600), managed.standing.after)]
    order, program = managed.revision(managed.standing.after, *steps)
    managed.router.fault(RefuseLine(r"^event manager applet slotcar-step-1-2"))
    assert "Invalid input" in managed.push(order).error
    told = [one.line for one in managed.router.history if one.line.startswith("event manager applet slotcar")]
    assert [line.split()[3][:16] for line in told] == ["slotcar-step-2-2", "slotcar-step-1-2"], "the last step first"
    managed.router.heal()
    assert managed.armed() == NO_PROGRAM, "who lives tidies"
    again, _ = managed.revision(managed.standing.after, *steps)
    managed.push(again)
    assert managed.router.configure(eem.removal(eem.Registered.of(managed.router.running_text()).names[0])) == []
    managed.router.configure(f"event manager applet {PREFIX}1-3-{'0' * 16}")
    assert managed.armed() == eem.INCOMPLETE
    mended, program = managed.revision(managed.standing.after, *steps)
    assert managed.push(mended).error == ""
    assert managed.armed() == program.id


def test_a_controller_that_lost_the_lead_changes_nothing(managed: Managed) -> None:
    """Each lead leaves its number; the greatest that was there counts (ADR 6)."""
    late, program = managed.revision(managed.premium.after, (later(900), managed.standing.after), fence=57)
    assert managed.push(late).error == ""
    text = managed.router.running_text()
    assert "event manager environment slotcar_fence_57 leads\n" in text
    words = "a controller that took the lead later (number 57) was here; number 41 may not change anything any more"
    refused, _ = managed.revision(managed.standing.after, fence=41)
    for outcome in (managed.push(refused), managed.take(PushStep.RESTORE, late, target="before.txt", fence=41)):
        assert words in outcome.error
    assert (managed.router.running_text(), managed.armed()) == (text, program.id)

    last, _ = managed.revision(managed.standing.after, fence=60)
    assert managed.push(last).error == ""
    assert "slotcar_fence_60" in managed.router.running_text()
    assert "slotcar_fence_57" not in managed.router.running_text()
    by_hand, _ = managed.revision(managed.premium.after, (later(500), managed.standing.after))
    assert managed.push(by_hand).error == "", "an operator's own hand has no number"
    assert managed.take(PushStep.RESTORE, by_hand, target="").error == ""
    assert "slotcar" not in managed.router.running_text(), "nothing of Slotcar's at all"


def test_of_two_leaders_that_write_at_once_the_later_is_heeded(managed: Managed) -> None:
    """The later one's mark comes after the earlier one has looked, and before it has written its own."""
    order, _ = managed.revision(managed.premium.after, (later(500), managed.standing.after), fence=41)
    before = managed.router.running_text()
    managed.router.fault(Meanwhile("slotcar_fence_41", (eem.fence_line(57),)))
    outcome = managed.push(order)
    assert "number 57" in outcome.error
    assert managed.owned() == managed.standing.after
    assert managed.armed() == NO_PROGRAM
    assert eem.Registered.of(managed.router.running_text()).fences == (41, 57)
    assert set(managed.router.running_text().splitlines()) - set(before.splitlines()) == {
        eem.fence_line(41), eem.fence_line(57)
    }  # fmt: skip


class _Overtaken(SshTransport):
    """Another controller takes the lead, and is there, between this one's arming and its change."""

    router: Router

    async def activate(self, apply: Sequence[str]) -> bool:
        self.router.configure(eem.fence_line(57))
        return await super().activate(apply)


def test_who_is_overtaken_after_arming_does_not_change_the_configuration(managed: Managed) -> None:
    order, _ = managed.revision(managed.premium.after, (later(500), managed.standing.after), fence=41)
    login = Login.from_variables(NAME, managed.variables)

    def connect() -> SshTransport:
        made = _Overtaken(NAME, login, "disk0:", acts=True)
        made.router = managed.router
        return made

    outcome = fan_out_push([Job(NAME, order, connect)])[NAME]
    assert "number 57" in outcome.error
    assert managed.owned() == managed.standing.after


@pytest.mark.parametrize(("ends_in_s", "asked"), [(200, False), (3600, True)])
def test_a_revert_timer_is_not_asked_for_where_it_would_take_a_step_back(
    managed: Managed, ends_in_s: int, asked: bool
) -> None:
    order, _ = managed.revision(managed.premium.after, (later(ends_in_s), managed.standing.after))
    before = len(managed.router.commands)
    assert managed.push(order).error == ""
    told = [line for _, _, line in managed.router.commands[before:]]
    assert any("revert timer" in line for line in told) is asked


@pytest.mark.slow
def test_a_countdown_is_counted_from_when_it_is_told(managed: Managed) -> None:
    """A router that takes its time for the lines before it acts no later for that."""
    end = later(500)
    order, _ = managed.revision(managed.premium.after, (end, managed.standing.after))
    managed.router.fault(Slow(100))
    assert managed.push(order).error == ""
    managed.router.heal()
    (told,) = (one for one in managed.router.history if one.line.startswith("event timer countdown time 4"))
    due = told.at_ns / 1e9 + float(told.line.split()[4])
    assert due == pytest.approx(end.timestamp(), abs=0.6), "more than ten lines stand before it"


@pytest.mark.slow
def test_a_wrong_clock_is_seen_at_staging_and_moves_no_boundary(managed: Managed) -> None:
    managed.router.set_clock(-7200 + 5)
    end = later(6)
    order, _ = managed.revision(managed.premium.after, (end, managed.standing.after))
    assert managed.push(order).error == ""
    assert order.folder.clock_ahead_us() == pytest.approx(-7195e6, abs=1e6)
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.router.fired[0].at_ns / 1e9 >= end.timestamp() - 0.01


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(FullFlash(), "it cannot be armed: disk0:slotcar-step-", id="full-flash", marks=pytest.mark.slow),
        pytest.param(RefuseLine("^event timer"), "Invalid input", id="refused"),
    ],
)
def test_a_router_that_cannot_be_armed_is_not_changed(managed: Managed, fault: Any, words: str) -> None:
    before = managed.router.running_text()
    order, _ = managed.revision(managed.premium.after, (later(500), managed.standing.after))
    managed.router.fault(fault)
    assert words in managed.push(order).error
    assert managed.router.running_text() == before


@pytest.mark.slow
def test_an_operators_own_quiet_prompts_stay(managed: Managed) -> None:
    assert managed.router.configure("file prompt quiet") == []
    standing = managed.router.running_text()
    managed.push(managed.revision(managed.premium.after, (later(3), managed.standing.after))[0])
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.router.running_text() == standing


def test_a_missing_step_is_no_programs_name() -> None:
    ids = ("1" * 16, "2" * 16, NO_PROGRAM)
    both = applets(ids, (10.0, 20.0), ((), ()))
    lines = [line for one in both for line in eem.registration(one, lambda: 5, f"flash:{one.file}", asks=True)]
    assert eem.armed_id("\n".join(lines)) == ids[0]
    assert eem.armed_id("\n".join(lines[: len(lines) // 2])) == eem.INCOMPLETE
    assert eem.armed_id("\n".join(lines[len(lines) // 2 :])) == ids[1]
    assert eem.armed_id(OPERATORS) == NO_PROGRAM


@pytest.mark.parametrize(
    "told",
    [{"slotcar_platform": "cisco-mqc", "slotcar_transport": "napalm"}, {"slotcar_platform": "cisco-iosxe-netconf"}],
)
def test_only_a_command_line_over_ssh_can_be_armed(told: Mapping[str, str], tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="r: slotcar_options says that it has eem"):
        job_of("r", {"ansible_user": "ops", "slotcar_options": {"eem": True}, **told}, Order(DeviceFolder(tmp_path)))


def test_an_applet_that_waits_for_an_answer_is_ended(routers: Routers) -> None:
    router = routers.add("r", "cisco-mqc", "")
    lines = ["event manager applet ASKS", ' action 1 cli command "copy running-config disk0:a"']
    assert router.configure("\n".join([*lines, " event timer countdown time 0.1 maxrun 1"])) == []
    assert router.wait_for(lambda one: one.fired)
    assert not router.fired[0].ended
    assert router.files() == {}


def test_an_applet_that_is_taken_away_does_not_run(routers: Routers) -> None:
    router = routers.add("r", "cisco-mqc", "")
    for name in ("a", "b"):
        router.configure(
            f'event manager applet {name}\n action 1 cli command "write"\n event timer countdown time 0.5'
        )
    assert router.configure("no event manager applet a") == []
    assert router.wait_for(lambda one: one.fired)
    assert [one.name for one in router.fired] == ["b"]
