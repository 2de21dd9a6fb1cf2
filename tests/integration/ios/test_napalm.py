"""NAPALM's ios driver, as it is, drives the emulated router."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from slotcar_lab.ios import FullFlash, RefuseLine, Router, Routers
from tests.integration.ios.conftest import STARTUP

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import napalm
    from napalm.base.exceptions import CommitConfirmException, MergeConfigException, ReplaceConfigException

CAR = "rate-limit input access-group 2602 8000000 16000 16000 conform-action set-prec-transmit 5 exceed-action drop"
CHANGE = f"""\
access-list 2602 remark slotcar a
access-list 2602 permit udp host 10.20.11.2 host 10.20.21.2 eq 5001
interface FastEthernet4/0/0
 {CAR}
end
"""
Open = Callable[[Router], Any]


@pytest.fixture
def open_driver() -> Iterator[Open]:
    drivers = []

    def opened(router: Router, **options: object) -> Any:
        driver = napalm.get_network_driver("ios")(
            router.address, router.user, router.password, optional_args={"port": router.port, **options}
        )
        driver.open()
        drivers.append(driver)
        return driver

    yield opened
    for driver in drivers:
        if driver.is_alive()["is_alive"]:
            driver.close()


def test_a_merge_on_trial_is_confirmed(router: Router, open_driver: Open) -> None:
    driver = open_driver(router)
    before = router.running_text()
    driver.load_merge_candidate(config=CHANGE)
    assert driver.compare_config().splitlines() == [f"+{line}" for line in CHANGE.splitlines()[:-1]]
    assert router.running_text() == before

    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    assert router.pending is not None
    assert router.pending.user == router.user
    assert f" {CAR}\n" in router.running_text()
    assert CAR not in router.startup_text()

    driver.confirm_commit()
    assert router.pending is None
    assert f" {CAR}\n" in router.startup_text()
    assert driver.get_config(retrieve="running")["running"].count(CAR) == 1


@pytest.mark.slow
def test_a_merge_on_trial_is_taken_back_by_its_timer(routers: Routers, open_driver: Open) -> None:
    router = routers.add("r", "cisco-car", STARTUP, minute_s=0.5)
    before = router.running_text()
    driver = open_driver(router)
    driver.load_merge_candidate(config=CHANGE)
    driver.commit_config(revert_in=60)
    assert router.wait_for(lambda one: one.reverted)
    assert router.running_text() == before.replace("hostname r\n", "hostname r\nfile prompt quiet\n")
    with pytest.raises(CommitConfirmException, match="No pending configuration"):
        driver.confirm_commit()


def test_a_merge_on_trial_is_rolled_back(router: Router, open_driver: Open) -> None:
    driver = open_driver(router)
    driver.load_merge_candidate(config=CHANGE)
    driver.commit_config(revert_in=120)
    driver.rollback()
    assert CAR not in router.running_text()
    assert router.pending is None


@pytest.mark.slow
def test_a_merge_without_trial_is_saved_and_rolled_back(router: Router, open_driver: Open) -> None:
    driver = open_driver(router)
    driver.load_merge_candidate(config=CHANGE)
    driver.commit_config()
    assert CAR in router.startup_text()
    driver.rollback()
    assert CAR not in router.running_text() + router.startup_text()


def test_a_candidate_is_discarded(router: Router, open_driver: Open) -> None:
    driver = open_driver(router)
    driver.load_merge_candidate(config=CHANGE)
    driver.discard_config()
    assert driver.compare_config() == ""
    assert router.files()["merge_config.txt"] == b""
    assert router.files()["candidate_config.txt"].decode() == router.running_text()


def test_a_replacement_changes_what_differs(router: Router, open_driver: Open) -> None:
    driver = open_driver(router)
    wanted = router.running_text().replace("machine room", "attic").replace("10.0.0.1 ", "10.0.0.9 ")
    driver.load_replace_candidate(config=wanted)
    assert driver.compare_config().splitlines() == [
        "+snmp-server location attic",
        "interface FastEthernet4/0/0",
        " +ip address 10.0.0.9 255.255.255.0",
        " -ip address 10.0.0.1 255.255.255.0",
        "-snmp-server location machine room",
    ]
    driver.commit_config()
    driver.close()
    assert router.running_text() == wanted
    replaced = [one.line for one in router.history if one.origin == "replace"]
    assert "ip address 10.0.0.9 255.255.255.0" in replaced
    assert not [line for line in replaced if "ip route" in line]


@pytest.mark.slow
def test_a_refused_merge_is_rolled_back_by_the_driver(router: Router, open_driver: Open) -> None:
    driver = open_driver(router)
    driver.load_merge_candidate(config=CHANGE.replace("rate-limit input", "rate-limit sideways"))
    with pytest.raises(MergeConfigException, match="Invalid input detected"):
        driver.commit_config()
    assert "access-list 2602" not in router.running_text()


@pytest.mark.slow
def test_a_refused_replacement_restores_what_was(router: Router, open_driver: Open) -> None:
    router.fault(RefuseLine("location attic"))
    driver = open_driver(router)
    driver.load_replace_candidate(config=router.running_text().replace("machine room", "attic"))
    with pytest.raises(ReplaceConfigException, match="original configuration has been successfully restored"):
        driver.commit_config()
    assert "snmp-server location machine room" in router.running_text()


def test_a_full_flash_takes_no_candidate(router: Router, open_driver: Open) -> None:
    router.fault(FullFlash())
    with pytest.raises(MergeConfigException, match="Insufficient space"):
        open_driver(router).load_merge_candidate(config=CHANGE)
    assert "merge_config.txt" not in router.files()


def test_no_archive_means_no_trial(routers: Routers, open_driver: Open) -> None:
    router = routers.add("r", "cisco-car", "ip scp server enable\n")
    driver = open_driver(router)
    driver.load_merge_candidate(config="ip route 10.9.0.0 255.255.0.0 10.0.0.2\nend\n")
    with pytest.raises(CommitConfirmException, match="requires 'archive' feature"):
        driver.commit_config(revert_in=60)


def test_user_exec_mode_asks_for_the_secret(routers: Routers, open_driver: Open) -> None:
    router = routers.add("r", "cisco-mqc", STARTUP, privilege=1, enable_secret="fake-secret")
    driver = open_driver(router, secret="fake-secret", force_no_enable=True)
    assert driver.device.find_prompt() == "r>"
    driver.device.enable()
    assert driver.device.find_prompt() == "r#"
    assert "FastEthernet4/0/0" in driver.cli(["show running-config | section interface"]).popitem()[1]
