"""How the suite is spread over processes (`make test` uses three): a file stays together, and so do the files of a lab and
those that share a browser.

The labs come first: they take longest. Most files of `tests/lab` share one lab in their order; in `make test` those that
bring a lab of their own up, or need no router, are the work of a second process, and the tutorial, which waits for minutes
of real time, that of a third. In a run of slow cases one process has all of them: of two emulated machines at a time
neither shows what the papers' experiments need.

Random cases are the same ones in every `make test`. `make test-slow` draws new ones (`--hypothesis-profile=new`), and says
how to meet a failure again; one that was met so becomes an `@example` of its test.

The guests of `make test` have one emulated processor: beside the other processes of the run two are a third dearer and no
faster, and threads of an emulator that race for one guest are one thing more that can hang. Traffic is for the slow cases.

A run that leaves a process or a temporary file behind has failed.
"""

from __future__ import annotations

import gc
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from _pytest.terminal import TerminalReporter
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from slotcar_lab.guest.machine import PROCESSORS_VARIABLE
from tests.support import forked_ansible, inventories, prefork
from tests.support.examples import NEW, SAME
from tests.support.leftovers import Run
from tests.support.lost_labs import write_what_was_lost

LAB, BROWSER = "tests/lab/", "tests/browser/"
#: The marker expression of `make test`.
SHORT = "not slow"
#: A line of a file without a short case.
SLOW_FILE = re.compile(r"^pytestmark = (\[.*\b)?pytest\.mark\.slow\b", re.MULTILINE)
#: Of the lab's files, those that `make test` gives to other processes. Those in virtual time share one lab.
BESIDE_THE_LAB = {
    "test_tutorial": "tutorial",
    "test_chaos_faults": "own",
    "test_hosts_systemd": "own",
    "test_virtual_controller": "own",
    "test_virtual_costs": "own",
    "test_virtual_programs": "own",
    "test_virtual_time": "own",
    "test_virtual_traffic": "own",
}
RUN = pytest.StashKey[Run]()

hypothesis.settings.register_profile(SAME, derandomize=True, deadline=None, database=None, print_blob=True)
hypothesis.settings.register_profile(NEW, deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile(SAME)
inventories.keep_answers()
forked_ansible.fork()


class ByFile(LoadScopeScheduling):
    """As xdist's loadfile, but that the browser's files count as one, and the lab's as one, or as three where only short
    cases are run.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        if file.startswith(BROWSER):
            return BROWSER
        if not file.startswith(LAB):
            return file
        if self.config.option.markexpr != SHORT:
            return LAB
        return LAB + BESIDE_THE_LAB.get(file.removeprefix(LAB).removesuffix(".py"), "")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    return ByFile(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that says of itself that all of it is slow is not even imported for `make test`."""
    if config.option.markexpr != SHORT or collection_path.suffix != ".py":
        return None
    return True if SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Of a case with `in_short`, what it does not name is slow."""
    short = item.get_closest_marker("in_short")
    if short is not None and isinstance(item, pytest.Function) and item.callspec.id not in short.args:
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is collected stays to the end of the run: Python's collector of cycles need not look through it, neither while
    it grows (a quarter of the time that collecting takes) nor again and again afterwards.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    _require_short_cases(items)
    yield
    items.sort(key=lambda item: (not item.nodeid.startswith(LAB), not item.nodeid.startswith(f"{LAB}test_tutorial")))


def _require_short_cases(items: list[pytest.Item]) -> None:
    """
    Raises:
        UsageError: `in_short` names a case that is not there (any more), so that `make test` would leave it out.
    """
    cases: dict[str, set[str]] = defaultdict(set)
    short: dict[str, set[str]] = {}
    for item in items:
        marker = item.get_closest_marker("in_short")
        if marker is not None and isinstance(item, pytest.Function):
            function = item.nodeid.partition("[")[0]
            cases[function].add(item.callspec.id)
            short[function] = set(marker.args)
    for function, named in short.items():
        # Whoever asks for a few of the cases by their ids has not collected the others.
        if (missing := named - cases[function]) and len(cases[function]) > len(named):
            raise pytest.UsageError(f"{function}: in_short names {', '.join(sorted(missing))}, which is no case of it")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    if config.option.markexpr == SHORT:
        os.environ.setdefault(PROCESSORS_VARIABLE, "1")
    config.stash[RUN] = run = Run()
    config.option.basetemp = config.option.basetemp or run.base


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    write_what_was_lost(terminalreporter)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Last of all: the workers of the run have ended, and every fixture has been taken down."""
    yield
    prefork.stop()
    if (run := session.config.stash.get(RUN, None)) is None:
        return
    failed = session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    for one in run.finish(failed=failed):
        reporter.write_line(f"LEFT BEHIND by this run: {one}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if failed:
        reporter.write_line(f"the tests' files are kept in {session.config.option.basetemp}")
