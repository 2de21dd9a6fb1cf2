"""Every platform of the registry is served by one role of the playbooks, which goes by how the platform is reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import StrictUndefined
from jinja2.nativetypes import NativeEnvironment

from slotcar.base.registry import FOLDERS, TransportKind, facts_of
from slotcar.rollout.fanout import SERVED

VARIABLES = yaml.safe_load(
    (Path(__file__).resolve().parents[3] / "playbooks" / "group_vars" / "all.yml").read_text(encoding="utf-8")
)
#: By how a device is reached: by a shell, or by the process that serves all others together.
ROLES = {TransportKind.LINUX: "slotcar_linux_tc", **dict.fromkeys(SERVED, "slotcar_fanout")}


def role_of(**variables: Any) -> str:
    template = NativeEnvironment(undefined=StrictUndefined).from_string(VARIABLES["slotcar_role"])
    return str(template.render(**VARIABLES, **variables))


@pytest.mark.parametrize("platform", FOLDERS)
def test_a_platforms_role_is_that_of_its_transport(platform: str) -> None:
    assert role_of(slotcar_platform=platform) == ROLES[facts_of(platform).transport]


def test_the_list_of_platforms_with_a_shell_is_the_registrys() -> None:
    listed = VARIABLES["slotcar_platforms_with_a_shell"]
    assert listed == [name for name in FOLDERS if facts_of(name).transport is TransportKind.LINUX]


def test_hosts_have_a_role_of_their_own_and_third_parties_resources_the_common_one() -> None:
    assert role_of(slotcar_cpu=8) == "slotcar_host"
    assert role_of(slotcar_disks={"sda": "1 GB/s"}) == "slotcar_host"
    assert role_of() == "slotcar_fanout"
