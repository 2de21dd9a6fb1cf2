"""Who acts by itself goes by the device: its platform, and what the inventory says of its event manager."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.base.shipped import shipped
from slotcar.network.model import Device
from slotcar.rollout import staging
from slotcar.rollout.agenda import agenda
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import APPLY, DeviceFolder
from slotcar.rollout.ios import eem
from slotcar.rollout.ios.applets import applets
from slotcar.rollout.model import NO_PROGRAM
from slotcar.rollout.program import acts
from slotcar.rollout.pusher import _playbook
from tests.support.requests import T0
from tests.unit.rollout.support import NETWORK, active, revision, wanted

WITH_EEM = {"eem": True}


def device(platform: str, options: dict[str, int | str | bool]) -> Device:
    return NETWORK.devices["r1"].model_copy(update={"platform": platform, "options": options})


@pytest.mark.parametrize(
    ("platform", "options", "expected"),
    [
        ("linux-tc", {}, True),
        ("cisco-mqc", WITH_EEM, True),
        ("cisco-mqc", {"eem": False}, False),
        ("cisco-mqc", {}, False),
        ("cisco-car", WITH_EEM, False),
        ("cisco-gsr", WITH_EEM, False),
        ("cisco-cat6500", WITH_EEM, False),
        ("cisco-iosxe-netconf", WITH_EEM, False),
        ("juniper-junos", WITH_EEM, False),
    ],
)
def test_who_acts_by_itself(platform: str, options: dict[str, int | str | bool], expected: bool) -> None:
    assert acts(device(platform, options)) is expected


def test_only_who_acts_gets_a_program() -> None:
    first, *_ = NETWORK.devices
    ios = NETWORK.devices[first].model_copy(update={"platform": "cisco-mqc"})
    for options, armed in ((WITH_EEM, True), ({}, False)):
        devices = NETWORK.devices | {first: ios.model_copy(update={"options": options})}
        network = NETWORK.model_copy(update={"devices": devices})
        assert (wanted(active(1, 10), network=network)[first].program.id != NO_PROGRAM) is armed


def test_a_revisions_folder_has_the_steps_of_the_one_agenda(tmp_path: Path) -> None:
    first, *_ = NETWORK.devices
    ios = NETWORK.devices[first].model_copy(update={"platform": "cisco-mqc", "options": WITH_EEM})
    network = NETWORK.model_copy(update={"devices": NETWORK.devices | {first: ios}})
    pushed = revision(T0, active(1, 10), active(2, 20), network=network)
    folder = DeviceFolder(Archive(tmp_path).write(pushed) / first)
    part, program, armed = pushed.devices[first], folder.program(), eem.staged_applets(folder)
    assert [one.lines for one in armed] == [step.lines for step in agenda(part)]
    assert [one.at for one in armed] == [step.at.timestamp() for step in agenda(part)]
    assert program.ids == part.program.ids
    assert (program.replaces, program.fence, bool(folder.lines(APPLY))) == (NO_PROGRAM, None, True)


def test_what_is_armed_stands_in_the_configuration_that_a_reading_asks_for() -> None:
    ios = device("cisco-mqc", WITH_EEM)
    assert staging.commands(ios) == [eem.RUNNING]
    (applet,) = applets(("1" * 16, NO_PROGRAM), (10.0,), ((),))
    text = "\n".join(eem.registration(applet, lambda: 5, "flash:x", asks=True))
    assert staging.state_of({eem.RUNNING: text}, ios) == ("1" * 16, None)
    assert staging.state_of({eem.RUNNING: text}, device("cisco-mqc", {})) == (NO_PROGRAM, None)


@pytest.mark.parametrize(
    ("platforms", "expected"),
    [
        ({"linux-tc"}, "-linux"),
        ({"cisco-mqc", "cisco-car"}, "-ios"),
        ({"cisco-mqc", "cisco-iosxe-netconf"}, "-ios"),
        ({"cisco-iosxe-netconf"}, "-ios"),
        ({"juniper-junos", "cisco-iosxe-netconf"}, "-ios"),
        ({"linux-tc", "cisco-mqc"}, ""),
        ({"linux-tc", "resource-manager"}, ""),
    ],
)
@pytest.mark.parametrize("name", ["read", "push"])
def test_devices_of_one_kind_have_a_playbook_without_the_others_tasks(
    name: str, platforms: set[str], expected: str
) -> None:
    playbook = _playbook(name, platforms)
    assert playbook == f"{name}{expected}"
    assert (shipped() / "playbooks" / f"{playbook}.yml").is_file()
