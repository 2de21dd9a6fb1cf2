"""Asking the controller that leads to look at routers and to push to them now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.output import Format, complain, emit, progress, stdout
from slotcar.cli.session import actor, now
from slotcar.planning.errors import NotPossible

if TYPE_CHECKING:
    from slotcar.desk.desk import Desk

#: A leader that waits for a boundary answers after it.
PATIENCE_S = 120.0


def ask_leader(opened: Desk, names: Sequence[str], form: Format) -> None:
    """Prints what it did. Ends with 1 where a router takes no push.

    Raises:
        NotPossible: it does not answer in time.
    """
    from slotcar.rollout.check_requests import ask_check, wait_for_answer
    from slotcar.store.queries import EventFilter
    from slotcar_client.wire.events import CheckDone, PushVerified

    progress("asking the controller that leads to read these routers, and to push")
    request_sequence = ask_check(opened.ledger, names, actor(), now())
    answer = wait_for_answer(opened.ledger, request_sequence, PATIENCE_S)
    if answer is None:
        raise NotPossible(
            f"no controller answered within {PATIENCE_S:.0f} s; the next leading controller reads these routers first:"
            " see `slotcar status --watch`"
        )
    events = opened.ledger.events_of(EventFilter((PushVerified.kind,)), request_sequence, 1000)
    pushed = sorted({event.device for event in events if event.device and event.sequence < answer.sequence} & {*names})
    failed = dict(answer.says.failed) if isinstance(answer.says, CheckDone) else {}
    equal = sorted({*names} - {*pushed} - failed.keys())

    def table() -> None:
        for words, listed in (("Pushed and verified", pushed), ("Has what is wanted by now", equal)):
            if listed:
                stdout().print(f"{words}, by the controller that leads: {', '.join(listed)}.")
        for name, why in sorted(failed.items()):
            complain(f"{name}: {why}")

    emit({"pushed": pushed, "equal": equal, "failed": failed}, form, table)
    if failed:
        raise typer.Exit(ExitCode.ERROR)
