"""What devices are told, byte for byte: one folder a case, in it the wanted configuration of every device that the case
changes, the change that makes it so, and the undo.

A case's name begins with its platform's. `case.yml` says which inventory, which instant, and where the meaning comes from;
`reservations.yml` what is reserved, or `reservations: NAME` in `case.yml` where several cases share `shared/NAME.yml`.
The change starts from the network without reservations, unless `before_at` (and `before.yml`, `before_inventory`) say
otherwise, or `unmanaged` that Slotcar was never there. A device without files is one that the case leaves alone. That
the numbers promise no less than was reserved is asserted in `tests/unit/platforms/` (`test_mqc_promises.py`,
`test_limits_car_linux.py`).

After a wanted change: `UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden/test_render.py`, then read the diff.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
import yaml

from controller.ledger.model import Entry
from controller.network import load_network
from controller.network.model import Network
from controller.planning.offline import entries_of
from controller.platforms import renderer_of
from controller.platforms.model import Change, Configuration
from controller.reservation import load_files
from controller.views.configurations import configurations_at

HERE = Path(__file__).parent / "render"
INVENTORIES = Path(__file__).parents[2] / "inventories"
KEYS = {"about", "source", "inventory", "at", "before_at", "before_inventory", "unmanaged", "reservations", "before"}


@dataclass(frozen=True, slots=True)
class Case:
    folder: Path
    inventory: Path
    at: datetime
    before_at: datetime | None
    before_inventory: Path
    unmanaged: bool
    reservations: Path
    before: Path

    @classmethod
    def read(cls, folder: Path) -> Case:
        told = yaml.safe_load((folder / "case.yml").read_text(encoding="utf-8"))
        assert set(told) <= KEYS, f"{folder.name}: {set(told) - KEYS}"
        assert told["about"]
        assert told["source"]
        own = folder / "hosts.yml"
        inventory = own if own.exists() else INVENTORIES / told["inventory"]
        return cls(
            folder,
            inventory,
            datetime.fromisoformat(told["at"]),
            datetime.fromisoformat(told["before_at"]) if "before_at" in told else None,
            INVENTORIES / told["before_inventory"] if "before_inventory" in told else inventory,
            told.get("unmanaged", False),
            *(
                HERE / "shared" / f"{told[name]}.yml" if name in told else folder / f"{name}.yml"
                for name in ("reservations", "before")
            ),
        )


CASES = tuple(sorted(path.parent for path in HERE.glob("*/case.yml")))


@cache
def network_of(inventory: Path) -> Network:
    return load_network(inventory)


def entries(file: Path, network: Network) -> tuple[Entry, ...]:
    """As `slotcar render` reads them; of a file that is not there, none."""
    long_ago = datetime(2029, 1, 1, tzinfo=UTC)
    return entries_of(load_files([file], long_ago), network, long_ago) if file.exists() else ()


@cache
def configurations(folder: Path) -> tuple[dict[str, Configuration], dict[str, Configuration]]:
    """Before and after, of all devices."""
    case = Case.read(folder)
    network = network_of(case.inventory)
    wanted = entries(case.reservations, network)
    after = configurations_at(wanted, network, case.at)
    if case.before_at is None:
        return configurations_at((), network, case.at), after
    earlier_network = network_of(case.before_inventory)
    earlier = entries(case.before, earlier_network) or wanted
    return configurations_at(earlier, earlier_network, case.before_at), after


def change_of(folder: Path, device: str) -> Change:
    before, after = configurations(folder)
    case = Case.read(folder)
    router = network_of(case.inventory).devices[device]
    first = Configuration(device, router.platform) if case.unmanaged else before[device]
    return renderer_of(router).change(first, after[device], router)


PARAMS = [
    pytest.param(folder, device, id=f"{folder.name}-{device}")
    for folder in CASES
    for device in configurations(folder)[1]
]


@pytest.mark.parametrize(("folder", "device"), PARAMS)
def test_a_device_is_told_exactly_this(folder: Path, device: str) -> None:
    change = change_of(folder, device)
    shown = {"configuration": change.after.lines, "change": change.apply, "undo": change.undo}
    texts = {kind: "".join(f"{line}\n" for line in lines) for kind, lines in shown.items() if not change.empty}
    files = {kind: folder / f"{device}.{kind}" for kind in shown}
    if os.environ.get("UPDATE_GOLDEN"):
        for kind, file in files.items():
            file.unlink(missing_ok=True)
            if kind in texts:
                file.write_text(texts[kind], encoding="utf-8")
    assert {kind: file.read_text(encoding="utf-8") for kind, file in files.items() if file.exists()} == texts


def test_there_are_cases_and_each_shows_something() -> None:
    assert len(CASES) >= 14
    assert [folder.name for folder in CASES if not list(folder.glob("*.change"))] == []


def test_no_golden_text_is_of_a_device_that_is_not_there() -> None:
    known = {(folder, device) for folder in CASES for device in configurations(folder)[1]}
    found = {
        (file.parent, file.stem) for kind in ("configuration", "change", "undo") for file in HERE.glob(f"*/*.{kind}")
    }
    assert found <= known
