"""How routers are reached: what Ansible takes is taken, and what is known only in a play is left to it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.base.problems import InvalidInput
from slotcar.network import load_network
from slotcar.network.connections import ConnectionVariables, connection_of

LAB = Path(__file__).parents[3] / "inventories" / "lab"


def with_variables(folder: Path, **variables: object) -> Path:
    shutil.copytree(LAB, folder)
    own = folder / "host_vars" / "anl-border.yml"
    own.write_text(yaml.safe_dump(yaml.safe_load(own.read_text()) | variables))
    return folder


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ConnectionVariables()),
        ({"slotcar_netconf_port": "830"}, {"slotcar_netconf_port": 830}),
        ({"slotcar_confirm_s": " 120 "}, {"slotcar_confirm_s": 120}),
        ({"slotcar_netconf_port": "", "slotcar_transport": None, "slotcar_flash": ""}, {}),
        ({"slotcar_flash": "disk0:", "ansible_port": "x", "slotcar_platform": "y"}, {"slotcar_flash": "disk0:"}),
    ],
)  # fmt: skip
def test_what_ansible_takes_is_taken(variables: dict[str, Any], expected: Any) -> None:
    assert connection_of(variables) == ConnectionVariables.model_validate(expected)


def test_templates_and_numeric_texts_load(tmp_path: Path) -> None:
    load_network(
        with_variables(
            tmp_path / "i",
            netconf={"port": "8300"},
            slotcar_netconf_port="{{ netconf.port }}",
            slotcar_confirm_s="{{ 60 * 2 }}",
            slotcar_transport="{{ way | default('ssh') }}",
            slotcar_known_hosts="{{ inventory_dir }}/known_hosts",
        )
    )


def test_what_only_a_play_knows_is_left_to_it(tmp_path: Path) -> None:
    load_network(
        with_variables(
            tmp_path / "i",
            slotcar_netconf_port="{{ port_of_the_play }}",
            slotcar_flash="{{ flash_of_the_play | default(omit) }}",
            slotcar_confirm_s="{{ confirm_of_the_play | default(omit) }}",
        )
    )


def test_a_template_that_becomes_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"slotcar_confirm_s: is no whole number \(got soon\)"):
        load_network(with_variables(tmp_path / "i", slotcar_confirm_s="{{ 'soon' }}"))
