"""The process that makes plans: `python -m slotcar.api.plan_process DESCRIPTOR`, started by `plan_workers`.

It speaks over the socket of that number: first comes what it works with, then plan after plan, each answered with its
document or with the error that refuses it. It ends when the other side is gone, also in the middle of a plan.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from slotcar.api.answers import model_of
from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.base.texts import lines_of
from slotcar.book.rules.request_limits import PlanTooLarge
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk
from slotcar.desk.files import ReservationFiles
from slotcar.network.model import Network
from slotcar.network.path.topology import topology_of
from slotcar.planning.plan_page import PageStart, page_document
from slotcar.planning.source import source_of_body
from slotcar.store import Ledger, open_ledger
from slotcar_client.wire import documents

#: The API and the reconcile loop come first.
NICE = 5
#: An answer above this is refused, whatever makes it so large.
MAX_ANSWER_BYTES = 10_000_000
#: What a plan may take beyond `Settings.plan_timeout` before the process ends by itself.
ALARM_MARGIN_S = 10


@dataclass(frozen=True, slots=True)
class Workplace:
    """What plans are made with: the ledger's address with its password, the network, the settings."""

    ledger_url: str
    network: Network
    settings: Settings


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """One plan: a reservation file, whose it is, and which page of it is wanted.

    Attributes:
        body: as a request has it, or as the text of a file, which is read here, by this process's limits.
        owners: of whom it speaks beside those in the body.
    """

    body: dict[str, Any] | str
    set_name: str
    caller: Caller
    now: datetime
    start: PageStart
    max_lines: int
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The document as JSON, or the error that refuses the plan, or neither: a fault, which the log has."""

    document: bytes | None = None
    error: SlotcarError | None = None
    out_of_memory: bool = False


def answer(request: PlanRequest, desk: Desk) -> bytes:
    """
    Raises:
        SlotcarError: the plan is refused, or its answer is too large.
    """
    source = source_of_body(request.body, request.now, request.set_name, desk.settings.max_windows, request.owners)
    plan = ReservationFiles(desk).plan(source, request.caller, request.now, request.start.at)
    document = model_of(documents.Plan).model_validate(page_document(plan, request.start, request.max_lines))
    text = document.model_dump_json().encode("utf-8", "replace")
    if len(text) > MAX_ANSWER_BYTES:
        raise PlanTooLarge(
            f"the answer would have {len(text)} bytes, more than the {MAX_ANSWER_BYTES} that it may have: plan fewer"
            " reservations at a time, or ask for fewer `lines`"
        )
    return text


def main(descriptor: int) -> None:
    os.nice(NICE)
    threading.Thread(target=_end_with_controller, args=(descriptor,), name="slotcar-end", daemon=True).start()
    with Connection(descriptor) as pipe:
        try:
            workplace: Workplace = pipe.recv()
            pipe.send(None)  # ready
            _serve(pipe, workplace)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # the controller is gone


def _end_with_controller(descriptor: int) -> None:
    """Ends this process when the controller is gone, whatever the plan is at: it keeps nothing."""
    hung_up = select.poll()
    hung_up.register(descriptor, select.POLLRDHUP)
    hung_up.poll()
    os._exit(1)


def _serve(pipe: Connection, workplace: Workplace) -> None:
    ledger: Ledger | None = None
    desk: Desk | None = None
    try:
        while True:
            request: PlanRequest = pipe.recv()
            try:
                if ledger is None or desk is None:
                    ledger = open_ledger(workplace.ledger_url, Path(workplace.settings.state_dir))
                    desk = Desk(ledger, workplace.network, workplace.settings)
                    # Before the memory is limited: a library that runs out of it while it is imported raises anything.
                    topology_of(workplace.network)
                # The controller ends a plan in time; an alarm ends it where the controller was killed, and the thread
                # that would notice does not get its turn.
                signal.alarm(int(workplace.settings.plan_timeout.total_seconds()) + ALARM_MARGIN_S)
                with _limited_memory(workplace.settings.plan_memory_bytes):
                    answered = PlanAnswer(answer(request, desk))
            except SlotcarError as error:
                answered = PlanAnswer(error=error)
            except MemoryError:
                pipe.send(PlanAnswer(out_of_memory=True))
                return  # what is left of it would be missing to the next plan
            except Exception:
                traceback.print_exc()
                answered = PlanAnswer()
            finally:
                signal.alarm(0)
            pipe.send(answered)
    finally:
        if ledger is not None:
            ledger.close()


@contextmanager
def _limited_memory(most_bytes: int) -> Iterator[None]:
    """Limits the memory that the process may take beside what it has now; beyond that it gets a `MemoryError`."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    allowed = _data_bytes() + most_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (allowed if hard == resource.RLIM_INFINITY else min(allowed, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _data_bytes() -> int:
    """The process's data, as the kernel counts it for this limit (`VmData`)."""
    for line in lines_of(Path("/proc/self/status").read_text(encoding="ascii", errors="replace")):
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    # What is sent must be of the module's classes, and not of those of the module as it runs here.
    from slotcar.api import plan_process

    plan_process.main(int(sys.argv[1]))
