"""Routers: what differs, push, roll back."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.base.problems import printable
from slotcar.base.stopping import PROCESS
from slotcar.cli.answering import answered_by, use_archive
from slotcar.cli.confirmation import confirm
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.options import Devices, Inventory, OutputFormat, Yes, complete_reservation, time_of
from slotcar.cli.output import (
    Format,
    coloured_diff,
    complain,
    emit,
    hanging,
    long_work_reported,
    print_table,
    progress,
    stdout,
)
from slotcar.cli.session import (
    AnyDesk,
    desk,
    network_of,
    now,
    require_local_ledger,
    require_own_state_folder,
    sender,
    settings,
    warn_of_other_controller,
)
from slotcar.cli.tables import Column, fits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from slotcar.cli.rolling_back import RollbackDesk
    from slotcar.recovery.rollback import Goal, Rollback
    from slotcar.rollout.archive import Archive
    from slotcar.rollout.holding import Removal
    from slotcar.rollout.model import PushResult, Wanted
    from slotcar.rollout.pusher import Pusher, Readings
    from slotcar_client.wire import documents


def register(app: typer.Typer) -> None:
    for command in (diff, drift, push, rollback):
        app.command()(command)


def diff(
    device: Devices = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="end with 7 where a device differs")] = False,
) -> None:
    """Read the routers and show where they differ from what the ledger wants now. Changes nothing."""
    comparison = _compare(inventory, device)
    emit(comparison, form, lambda: print_comparison(comparison))
    if comparison["failed"]:
        raise typer.Exit(ExitCode.ERROR)
    if exit_code and comparison["different"]:
        raise typer.Exit(ExitCode.DIFFERENT)


def _compare(inventory: Path | None, device: list[str] | None) -> dict[str, Any]:
    """The document of a comparison, with whom it is about."""
    with sender(inventory) as controller:
        return {**comparison_of(device, controller), "answered_by": answered_by()}


def comparison_of(device: list[str] | None, controller: AnyDesk) -> documents.Comparison:
    """All are read at once, which takes seconds."""
    from slotcar_client.wire.verbs import Differences

    progress("reading the devices")
    return controller.send(Differences(device))


def print_comparison(comparison: Mapping[str, Any]) -> None:
    """`comparison`: the document of one."""
    console = stdout()
    for one in comparison["different"]:
        console.print(printable(one["device"]), style="cyan")
        coloured_diff(one["diff"])
    for name in comparison["equal"]:
        console.print(f"{printable(name)}: has what is wanted")
    for failure in comparison["failed"]:
        complain(f"{failure['device']}: {failure['message']}")


def push(
    device: Devices = None, inventory: Inventory = None, yes: Yes = False, form: OutputFormat = Format.TABLE
) -> None:
    """Make the routers equal to what the ledger wants now, all or none.

    Exit code 4: a push failed and was rolled back; 5: it failed and could not be rolled back. While a controller leads, the
    command asks it to read these routers and push now, and shows its answer.
    """
    from slotcar.cli.leader import ask_leader
    from slotcar.planning.errors import NotPossible
    from slotcar.recovery.comparison import compare, comparison_document, must_be_wanted_still
    from slotcar.rollout.holding import held_devices
    from slotcar.rollout.unrecorded import record_kept
    from slotcar.wiring import pusher_for

    require_local_ledger("devices are pushed to")
    require_own_state_folder()
    with desk(inventory) as opened, opened.ledger.try_lead() or nullcontext() as lease:
        pusher = pusher_for(opened.network, opened.settings, opened.ledger)
        record_kept(pusher.archive, opened.ledger)  # a rollback may have held routers without the ledger
        progress("reading the devices")
        comparison = compare(opened.ledger, opened.network, pusher, now(), device)
        document = {**comparison_document(comparison), "answered_by": answered_by()}
        if form is Format.TABLE or comparison.failures:
            emit(document, form, lambda: print_comparison(document))
        if comparison.failures:
            complain("nothing was pushed; --device NAME pushes to the routers that answer")
            raise typer.Exit(ExitCode.ERROR)
        names = [one.device for one in comparison.diffs]
        if held := held_devices(opened.ledger, now(), names):
            raise NotPossible("; ".join(f"{name}: {why}" for name, why in sorted(held.items())))
        if names:
            confirm(yes, f"Push this to {', '.join(names)}?")
            must_be_wanted_still(opened.ledger, opened.network, comparison, now())
        if lease is None and names:
            ask_leader(opened, names, form)
            return
        result = None if lease is None else _push(pusher, comparison.wanted, comparison.readings)
    changed, revision = (result.changed, result.revision) if result else ((), "")
    words = f"Pushed and verified: {', '.join(changed) or 'nothing, only armed anew'} (revision {revision})."
    document |= {"pushed": list(changed), "revision": revision or None}
    emit(document, form, lambda: stdout().print(words if revision else "Nothing to push."))


def rollback(
    revision: Annotated[
        str | None,
        typer.Argument(help="go back to before this revision; by default the latest push", show_default=False),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help="go back to what routers had after this revision, at this time, or to `baseline`"),
    ] = None,
    device: Devices = None,
    reservation: Annotated[
        str | None,
        typer.Option(
            "--reservation",
            autocompletion=complete_reservation,
            help="only routers of this reservation (a handle, or OWNER/NAME); without --to, back to before it",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="only list the revisions")] = False,
    until: Annotated[
        str | None,
        typer.Option("--until", help="when the controller manages them again, such as now + 2 h; else when released"),
    ] = None,
    inventory: Inventory = None,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Give the routers what they had before a revision or a reservation, or what --to says. Needs no database.

    The routers are held from then on: no controller pushes to them until `slotcar release`, or until --until. A controller
    that leads is asked to leave them alone first. Without a ledger that answers, the next controller with this state folder
    records the hold before it pushes.

    `baseline` is the configuration without any reservation. The archive knows which reservations a router carries,
    and since when: those that the rollback removes, changes or restores are listed before it asks. A slot that has ended is
    not restored. A slot that stays open is ended by the router itself where it can act by itself; the others are listed.
    Routers that do not answer are listed (exit code 1), and the rollback goes on with the rest. The next leading
    controller with this state folder records the event `push.rolled-back` where no ledger answers.
    """
    from slotcar.cli.rolling_back import RollbackDesk, held_words, until_words
    from slotcar.planning.errors import NotPossible
    from slotcar.recovery.history import history_of, taken_with
    from slotcar.recovery.rollback import Goal
    from slotcar.views.devices import named_devices
    from slotcar.wiring import pusher_for

    if to and revision:
        raise typer.BadParameter("say either a revision, for what was before it, or --to", param_hint="--to")
    if reservation and revision:
        words = "goes with --to, not with a revision alone; to have what was after one, say --to REVISION"
        raise typer.BadParameter(words, param_hint="--reservation")
    warn_of_other_controller("archive and routers")
    chosen = settings(inventory=inventory)
    use_archive(chosen.state_dir)
    network = network_of(chosen)
    pusher = pusher_for(network, chosen, None)
    revisions = pusher.archive.revisions()
    if show:
        _list(pusher.archive, form, named_devices(network, device))
        return
    require_own_state_folder()
    hold_until = time_of("--until", until, now())
    if to or reservation:
        _roll_back(RollbackDesk(chosen, network, hold_until), pusher, Goal(to, device, reservation), yes)
        return
    if not revisions and revision is None:
        raise NotPossible(f"there is no revision in {chosen.state_dir}: nothing was pushed yet")
    # Twice the same is the same: the second time it does not take back what the first one did.
    which = revision or pusher.archive.rollback_of(revisions[-1]) or revisions[-1]
    names = named_devices(network, device, pusher.archive.devices_of(which))
    confirm(yes, f"Roll back {which} on {', '.join(names)}, and hold them {until_words(hold_until)}?")
    progress("rolling back")

    def roll_back() -> Mapping[str, Removal]:
        before = history_of(pusher.archive)
        with _finished_at_a_stop(), long_work_reported():
            pusher.roll_back(which, names)
        return taken_with(pusher.archive, which, before, names)

    RollbackDesk(chosen, network, hold_until).hold_and(roll_back, list(names), f"taken back: {which}")
    stdout().print(f"Rolled back and verified: {', '.join(names)}. {held_words(names, hold_until)}")


