"""What is rendered, against Juniper's own models, as yanglint reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given

from slotcar.platforms import renderer_of
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
