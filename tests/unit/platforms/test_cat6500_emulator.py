"""The lab's emulator, written from Cisco's command reference by itself, takes every line of the golden cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.network.model import Device
from slotcar.platforms import Configuration, renderer_of
from slotcar_lab.ios.configuration import Configuration as Emulated
from slotcar_lab.ios.grammar.table import load
from tests.golden.test_render import CASES, Case, change_of, configurations, network_of

FOLDERS = [pytest.param(folder, id=folder.name) for folder in CASES if folder.name.startswith("cisco-cat6500-")]


def take(switch: Emulated, lines: tuple[str, ...]) -> None:
    cursor = switch.cursor()
    for line in lines:
        answer = switch.apply(cursor, line)
        assert answer.taken, f"{line}: {answer}"
        assert answer.message == "", line


def read(switch: Emulated, device: Device) -> tuple[str, ...]:
    renderer = renderer_of(device)
    (command,) = renderer.readback_commands(device)
    return renderer.running({command: switch.text()}, device).lines


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_emulator_takes_each_change_and_its_undo(folder: Path) -> None:
    for name in configurations(folder)[1]:
        device = network_of(Case.read(folder).inventory).devices[name]
        change = change_of(folder, name)
        nothing = Configuration(name, device.platform)
        switch = Emulated(load("cisco-cat6500"), hardware=frozenset(device.interfaces))
        assert switch.load(["mls qos", *(f"interface {interface}" for interface in device.interfaces)]) == []

        take(switch, renderer_of(device).change(nothing, change.before, device).apply)
        assert read(switch, device) == change.before.lines, name
        take(switch, change.apply)
        assert read(switch, device) == change.after.lines, name
        take(switch, change.undo)
        assert read(switch, device) == change.before.lines, name


def test_there_are_cases() -> None:
    devices = [
        name for folder in CASES for name in configurations(folder)[1] if folder.name.startswith("cisco-cat6500-")
    ]
    assert len(devices) >= 20
