"""A resource's name is made and read in one file, and says where it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar.admission.resource_id import (
    ResourceId,
    describe,
    interface_resource,
    managed_resource,
    sls_pattern,
    sls_resource,
)
from slotcar.base.vocabulary import Service
from slotcar.network.model import InterfaceId

ROOT = Path(__file__).resolve().parents[3] / "controller" / "slotcar"
#: What takes a text apart.
CUTS = {"partition", "rpartition", "split", "rsplit", "startswith", "endswith", "removeprefix", "removesuffix"}
#: An interface's name may have colons.
PORT = InterfaceId(device="lbnl-edge", name="Serial1/0:0")


def test_an_interfaces_share_says_which_interface_and_which_way() -> None:
    leaving = interface_resource(PORT, "out", Service.IP_PREMIUM)
    entering = interface_resource(PORT, "in", Service.IP_PREMIUM)
    assert (leaving.interface, leaving.is_outbound) == (PORT, True)
    assert (entering.interface, entering.is_outbound) == (PORT, False)
    assert ResourceId.parse(str(leaving)) == leaving
    assert describe(leaving) == "ip-premium on lbnl-edge Serial1/0:0, outbound"


@pytest.mark.parametrize(
    "resource",
    [sls_resource("esnet-lbnl"), managed_resource("storage", "dtn", "vdb:read"), managed_resource("cpu", "dtn")],
)
def test_other_resources_are_of_no_interface(resource: ResourceId) -> None:
    assert (resource.interface, resource.is_outbound) == (None, False)
    assert ResourceId.parse(str(resource)) == resource


def test_the_pattern_of_slss_begins_as_their_names_do() -> None:
    assert str(sls_resource("esnet-lbnl")).startswith(sls_pattern().removesuffix("%"))


def cut_names(source: str) -> Iterator[int]:
    """The lines in which a resource's place or part is taken apart."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in CUTS:
            continue
        if isinstance(node.func.value, ast.Attribute) and node.func.value.attr in ("place", "part"):
            yield node.lineno


def test_a_cut_is_found() -> None:
    assert list(cut_names("resource.place.partition(':')\nplace.split(':')\none.part.startswith('out:')")) == [1, 3]


def test_no_other_file_takes_a_resources_name_apart() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if list(cut_names(path.read_text()))}
    assert files == {"admission/resource_id.py"}
