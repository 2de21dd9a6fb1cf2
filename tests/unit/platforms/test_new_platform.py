"""docs/howto/new-platform.md is true: a platform made of its code, word for word, is registered and renders, and its tables
name what there is."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from slotcar import platforms
from slotcar.base import registry
from slotcar.base.problems import InvalidInput
from slotcar.base.vocabulary import Marking
from slotcar.network import load_network
from slotcar.platforms import Configuration, Unrenderable, options, renderer_of, templates
from slotcar.platforms.capability import Capability
from slotcar.views.configurations import configurations_at
from tests.support.networks import line_network
from tests.support.rendering import all_away
from tests.unit.platforms.worlds import START, entry, intents

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "howto" / "new-platform.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(?:python|jinja)\n(?:# |\{# )(\S+)(?: #\})?\n(.*?)```", re.DOTALL)


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page's files, below a folder of their own, and its line of registration."""
    for name, text in BLOCK.findall(PAGE):
        file = tmp_path / name.removeprefix("controller/slotcar/platforms/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    line = re.search(r'^    "acme-os": "slotcar\.platforms\.(\w+)",$', PAGE, re.MULTILINE)
    assert line
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(templates, "TEMPLATES", tmp_path / "templates")
    monkeypatch.setitem(registry.FOLDERS, "acme-os", line[1])
    yield tmp_path
    for remembered in (platforms._renderer, registry._facts, options._read):
        remembered.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_os"]:
        del sys.modules[name]


@pytest.mark.usefixtures("acme")
def test_a_platform_made_by_the_page_renders_changes_and_reads_back() -> None:
    network = line_network(platform="acme-os")
    device = network.devices["r1"]
    renderer = renderer_of(device)
    wanted = renderer.configuration(intents(network, entry(network))["r1"], device)
    assert wanted.lines == ("limit SLOTCAR-F2 from 10.0.0.2 to 10.0.3.2 rate 1019022",)
    change = renderer.change(Configuration("r1", "acme-os"), wanted, device)
    assert change.apply == wanted.lines
    assert change.undo == (f"no {wanted.lines[0]}",)
    assert renderer.running({"show limits": f"limit OPERATORS from a to b rate 1\n{wanted.text}"}, device) == wanted
    assert renderer.stored(wanted.lines, device) == wanted
    assert all_away(renderer, device, wanted) == change.undo
    assert configurations_at((), network, START)["r1"].lines == ()


@pytest.mark.usefixtures("acme")
def test_its_limits_say_of_marking_what_its_facts_say_and_are_asked() -> None:
    limits = import_module("acme_os.limits").ACME
    assert isinstance(limits, Capability)
    assert limits.dscp == (Marking.DSCP in registry.facts_of("acme-os").markings)
    network = line_network(platform="acme-os")
    device, intent = network.devices["r1"], intents(network, entry(network))["r1"]
    flow = replace(intent.flows[0], cir_bps=limits.police_bps.ceiling + 1)
    with pytest.raises(Unrenderable, match=r"r1 flow 2: a policer's rate of 10.01 Gbit/s wanted"):
        renderer_of(device).configuration(replace(intent, flows=(flow,)), device)


@pytest.mark.usefixtures("acme")
def test_its_options_are_typed_and_an_inventory_with_a_typo_is_refused(tmp_path: Path) -> None:
    network = line_network(platform="acme-os")
    full = network.devices["r1"].model_copy(update={"options": {"most_flows": 0}})
    with pytest.raises(Unrenderable, match=r"r1: slotcar_options\.most_flows: input should be greater than or equal"):
        renderer_of(full).configuration(intents(network)["r1"], full)
    router = {
        "slotcar_platform": "acme-os",
        "slotcar_options": {"most_flow": 3},
        "slotcar_interfaces": {"eth1": {"capacity": "1 Gbit/s", "address": "10.0.0.1/24"}},
    }
    inventory = tmp_path / "hosts.yml"
    domains = {"children": {"alpha": {"hosts": {"r1": router}}}}
    inventory.write_text(yaml.safe_dump({"all": {"children": {"domains": domains}}}))
    with pytest.raises(InvalidInput, match=r"r1: slotcar_options\.most_flow: .*did you mean `most_flows`"):
        load_network(inventory)


@pytest.mark.usefixtures("acme")
def test_a_template_that_asks_for_what_an_object_lacks_says_so(acme: Path) -> None:
    (acme / "templates" / "acme" / "limit.j2").write_text("limit {{ limit.nmae }}\n")
    network = line_network(platform="acme-os")
    device = network.devices["r1"]
    wanted = renderer_of(device).configuration(intents(network, entry(network))["r1"], device)
    with pytest.raises(LookupError, match=r"limit\.j2: .*no attribute 'nmae'; it is given: limit"):
        _ = wanted.lines


def test_the_table_of_facts_names_every_fact_that_a_platform_may_leave_out() -> None:
    table = PAGE.partition("| fact | what |")[2].partition("\n\n")[0]
    given = {one.name for one in fields(registry.Facts)} - {"transport", "options", "markings"}
    assert {
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    } == given


def test_every_file_of_the_repository_that_the_page_names_is_there() -> None:
    """But for those of the example."""
    tops = "controller|docs|playbooks|roles|templates|tests"
    named = set(re.findall(rf"`((?:{tops})/[\w./-]+)`", PAGE))
    assert len(named) > 15
    assert [name for name in sorted(named) if "acme" not in name and not (ROOT / name).exists()] == []


def test_the_page_names_every_module_that_knows_how_devices_are_reached() -> None:
    """Beside `slotcar init` and the checks of a first push, which say what this machine's Ansible needs."""
    others = {"network/new_inventory.py", "recovery/readiness.py", "rollout/pusher.py"}
    table = PAGE.partition("A new way to reach devices is more:")[2].partition("\n\nA kind")[0]
    controller = ROOT / "controller" / "slotcar"
    for module in controller.rglob("*.py"):
        name = module.relative_to(controller).as_posix()
        if re.search(r"\bTransportKind\.", module.read_text(encoding="utf-8")) and not name.startswith("platforms/"):
            assert f"`{name}`" in table or name in others, name
