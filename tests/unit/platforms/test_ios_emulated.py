"""Every golden change of a modular QoS router and of a 12000, taken by the software router among an operator's lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotcar.network.model import Device
from slotcar.platforms import Configuration as Rendered
from slotcar.platforms import renderer_of
from slotcar_lab.ios.configuration import Configuration
from slotcar_lab.ios.grammar import load
from tests.golden.test_render import CASES, Case, change_of, network_of
from tests.support.rendering import all_away

BROWNFIELD = Path(__file__).parents[2] / "golden" / "brownfield"
FILES = {"north-edge": "mqc-campus.cfg", "bo-gsr": "gsr-backbone.cfg", "mi-gsr": "gsr-backbone.cfg"}
PARAMS = [
    pytest.param(folder, name, sequences, id=f"{folder.name}-{name}{'-xe' if sequences else ''}")
    for folder in CASES
    if folder.name.startswith(("cisco-mqc-", "cisco-gsr-"))
    for name in sorted(file.stem for file in folder.glob("*.change"))
    for sequences in ((False, True) if folder.name.startswith("cisco-mqc-") else (False,))
]


class Router:
    """A device with an operator's configuration, as far as the software router knows an operator's lines."""

    def __init__(self, device: Device, sequences: bool) -> None:
        self.device = device
        text = (BROWNFIELD / FILES[device.name]).read_text(encoding="utf-8") if device.name in FILES else ""
        self._router = Configuration(load(device.platform), sequences=sequences)
        self._router.load(text.splitlines())
        names = {*re.findall(r"^interface (\S+)", text, re.M), *device.interfaces}
        self._router.hardware = frozenset(names | {name.partition(".")[0] for name in names})

    def run(self, lines: tuple[str, ...]) -> None:
        cursor = self._router.cursor()
        for line in lines:
            answer = self._router.apply(cursor, line)
            assert answer.taken, f"{line}: {answer}"
            assert not answer.message, f"{line}: {answer}"

    def read(self) -> Rendered:
        renderer = renderer_of(self.device)
        (command,) = renderer.readback_commands(self.device)
        return renderer.running({command: self._router.text()}, self.device)

    def text(self) -> str:
        return self._router.text()


@pytest.mark.parametrize(("folder", "name", "sequences"), PARAMS)
def test_the_router_takes_the_change_and_its_undo(folder: Path, name: str, sequences: bool) -> None:
    device = network_of(Case.read(folder).inventory).devices[name]
    renderer = renderer_of(device)
    change = change_of(folder, name)
    router = Router(device, sequences)
    # An interface of the inventory that the operator never named is printed once it has been entered.
    router.run(tuple(f"interface {one}" for one in device.interfaces))
    bare = router.text()

    router.run(renderer.change(Rendered(name, device.platform), change.before, device).apply)
    assert router.read() == change.before
    router.run(change.apply)
    assert router.read() == change.after
    router.run(change.undo)
    assert router.read() == change.before
    router.run(all_away(renderer, device, router.read()))
    assert router.text() == bare
