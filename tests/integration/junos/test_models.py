"""What is rendered, against Juniper's own models, as yanglint reads them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given

from slotcar.platforms import renderer_of
from slotcar.platforms.juniper_junos.document import ROOT as ROOT_SPACE
from slotcar.platforms.juniper_junos.document import SPACES
from slotcar_lab.junos.statements import paths, statements
from slotcar_lab.requirements import which
from tests.integration.junos import models
from tests.integration.netconf.conftest import RENDER
from tests.property.test_render_junos import DEVICES, Succession, intents_of, network, with_options
from tests.support.examples import examples
from tests.unit.platforms.worlds import successions

FILES = [
    pytest.param(file, id=f"{file.parent.name}-{file.stem}")
    for file in sorted(RENDER.glob("juniper-junos-*/*.configuration"))
]


def lint(text: str, yang: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    data = folder / "data.xml"
    data.write_text(text, encoding="utf-8")
    argv = [str(which("yanglint")), "--type", "config", "--path", str(yang), *models.files(yang), str(data)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file", FILES)
def test_a_configuration_is_valid(file: Path, yang: Path, tmp_path: Path) -> None:
    done = lint(file.read_text(encoding="utf-8"), yang, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@given(name=DEVICES, succession=successions())
@examples(2, 20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_reserved_gives_a_valid_configuration(
    name: str, succession: Succession, yang: Path, tmp_path: Path
) -> None:
    device = with_options(network().devices[name], ecn=True)
    for intent in intents_of(name, succession):
        done = lint(renderer_of(device).configuration(intent, device).text, yang, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


def sample(path: tuple[str, ...]) -> str:
    """A configuration with one statement of the router in software, and the keys on the way to it."""
    text, statement, opened = "", statements(), []
    for number, name in enumerate(path):
        below = statement.child(name)
        assert below is not None
        keys = "".join(
            f"<{key}>{KEYS.get((name, key), 'any' if key != 'name' else 'X1')}</{key}>" for key in below.keys
        )
        space = f' xmlns="{SPACES[name]}"' if not number else ""
        text += f"<{name}{space}>{keys}"
        opened.append(name)
        statement = below
    text += VALUES[statement.kind.partition(" ")[0]](statement.kind.partition(" ")[2])
    return f'<configuration xmlns="{ROOT_SPACE}">{text}{"".join(f"</{name}>" for name in reversed(opened))}</configuration>'


KEYS = {
    ("loss-priority", "name"): "high", ("unit", "name"): "7", ("queue", "name"): "1", ("address", "name"): "10.0.0.1/24",
    ("source-address", "name"): "10.0.0.0/24", ("destination-address", "name"): "10.0.0.0/24",
    ("member", "name"): "ge-0/0/1", ("member-range", "name"): "ge-0/0/1", ("interface", "name"): "ge-0/0/1",
}  # fmt: skip
VALUES: dict[str, Callable[[str], str]] = {
    "": lambda of: "",
    "empty": lambda of: "",
    "name": lambda of: "X1",
    "text": lambda of: "X1",
    "rate": lambda of: of.split("-")[0],
    "number": lambda of: of.split("-")[1],
    "enum": lambda of: of.split()[-1],
    "prefix": lambda of: "10.0.0.1/24",
    "port": lambda of: "5004",
    "protocol": lambda of: "udp",
    "dscp": lambda of: "46",
    "bits": lambda of: "101110",
}


@pytest.mark.slow
def test_the_router_in_software_knows_no_statement_that_junos_does_not(yang: Path, tmp_path: Path) -> None:
    refused = {}
    for path, statement in paths(statements()):
        # Whose values are others' names is not the table's matter: ports of a member range.
        if path[0] not in SPACES or statement.kind == "any" or path[-1] == "end-range":
            continue
        done = lint(sample(path), yang, tmp_path)
        if done.returncode:
            refused["/".join(path)] = done.stderr
    assert refused == {}


def test_there_is_something_to_check() -> None:
    assert len(FILES) >= 8


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("<queue-num>4<", "<queue-number>4<", "queue-number"),
        ("<loss-priority>low<", "<loss-priority>lowest<", "lowest"),
        ("<source-address>", "<source-adress>", "source-adress"),
        ("<queue-num>4<", "<queue-num>four<", "four"),
        ("<fill-level>40<", "<fill-level>140<", "140"),
        ("<discard/>", "<discards/>", "discards"),
    ],
)
def test_what_is_not_valid_is_named(old: str, new: str, complaint: str, yang: Path, tmp_path: Path) -> None:
    """The check can fail."""
    text = (RENDER / "juniper-junos-premium" / "north-edge.configuration").read_text(encoding="utf-8")
    assert old in text
    element, _, _ = old[1:].partition(">")
    changed, _, _ = new[1:].partition(">")
    text = text.replace(old, new).replace(f"</{element}>", f"</{changed}>")
    done = lint(text, yang, tmp_path)
    assert done.returncode != 0
    assert complaint in done.stderr
