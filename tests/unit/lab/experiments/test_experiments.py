"""Every experiment states what it must: a network that the lab can build, reservations that are admitted, rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import Window
from slotcar.book.shares import BackgroundShares
from slotcar.network import load_network
from slotcar.planning.offline import entries_of, plan_offline
from slotcar.planning.source import read_source
from slotcar.planning.terms import policy_of
from slotcar_lab.errors import LabError
from slotcar_lab.experiments import catalogue
from slotcar_lab.experiments.catalogue import APART, NAMES, find
from slotcar_lab.experiments.model import Rule, Verdict
from slotcar_lab.experiments.scale import AS_WRITTEN, TESTS, Scale
from slotcar_lab.experiments.scaled_copies import scaled_inventory
from slotcar_lab.experiments.wires import topology_of
from slotcar_lab.topology import PORT_BASE_VARIABLE

HOME = Path(catalogue.__file__).parent
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
#: Each file of reservations with the inventory that it is for, and whether all of it is admitted.
FILES = [
    ("gara_4/inventory", "gara_4/reservations.yml", True),
    ("gara_5/inventory", "gara_5/reservations.yml", True),
    ("gara_6/inventory", "gara_6/reservations.yml", True),
    ("emerge_1/inventory", "emerge_1/reservations.yml", True),
    ("emerge_2/weighted", "emerge_2/fair.yml", True),
    ("emerge_2/priority", "emerge_2/strict.yml", True),
    ("emerge_2/priority", "emerge_2/paper.yml", False),
    ("emerge_3/inventory", "emerge_3/reservations.yml", True),
    ("emerge_4/inventory", "emerge_4/reservations.yml", True),
    ("emerge_4_legs/inventory", "emerge_4_legs/reservations.yml", True),
    ("policer_burst/inventory", "policer_burst/reservations.yml", True),
    ("datagrid/weighted", "drr_delay/reservations.yml", True),
    ("datagrid/congested", "drr_delay/priority.yml", True),
    ("wrr_share/inventory", "wrr_share/reservations.yml", True),
    ("class_shares/inventory", "class_shares/reservations.yml", True),
    ("datagrid/congested", "qbss_1/reservations.yml", True),
    ("datagrid/congested", "qbss_wan/reservations.yml", True),
    ("datagrid/congested", "medical_images/reservations.yml", True),
    ("datagrid/congested", "loss_pattern/reservations.yml", True),
    ("nict_af/inventory", "nict_af/reservations.yml", True),
    ("nict_queue/ms_12", "nict_queue/reservations.yml", True),
    ("tail_drop/inventory", "tail_drop/reservations.yml", True),
]


@pytest.mark.in_short("emerge-1", "gara-4")
@pytest.mark.parametrize("name", [*NAMES, *APART])
def test_an_experiment_is_found_and_its_network_can_be_built(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PORT_BASE_VARIABLE, "2300")
    experiment = find(name)
    assert experiment.name == name
    assert experiment.shown
    assert experiment.scale
    network = load_network(experiment.inventory)
    built = topology_of(network)
    assert set(built.routers) == {name for name, device in network.devices.items() if device.interfaces}
    assert {built.address_of(host) for host in built.hosts} == {str(host.address) for host in network.hosts.values()}
    # The inventories say where Ansible finds a router: there its sshd must listen.
    assert sorted(node.management_port for node in built.nodes if node.name in built.routers) == list(
        range(2301, 2301 + len(built.routers))
    )


def test_an_unknown_experiment_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(LabError, match="no experiment emerge-9; there are gara-4"):
        find("emerge-9")


def least_scale_of(file: str) -> Scale:
    """That of the tests, where the file's experiment shows something at that."""
    return find(file.partition("/")[0].replace("_", "-")).scale_at(TESTS)


@pytest.mark.in_short("emerge_1/reservations.yml at least", "gara_4/reservations.yml as written")
@pytest.mark.parametrize(
    ("inventory", "file", "admitted", "scale"),
    [
        pytest.param(*case, scale, id=f"{case[1]} {word}")
        for case in FILES
        for word, scale in (("as written", AS_WRITTEN), ("at least", least_scale_of(case[1])))
    ],
)
def test_reservations_are_admitted_as_the_experiment_says(
    inventory: str, file: str, admitted: bool, scale: Scale, tmp_path: Path
) -> None:
    network = load_network(scaled_inventory(HOME / inventory, tmp_path, scale))
    reservations = tmp_path / "reservations.yml"
    reservations.write_text(scale.text((HOME / file).read_text()))
    source = read_source([reservations], NOW, network, None, [])
    policy = policy_of(Settings(), network)
    plan = plan_offline(source, network, policy, NOW, most_paths=Settings().paths, no_ledger_yet=False)
    assert bool(plan.refused) is not admitted


def test_no_file_of_reservations_is_left_out_here() -> None:
    listed = {(HOME / file).resolve() for _, file, _ in FILES}
    assert {path.resolve() for path in HOME.glob("*/*.yml") if "reservations:" in path.read_text()} == listed


RULE = Rule("delay", "low", "ms", "at most 5 ms above the other", lambda ours, other: ours <= other + 5)


@pytest.mark.parametrize(
    ("ours", "beside", "verdict"),
    [
        (14.0, 10.0, Verdict.AS_THE_PAPER),
        (16.0, 10.0, Verdict.DIFFERS),
        (None, 10.0, Verdict.NOT_SHOWN),
        (14.0, None, Verdict.NOT_SHOWN),
    ],
)
def test_a_verdict_follows_from_the_rule_where_something_was_measured(
    ours: float | None, beside: float | None, verdict: Verdict
) -> None:
    row = RULE.judge(ours, beside, note="n")
    assert (row.ours, row.rule, row.verdict, row.note) == (ours, RULE.words, verdict, "n")
    # Of what no paper tried, only the praise is another.
    promised = replace(RULE, promise=True).judge(ours, beside).verdict
    assert promised is (Verdict.AS_PROMISED if verdict is Verdict.AS_THE_PAPER else verdict)


def test_gara_s_background_gets_nine_tenths_of_what_the_foregrounds_leave() -> None:
    """An eighth of what §5.2 prints: 40.5, 8.1, 32.4 and 24.3 Mb/s, headers counted."""
    network = load_network(HOME / "gara_4" / "inventory")
    source = read_source([HOME / "gara_4" / "reservations.yml"], NOW, network, None, [])
    entries = entries_of(source.reservations, network, NOW, source.paths)
    window = Window(entries[0].reservation.start, entries[0].reservation.end)
    background = BackgroundShares(network)(entries, window)[0]
    rates_mbps = [slot.forward_bps * 1428 / 1400 / 1e6 * 8 for slot in background.reservation.slots]
    assert rates_mbps == pytest.approx([40.5, 8.1, 40.5, 32.4, 40.5, 24.3, 40.5], rel=0.005)
