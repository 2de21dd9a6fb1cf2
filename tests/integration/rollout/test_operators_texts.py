"""Pushes to routers whose descriptions and banners hold what people write: any bytes, and lines like IOS's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar_lab.ios import Routers
from tests.support import cisco
from tests.support.cisco import ROOT, CiscoWorld, flow_of

#: UTF-8 and latin-1, what Unicode ends lines at, what looks like a question, and a prompt of the router's own.
TEXTS = ["Århus à la carte", "a\x85b\u2028c\x0cd", "\udcc5rhus \udce0 la", "CID-4711 [ticket 4711]", "core [confirm]"]
BANNER = "banner motd ^C\n[production] {odd}\n{name}#\nDestination filename [running-config]?\nPassword:\n^C\n"


@pytest.mark.in_short("cisco-mqc")
@pytest.mark.parametrize("platform", ["cisco-mqc", "cisco-car"])
def test_every_byte_of_an_operators_text_stays_and_hides_nothing(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = iter(TEXTS)
    startup = cisco.startup

    def with_texts(device: cisco.Device, *, no_files: bool = False) -> str:
        odd = next(texts)
        text = startup(device, no_files=no_files).replace("description of the operator's own", f"description {odd}")
        return text + BANNER.format(odd=odd, name=device.name)

    monkeypatch.setattr(cisco, "startup", with_texts)
    with Routers() as routers:
        world = CiscoWorld(
            routers, tmp_path, ROOT / "inventories" / "garnet", platform=platform, no_files=["lbnl-7507"]
        )
        bare = world.running()
        world.push()
        base = world.running()
        world.push(flow_of(world))
        assert world.push(flow_of(world)).changed == (), "what was pushed is read back"
        for name, text in world.running().items():
            missing = [line for line in bare[name].split("\n") if line not in text.split("\n")]
            assert missing == [], name
        world.push()
        assert world.running() == base
