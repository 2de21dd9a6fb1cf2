"""How a command of `slotcar` ends: the one table of exit codes, which `slotcar --help` and docs/reference/cli.md show."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The number, and what it says. Numbers are kept: scripts and service managers know them."""

    meaning: str

    OK = 0, "done"
    ERROR = 1, "an error, printed on standard error; also: a device does not answer"
    USAGE = 2, "wrong use; also: it has to ask, but there is no terminal and no --yes"
    REFUSED = 3, "refused by admission or by policy"
    ROLLED_BACK = 4, "a push failed and was rolled back"
    NOT_ROLLED_BACK = 5, "a push failed and could not be rolled back"
    DECLINED = 6, "the answer to a question was no"
    DIFFERENT = (
        7,
        "a device differs from what is wanted (drift, diff --exit-code); also: policies differ (policy diff)",
    )
    PORT_IN_USE = 8, "another program listens on the port (serve)"
    LATE = 9, "it was done after its deadline, or its deadline has passed (transfer)"
    INTERRUPTED = 130, "interrupted (Ctrl-C)"
    TERMINATED = 143, "told to end by a signal (SIGTERM), before it was done"

    def __new__(cls, number: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member


def markdown_table() -> str:
    """All exit codes as a table, for the reference."""
    rows = [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    return "\n".join(["**Exit codes**:", "", "| code | meaning |", "|---|---|", *rows])
