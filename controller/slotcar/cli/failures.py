"""From an error to a sentence on stderr and an exit code."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from slotcar.base.problems import SlotcarError
from slotcar.base.texts import lines_of
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.output import at_terminal, complain, others_short
from slotcar.cli.remote import not_understood

if TYPE_CHECKING:
    from slotcar_client.wire import errors as wire


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
    from slotcar_client.wire import errors as wire

    if isinstance(error, SlotcarError | wire.SlotcarError):
        complain(_words(error))
        return _code_of(error)
    words = not_understood(error)
    complain(words or f"unexpected error: {type(error).__name__}: {_first_line(error)}")
    if words is None and not debug:
        complain("this is a fault in Slotcar; say the command again with --debug to see where")
    return ExitCode.ERROR


def _words(error: SlotcarError | wire.SlotcarError) -> str:
    """The words of an error. Of a refusal they name the tightest shortfall only, unless all are asked for."""
    from slotcar_client.wire import errors as wire

    if isinstance(error, wire.Problem) and error.maybe_done:
        return f"{error}; an earlier attempt may have done it: see slotcar status"
    if isinstance(error, wire.Refused):
        from slotcar.views.documents import refused_of

        first, *_ = [*lines_of(str(error)), ""]
        with suppress(LookupError, TypeError, AttributeError, ValueError):  # of a server that is none of ours
            return "\n".join([first, *(f"  {line}" for line in refused_of(error.refusal).explain(others_short()))])
    return str(error)


def _first_line(error: BaseException) -> str:
    lines = lines_of(str(error).strip())
    return lines[0] if lines else "no message"


def _code_of(error: SlotcarError | wire.SlotcarError) -> int:
    """Of a problem it follows from the problem's type, wherever it was raised."""
    from slotcar.api.listening import PortInUse
    from slotcar.base.stopping import PROCESS, Stopping
    from slotcar.desk.problems import kind_of
    from slotcar.rollout.model import PushFailed
    from slotcar_client.wire import errors as wire

    if isinstance(error, Stopping):
        return 128 + PROCESS.signal_number
    if isinstance(error, PortInUse):
        return ExitCode.PORT_IN_USE
    if isinstance(error, PushFailed):
        return ExitCode.ROLLED_BACK if error.rolled_back else ExitCode.NOT_ROLLED_BACK
    kind = (
        error.kind if isinstance(error, wire.Problem) else kind_of(error)[1] if isinstance(error, SlotcarError) else ""
    )
    return ExitCode.REFUSED if kind in wire.REFUSALS else ExitCode.ERROR