def _list(archive: Archive, form: Format, names: Collection[str]) -> None:
    from slotcar.recovery.rollback import revisions_document

    listed = [one for one in revisions_document(archive) if not one["devices"] or set(one["devices"]) & set(names)]
    rows = [
        (
            one["revision"], one["at"], one["why"], " ".join(one["devices"]),
            " ".join(one["reservations"]) or "none", one["rollback_of"],
        )
        for one in listed
    ]  # fmt: skip
    columns = tuple(map(Column, ("revision", "at", "why", "devices", "reservations", "rollback of")))

    def table() -> None:
        if not rows or not sys.stdout.isatty() or fits(columns, rows, stdout().width):
            print_table(columns, rows, "No revisions.")
            return
        for revision, at, why, names_of, reservations, taken_back in rows:
            stdout().print(f"{revision}  {at}", style="cyan")
            back = f" (rollback of {taken_back})" if taken_back else ""
            words = f"    {why}{back}; on {names_of or 'no router'}; reservations then: {reservations}"
            stdout().print(hanging(words, 4), soft_wrap=True)

    emit(listed, form, table)


def _push(pusher: Pusher, wanted: Mapping[str, Wanted], readings: Readings) -> PushResult:
    from slotcar.rollout.model import STALE, PushFailed

    try:
        with _finished_at_a_stop(), long_work_reported():
            return pusher.push(wanted, readings.by_device, now(), on_task=progress)
    except PushFailed as error:
        if error.rolled_back and error.devices and all(STALE in why for why in error.devices.values()):
            words = "a slot boundary passed; the routers have what they had; run the command again"
            raise PushFailed(words, rolled_back=True, revision=error.revision, devices=error.devices) from error
        raise


