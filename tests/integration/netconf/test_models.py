"""What is rendered, against Cisco's own models, as yanglint reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given

from slotcar.platforms import renderer_of
from slotcar_lab.requirements import which
from tests.integration.netconf.conftest import RENDER
from tests.integration.netconf.server import MODULES, YANG
from tests.property.test_render_netconf import DEVICES, Succession, intents_of, network
from tests.support.examples import examples
from tests.unit.platforms.worlds import successions

FILES = [
    pytest.param(file, id=f"{file.parent.name}-{file.stem}")
    for file in sorted(RENDER.glob("cisco-iosxe-netconf-*/*.configuration"))
]


def lint(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    data = folder / "data.xml"
    data.write_text(text)
    models = [str(YANG / f"{module}.yang") for module in MODULES]
    argv = [str(which("yanglint")), "--type", "config", "--path", str(YANG), *models, str(data)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file", FILES)
def test_a_configuration_is_valid(file: Path, tmp_path: Path) -> None:
    done = lint(file.read_text(), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@given(name=DEVICES, succession=successions())
@examples(5, 30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_reserved_gives_a_valid_configuration(name: str, succession: Succession, tmp_path: Path) -> None:
    device = network().devices[name]
    for intent in intents_of(name, succession):
        done = lint(renderer_of(device).configuration(intent, device).text, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


def test_there_is_something_to_check() -> None:
    assert len(FILES) >= 8


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("<cir>4112000<", "<cir>4112<", "range"),
        ("<set-dscp-transmit>ef<", "<set-dscp-transmit>eff<", "eff"),
        ("<action-type>police<", "<action-type>polish<", "polish"),
        ("<exceed-drop>", "<exceed-drops>", "exceed-drops"),
        ("<prematch>match-all</prematch>", "", "prematch"),
    ],
)
def test_what_is_not_valid_is_told(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    """The check can fail."""
    text = (RENDER / "cisco-iosxe-netconf-premium" / "north-edge.configuration").read_text()
    assert old in text
    text = text.replace(old, new).replace(f"</{old[1:]}", f"</{new[1:]}" if new else "")
    done = lint(text, tmp_path)
    assert done.returncode != 0
    assert complaint in done.stderr
