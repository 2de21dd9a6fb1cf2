"""What devices are told, byte for byte: one folder a case, in it the wanted configuration of every device that the case
changes, the change that makes it so, and the undo.

A case's name begins with its platform's name. `case.yml` says what the case shows and where the meaning comes from;
`reservations.yml` what is reserved, or `reservations: NAME` in `case.yml` where several cases share `shared/NAME.yml`.
The network is the platform's (`INVENTORY`) unless the case has a `hosts.yml` or names an `inventory`: a folder of
`inventories/` here or of the repository's. The instant is `AT` unless `at` says another.
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

from slotcar.base.registry import FOLDERS
from slotcar.book.model import Entry
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Change, Configuration
from slotcar.reservation import load_files
from slotcar.views.configurations import configurations_at

HERE = Path(__file__).parent / "render"
INVENTORIES = (HERE / "inventories", Path(__file__).parents[2] / "inventories")
#: By platform, the network of a case that names none.
INVENTORY = {
    "cisco-car": "garnet",
    "cisco-cat6500": "cisco-cat6500",
    "cisco-gsr": "cisco-gsr",
    "cisco-iosxe-netconf": "cisco-iosxe-netconf",
    "cisco-mqc": "cisco-mqc",
    "juniper-junos": "juniper-junos",
    "linux-tc": "lab",
}
#: Within the slots of nearly all cases.
AT = "2030-01-01T12:00:00Z"
#: What is kept of a device, by the ends of the files' names.
KINDS = ("configuration", "change", "undo")
KEYS = {"about", "source", "inventory", "at", "before_at", "before_inventory", "unmanaged", "reservations", "before"}


def platform_of(folder: Path) -> str:
    """A case's platform, by its name."""
    return next(platform for platform in INVENTORY if folder.name.startswith(f"{platform}-"))


def inventory_named(name: str) -> Path:
    return next(folder / name for folder in INVENTORIES if (folder / name).exists())


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
        case = yaml.safe_load((folder / "case.yml").read_text(encoding="utf-8"))
        assert set(case) <= KEYS, f"{folder.name}: {set(case) - KEYS}"
        assert case["about"]
        assert case["source"]
        own = folder / "hosts.yml"
        inventory = own if own.exists() else inventory_named(case.get("inventory", INVENTORY[platform_of(folder)]))
        return cls(
            folder,
            inventory,
            datetime.fromisoformat(case.get("at", AT)),
            datetime.fromisoformat(case["before_at"]) if "before_at" in case else None,
            inventory_named(case["before_inventory"]) if "before_inventory" in case else inventory,
            case.get("unmanaged", False),
            *(
                HERE / "shared" / f"{case[name]}.yml" if name in case else folder / f"{name}.yml"
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


def texts_of(folder: Path) -> dict[str, str]:
    """What the case's files hold, by their names."""
    texts = {}
    for device in configurations(folder)[1]:
        change = change_of(folder, device)
        if not change.empty:
            shown = {"configuration": change.after.lines, "change": change.apply, "undo": change.undo}
            texts |= {f"{device}.{kind}": "".join(f"{line}\n" for line in lines) for kind, lines in shown.items()}
    return texts


# No case for each device: to name them, each process of a run would have to render all cases before it begins.
@pytest.mark.parametrize("folder", [pytest.param(folder, id=folder.name) for folder in CASES])
def test_each_device_is_sent_exactly_this_and_the_others_nothing(folder: Path) -> None:
    texts = texts_of(folder)
    files = [file for kind in KINDS for file in folder.glob(f"*.{kind}")]
    if os.environ.get("UPDATE_GOLDEN"):
        for file in files:
            file.unlink()
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        files = [folder / name for name in texts]
    assert {file.name: file.read_text(encoding="utf-8") for file in files} == texts


def test_there_are_cases_and_each_shows_something() -> None:
    assert len(CASES) >= 14
    assert [folder.name for folder in CASES if not list(folder.glob("*.change"))] == []


def test_a_case_is_named_by_the_platform_of_the_devices_that_it_shows() -> None:
    assert set(INVENTORY) == set(FOLDERS)
    for folder in CASES:
        devices = network_of(Case.read(folder).inventory).devices
        assert {devices[file.stem].platform for file in folder.glob("*.change")} == {platform_of(folder)}, folder.name
