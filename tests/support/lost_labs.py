"""What a lab's guest was doing when it was lost: from the process that saw it to the end of the run's output."""

from __future__ import annotations

from _pytest.terminal import TerminalReporter

#: The property of a report that holds it.
LOST_LAB = "lost lab"


def write_what_was_lost(reporter: TerminalReporter) -> None:
    """Below the failures, where whoever sees only the end of the output still finds it."""
    for report in [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]:
        for name, text in getattr(report, "user_properties", ()):  # a report of collecting has none
            if name == LOST_LAB:
                reporter.section(f"the guest that was lost in {report.nodeid}")
                reporter.write_line(text)
