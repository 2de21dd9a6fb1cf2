"""From an error to a sentence on stderr and an exit code."""

from __future__ import annotations

from contextlib import suppress

import typer

from slotcar.base.problems import SlotcarError
from slotcar.base.texts import lines_of
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.output import at_terminal, complain, others_short
from slotcar.cli.remote import not_understood


def exit_code(error: BaseException, debug: bool = False) -> int:
    """Says what went wrong, once, and gives the exit code for it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else ExitCode.ERROR
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        complain("interrupted")
        return ExitCode.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return ExitCode.ERROR
    if isinstance(error, typer.TyperException):
        if isinstance(message := getattr(error, "message", None), str):
            # "Value error" is pydantic's, of a choice. What typer shows is as wide as it comes.
            error.message = at_terminal(message.replace("Value error, ", ""))
        error.show()  # type: ignore[attr-defined]
        return ExitCode.USAGE
    if isinstance(error, SlotcarError):
        complain(_words(error))
        return _code_of(error)
    words = not_understood(error)
    complain(words or f"unexpected error: {type(error).__name__}: {_first_line(error)}")
    if words is None and not debug:
        complain("this is a fault in Slotcar; say the command again with --debug to see where")
    return ExitCode.ERROR


def _words(error: SlotcarError) -> str:
    """The words of an error. Of a refusal they name the tightest shortfall only, unless all are asked for."""
    from slotcar.cli.place import RefusedByController
    from slotcar.planning.errors import RefusedByAdmission
    from slotcar.views.explain import refusal_sentences

    if isinstance(error, RefusedByAdmission):
        return "\n".join(refusal_sentences(error.reservation, error.refused, others_short()))
    if isinstance(error, RefusedByController) and error.refusal is not None:
        from slotcar.cli.from_documents import refused_of

        first, *_ = [*lines_of(str(error)), ""]
        with suppress(LookupError, TypeError, AttributeError, ValueError):  # of a server that is none of ours
            return "\n".join([first, *(f"  {line}" for line in refused_of(error.refusal).explain(others_short()))])
    return str(error)


def _first_line(error: BaseException) -> str:
    lines = lines_of(str(error).strip())
    return lines[0] if lines else "no message"


def _code_of(error: SlotcarError) -> int:
    from slotcar.api.listening import PortInUse
    from slotcar.base.stopping import PROCESS, Stopping
    from slotcar.book.errors import PlanNotAdmitted
    from slotcar.book.rules.errors import RefusedByPolicy
    from slotcar.cli.place import RefusedByController
    from slotcar.planning.errors import CannotExpress, PlanRefused, RefusedByAdmission
    from slotcar.rollout.model import PushFailed

    if isinstance(error, Stopping):
        return 128 + PROCESS.signal_number
    if isinstance(
        error,
        RefusedByAdmission | RefusedByPolicy | PlanRefused | PlanNotAdmitted | CannotExpress | RefusedByController,
    ):
        return ExitCode.REFUSED
    if isinstance(error, PortInUse):
        return ExitCode.PORT_IN_USE
    if isinstance(error, PushFailed):
        return ExitCode.ROLLED_BACK if error.rolled_back else ExitCode.NOT_ROLLED_BACK
    return ExitCode.ERROR
