"""A router with an event manager while its controller is killed, or another one takes the lead."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import pytest

from slotcar.rollout.fanout import Job, Login, Order, PushStep, fan_out, fan_out_push
from slotcar.rollout.ios import eem
from slotcar.rollout.ios.applets import PREFIX
from slotcar.rollout.ios.ssh import SshTransport
from slotcar.rollout.model import NO_PROGRAM
from slotcar_lab.ios import Meanwhile, RefuseLine, Router
from tests.integration.ios.eem_router import NAME, Managed, later
from tests.support.patience import PATIENCE_S


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
        self._process.join(PATIENCE_S)
        assert self._process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_slot_ends_on_the_router_at_its_instant_with_the_controller_killed(managed: Managed) -> None:
    controller = Doomed(_DiesAfter, managed)
    configured, end = managed.router.running_text(), later(6)
    order, program = managed.revision(managed.premium.after, (end, managed.base.after))
    controller.does(order)
    assert managed.owned() == managed.premium.after
    assert managed.armed() == program.id
    managed.router.kill()  # and nobody can log in any more
    assert managed.router.wait_for(lambda router: router.fired)
    (fired,) = managed.router.fired
    assert fired.ended
    assert fired.at_ns / 1e9 >= end.timestamp() - 0.01, "a countdown has milliseconds"
    assert managed.router.running_text() == configured, "byte for byte, the operator's own applet with it"
    assert managed.own_files() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [_DiesBefore, pytest.param(_DiesAfter, marks=pytest.mark.slow)])
def test_an_open_slot_ends_whenever_the_controller_that_takes_it_away_is_killed(
    managed: Managed, kind: type[SshTransport]
) -> None:
    controller = Doomed(kind, managed)
    configured, end = managed.router.running_text(), later(9)
    assert managed.push(managed.revision(managed.premium.after, (end, managed.base.after))[0]).error == ""
    cancelled, program = managed.revision(managed.base.after)
    assert program.id == NO_PROGRAM
    controller.does(cancelled)
    assert managed.owned() == (managed.premium if kind is _DiesBefore else managed.base).after
    assert managed.due() == [pytest.approx(end.timestamp(), abs=0.001)]
    assert managed.router.wait_for(lambda router: router.fired)
    assert (managed.router.running_text(), managed.own_files()) == (configured, [])


@pytest.mark.slow
def test_a_slot_ends_whose_beginning_was_being_taken_back_by_a_controller_that_was_killed(managed: Managed) -> None:
    controller = Doomed(_DiesBefore, managed)
    configured, end = managed.router.running_text(), later(9)
    order, _ = managed.revision(managed.premium.after, (end, managed.base.after))
    assert managed.push(order).error == ""
    controller.does(replace(order, target="before.txt"))
    assert managed.owned() == managed.premium.after
    assert managed.router.wait_for(lambda router: router.fired)
    assert (managed.router.running_text(), managed.own_files()) == (configured, [])


@pytest.mark.slow
def test_what_is_restored_is_armed_before_it_is_changed(managed: Managed) -> None:
    """The end of a slot that a failed cancel gives back."""
    controller, end = Doomed(_DiesBefore, managed), later(600)
    assert managed.push(managed.revision(managed.premium.after, (end, managed.base.after))[0]).error == ""
    cancelled, _ = managed.revision(managed.base.after)
    assert managed.push(cancelled).error == ""
    assert managed.armed() == NO_PROGRAM
    controller.does(replace(cancelled, target="before.txt"))
    assert (managed.owned(), managed.due()) == (managed.base.after, [pytest.approx(end.timestamp(), abs=0.001)])


def test_who_dies_while_arming_leaves_ends_without_starts_and_is_seen(managed: Managed) -> None:
    steps = [(later(300), managed.premium.after), (later(600), managed.base.after)]
    order, program = managed.revision(managed.base.after, *steps)
    managed.router.fault(RefuseLine(r"^event manager applet slotcar-step-1-2"))
    assert "Invalid input" in managed.push(order).error
    lines = [one.line for one in managed.router.history if one.line.startswith("event manager applet slotcar")]
    assert [line.split()[3][:16] for line in lines] == ["slotcar-step-2-2", "slotcar-step-1-2"], "the last step first"
    managed.router.heal()
    assert managed.armed() == NO_PROGRAM, "who lives tidies"
    again, _ = managed.revision(managed.base.after, *steps)
    managed.push(again)
    assert managed.router.configure(eem.removal(eem.Registered.of(managed.router.running_text()).names[0])) == []
    managed.router.configure(f"event manager applet {PREFIX}1-3-{'0' * 16}")
    assert managed.armed() == eem.INCOMPLETE
    mended, program = managed.revision(managed.base.after, *steps)
    assert managed.push(mended).error == ""
    assert managed.armed() == program.id


def test_a_controller_that_lost_the_lead_changes_nothing(managed: Managed) -> None:
    """Each lead leaves its number; the greatest that was there counts (ADR 6)."""
    late, program = managed.revision(managed.premium.after, (later(900), managed.base.after), fence=57)
    assert managed.push(late).error == ""
    text = managed.router.running_text()
    assert "event manager environment slotcar_fence_57 leads\n" in text
    words = "a controller that took the lead later (number 57) was here; number 41 may not change anything any more"
    refused, _ = managed.revision(managed.base.after, fence=41)
    for outcome in (managed.push(refused), managed.take(PushStep.RESTORE, late, target="before.txt", fence=41)):
        assert words in outcome.error
    assert (managed.router.running_text(), managed.armed()) == (text, program.id)

    last, _ = managed.revision(managed.base.after, fence=60)
    assert managed.push(last).error == ""
    assert "slotcar_fence_60" in managed.router.running_text()
    assert "slotcar_fence_57" not in managed.router.running_text()
    by_hand, _ = managed.revision(managed.premium.after, (later(500), managed.base.after))
    assert managed.push(by_hand).error == "", "an operator's own hand has no number"
    assert managed.take(PushStep.RESTORE, by_hand, target="").error == ""
    assert "slotcar" not in managed.router.running_text(), "nothing of Slotcar's at all"


def test_of_two_leaders_that_write_at_once_the_later_is_heeded(managed: Managed) -> None:
    """The later one's mark comes after the earlier one has looked, and before it has written its own."""
    order, _ = managed.revision(managed.premium.after, (later(500), managed.base.after), fence=41)
    before = managed.router.running_text()
    managed.router.fault(Meanwhile("slotcar_fence_41", (eem.fence_line(57),)))
    outcome = managed.push(order)
    assert "number 57" in outcome.error
    assert managed.owned() == managed.base.after
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
    order, _ = managed.revision(managed.premium.after, (later(500), managed.base.after), fence=41)
    login = Login.from_variables(NAME, managed.variables)

    def connect() -> SshTransport:
        transport = _Overtaken(NAME, login, "disk0:", acts=True)
        transport.router = managed.router
        return transport

    outcome = fan_out_push([Job(NAME, order, connect)])[NAME]
    assert "number 57" in outcome.error
    assert managed.owned() == managed.base.after
