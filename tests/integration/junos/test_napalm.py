"""NAPALM's `junos` driver, which knows nothing of Slotcar, drives the router in software as it drives a real one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from napalm import get_network_driver  # type: ignore[import-untyped]
from napalm.base.exceptions import LockError, MergeConfigException  # type: ignore[import-untyped]

from slotcar_lab.junos import JunosRouter

STARTUP = "<configuration><interfaces><interface><name>ge-0/0/1</name></interface></interfaces></configuration>"
MERGED = """<configuration><firewall><policer><name>ONE</name><if-exceeding><bandwidth-limit>10m</bandwidth-limit>
<burst-size-limit>625k</burst-size-limit></if-exceeding><then><discard/></then></policer></firewall></configuration>"""


@pytest.fixture
def router() -> Iterator[JunosRouter]:
    with JunosRouter("r1", STARTUP) as running:
        yield running


@pytest.fixture
def driver(router: JunosRouter) -> Iterator[Any]:
    opened = get_network_driver("junos")(
        router.address, router.user, router.password, optional_args={"port": router.port}
    )
    opened.open()
    yield opened
    opened.close()


def test_a_merge_is_compared_committed_and_rolled_back(router: JunosRouter, driver: Any) -> None:
    before = router.running()
    driver.load_merge_candidate(config=MERGED)
    assert driver.compare_config().splitlines()[:2] == ["[edit]", "+    firewall {"]
    driver.commit_config()
    assert "<name>ONE</name>" in router.running()
    driver.rollback()
    assert router.running() == before


def test_a_commit_that_is_not_confirmed_goes_and_one_that_is_stays(router: JunosRouter, driver: Any) -> None:
    before = router.running()
    driver.load_merge_candidate(config=MERGED)
    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    router.expire()
    assert router.running() == before
    driver.load_merge_candidate(config=MERGED)
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    assert not driver.has_pending_commit()
    router.expire()
    assert "<name>ONE</name>" in router.running()


def test_what_is_refused_is_discarded_and_a_lock_is_minded(router: JunosRouter, driver: Any) -> None:
    with pytest.raises(MergeConfigException, match="syntax error"):
        driver.load_merge_candidate(config=MERGED.replace("policer>", "policier>"))
    router.call(lambda machine: machine.lock(1))
    with pytest.raises(LockError):
        driver.load_merge_candidate(config=MERGED)
    router.call(lambda machine: machine.unlock(1))
    driver.load_merge_candidate(config=MERGED)
    driver.discard_config()
    assert driver.compare_config() == ""
    assert "ONE" not in router.running()
