"""How the suite is spread over processes (`make test` uses two): a file stays together, and so does all of the lab.

The lab comes first: it is the longest, and its files share one lab in their order.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

LAB = "tests/lab/"


class ByFile(LoadScopeScheduling):
    """As xdist's loadfile, but that the lab counts as one file."""

    def _split_scope(self, nodeid: str) -> str:
        return LAB if nodeid.startswith(LAB) else nodeid.split("::", 1)[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LAB))
