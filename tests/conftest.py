"""How the suite is spread over processes (`make test` uses three): a file stays together, and so do the files of a lab.

The labs come first: they take longest. Most files of `tests/lab` share one lab in their order; those that bring a lab of
their own up, or leave nothing of a shared one as it was, are the work of a second process in `make test`. In a run of slow
cases all are one process' work: of two emulated machines at a time neither shows what the papers' experiments need.

A run that is given `--minutes` takes the files in another order each time, so that what it does not reach is reached by
another run; it says what it left, and `--order` repeats it.

Random cases are the same ones in every `make test`. `make test-slow` draws new ones (`--hypothesis-profile=new`), and says
how to meet a failure again; one that was met so becomes an `@example` of its test.

A run that leaves a process or a temporary file behind has failed.
"""

from __future__ import annotations

import fcntl
import gc
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.support import inventories, prefork
from tests.support.examples import NEW, SAME
from tests.support.leftovers import Run

LAB = "tests/lab/"
#: The marker expression of `make test`.
SHORT = "not slow"
#: Of the lab's files, those for the second process.
LABS_OF_THEIR_OWN = (
    "test_background", "test_chaos_faults", "test_experiments", "test_hosts_systemd", "test_mixed_boundary",
    "test_network_and_cores", "test_slots_through_chaos", "test_transfer", "test_tutorial",
)  # fmt: skip
#: The lab's files that make the papers' experiments, time a transfer, or look at each packet of a flow.
TIMED = ("test_background", "test_experiments", "test_network_and_cores", "test_slots_of_others", "test_transfer")
RUN = pytest.StashKey[Run]()
#: The number of the order of the files, the same in all processes of a run; none without `--minutes`.
ORDER = pytest.StashKey[int | None]()
#: When this process began, by the monotonic clock.
BEGAN_S = time.monotonic()
#: Traffic on the lab's routers is timed: what else runs beside it gives way, by so much.
NICENESS = 5

hypothesis.settings.register_profile(SAME, derandomize=True, deadline=None, database=None, print_blob=True)
hypothesis.settings.register_profile(NEW, deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile(SAME)
inventories.keep_answers()


class ByFile(LoadScopeScheduling):
    """As xdist's loadfile, but that the lab's files count as one, or as two where only short cases are run."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        if not file.startswith(LAB):
            return file
        two = self.config.option.markexpr == SHORT
        return f"{LAB}own" if two and file.removeprefix(LAB).removesuffix(".py") in LABS_OF_THEIR_OWN else LAB


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--minutes", type=float, metavar="N", help="begin no case after so many minutes: skip it, and say so"
    )
    parser.addoption("--order", type=int, metavar="N", help="with --minutes: the order of the files, by number")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    return ByFile(config, log)


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
    files = list(dict.fromkeys(item.path for item in items))
    if config.stash[ORDER] is not None:
        random.Random(config.stash[ORDER]).shuffle(files)
    place = {file: number for number, file in enumerate(files)}
    items.sort(key=lambda item: (not item.nodeid.startswith(LAB), place[item.path]))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Of two labs one stands still while traffic is judged on the other: both have the same cores.

    The wait is no part of the time that a case may take.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or not item.nodeid.startswith(LAB):
        return (yield)
    timed = item.path.stem in TIMED
    if not timed:
        time.sleep(0.1)  # whoever waits for this process' last case takes the lock meanwhile
    with Path(__file__).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX if timed else fcntl.LOCK_SH)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a case for which the run's minutes are over.

    A worker is the lab's first, if at all, so that it never has to take back what only root may.
    """
    minutes: float | None = item.config.option.minutes
    if minutes is not None and time.monotonic() - BEGAN_S > minutes * 60:
        pytest.skip(f"not begun: the run's {minutes:g} minutes were over")
    if "PYTEST_XDIST_WORKER" in os.environ and not item.nodeid.startswith(LAB) and os.nice(0) < NICENESS:
        os.nice(NICENESS)


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
        config.stash[ORDER] = config.workerinput["order"]
        return
    config.stash[ORDER] = _order(config.option.minutes, config.option.order)
    config.stash[RUN] = run = Run()
    config.option.basetemp = config.option.basetemp or run.base


def _order(minutes: float | None, order: int | None) -> int | None:
    """
    Raises:
        UsageError: an order is named, and no run of some minutes.
    """
    if minutes is None:
        if order is not None:
            raise pytest.UsageError("--order is the order of a run with --minutes: say both")
        return None
    return order if order is not None else time.time_ns() % 1000


def pytest_configure_node(node: WorkerController) -> None:
    node.workerinput["order"] = node.config.stash[ORDER]


def pytest_report_header(config: pytest.Config) -> list[str]:
    minutes = config.option.minutes
    return [] if minutes is None else [f"no case begins after {minutes:g} minutes; --order {config.stash[ORDER]}"]


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