def _roll_back(desk: RollbackDesk, pusher: Pusher, goal: Goal, yes: bool) -> None:
    from slotcar.cli.rolling_back import held_words, until_words
    from slotcar.recovery.rollback import plan_rollback

    progress("reading the devices")
    with long_work_reported():
        rollback = plan_rollback(pusher, desk.network, goal, now())
    for one in rollback.diffs:
        stdout().print(one.device, style="cyan")
        coloured_diff(one.diff)
    for failure in rollback.failures:
        complain(f"{failure.device}: unknown what it has and would lose: {failure.message}")
    names = [one.device for one in rollback.diffs]
    if rollback.wanted:
        question = f"Roll {', '.join(names)} back to {goal.words}, and hold {until_words(desk.until)}?"
        for note in rollback.notes:
            complain(f"note: {note}")
        for sentence in rollback.consequences:
            complain(f"this also {sentence}")
        if rollback.consequences:
            question += f" This also {'; '.join(rollback.consequences)}."
        if rollback.diffs:
            confirm(yes, question)
        rollback.must_be_of_now(now())
        _push_back(desk, pusher, rollback, f"rolled back to {goal.words}")
        words = f" {held_words(names, desk.until)}" if names else " Nothing differed, and nothing is held."
        stdout().print(f"Verified: {', '.join(sorted(rollback.wanted))}.{words}")
    if rollback.failures:
        raise typer.Exit(ExitCode.ERROR)


def _push_back(desk: RollbackDesk, pusher: Pusher, rollback: Rollback, message: str) -> None:
    """What was shown and agreed to; a device that has changed since refuses it."""

    def push() -> Mapping[str, Removal]:
        _push(pusher, rollback.wanted, rollback.readings)
        return rollback.removed

    if rollback.diffs:
        desk.hold_and(push, [one.device for one in rollback.diffs], message)
    else:
        push()


def drift(
    device: Devices = None,
    repair: Annotated[bool, typer.Option("--repair", help="repair the routers that differ; asks first")] = False,
    inventory: Inventory = None,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show which routers no longer have what they should have now.

    Ends with 7 where one differs, 1 where one does not answer. Only configuration of Slotcar's is compared. The
    leading controller does the same by itself, every SLOTCAR_CHECK_INTERVAL (5 minutes) and when a router reports a
    change (SLOTCAR_WATCH): it records the event `device.drifted` and repairs the router. With --repair it does so now.
    """
    if repair:
        require_local_ledger("devices are repaired")
    comparison = _compare(inventory, device)
    different, failed = comparison["different"], comparison["failed"]
    rows = [
        *((one["device"], "drifted", _count(one["diff"])) for one in different),
        *((name, "as wanted", "") for name in comparison["equal"]),
        *((failure["device"], "unknown", failure["message"]) for failure in failed),
    ]
    if form is Format.TABLE or not (repair and different):
        print_it = partial(print_table, ("device", "state", "what"), sorted(rows), "No devices.")
        emit(comparison, form, print_it)
    if repair and different:
        push([one["device"] for one in different], inventory, yes, form)
    elif different and not failed:
        if form is Format.TABLE:
            stdout().print("Next: `slotcar diff` shows the lines, `slotcar drift --repair` mends them.", style="dim")
        raise typer.Exit(ExitCode.DIFFERENT)
    if failed:
        raise typer.Exit(ExitCode.ERROR)


def _count(diff: Sequence[str]) -> str:
    lines = [line for line in diff if not line.startswith("@@")]
    missing, foreign = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f"{missing} {'line' if missing == 1 else 'lines'} missing or changed, {foreign} that should not be there"


@contextmanager
def _finished_at_a_stop() -> Iterator[None]:
    """Ctrl-C or SIGTERM does not leave routers half changed: the push is finished, or taken back, in a bounded time."""
    words = "told to stop: what goes on is finished, or taken back; once more ends it at once, wherever it is"
    with PROCESS.handled(lambda: None if PROCESS.at_once.is_set() else complain(words)):
        yield
