"""`slotcar`: the verbs at a terminal. `main` turns errors into sentences and exit codes."""

from __future__ import annotations

import os
import sys

from slotcar.base.files import searched_elsewhere
from slotcar.base.private_files import UMASK
from slotcar.base.stopping import PROCESS

VERBOSE = ("--verbose", "-v")


def main() -> None:
    """Entry point of the console script; never shows a traceback unless --debug or SLOTCAR_DEBUG asks for it."""
    arguments = [argument for argument in sys.argv[1:] if argument not in ("--debug", *VERBOSE)]
    os.umask(UMASK)
    PROCESS.heed_signals()
    os.environ.update(searched_elsewhere(os.environ))  # of all that this process starts
    debug = "--debug" in sys.argv[1:] or os.environ.get("SLOTCAR_DEBUG", "") not in ("", "0")
    try:
        from slotcar.cli.app import app
        from slotcar.cli.output import be_verbose

        if "_SLOTCAR_COMPLETE" in os.environ:
            from typer._completion_classes import completion_init

            completion_init()
        be_verbose(not set(sys.argv[1:]).isdisjoint(VERBOSE))
        code = app(arguments, standalone_mode=False)
    except BaseException as error:
        if debug and not isinstance(error, SystemExit | KeyboardInterrupt):
            import traceback

            traceback.print_exc()
        from slotcar.cli.failures import exit_code

        code = exit_code(error, debug)
    _flush()
    sys.exit(code if isinstance(code, int) else 0)


def _flush() -> None:
    """A reader that went away (`| head`) is no error of ours."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
