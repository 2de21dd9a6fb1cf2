"""What leaves towards an SLS is shaped to it: the rate that a shaper is told, and what packets count against the SLS."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission.arithmetic import policer_rate_bps
from slotcar.base.model_errors import listed
from slotcar.base.problems import InvalidInput
from slotcar.base.vocabulary import Direction, Protocol
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.network.shaping import devices_of, extra_bytes, shaper_towards, shapers_at, shaping_interface
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint
from tests.support.requests import T0, reservation

RENDER = Path(__file__).parents[2] / "golden/render"
PLATFORMS = ("linux-tc", "cisco-mqc", "cisco-iosxe-netconf", "juniper-junos")
TEXT = (RENDER / "linux-tc-shaped-to-sls/hosts.yml").read_text(encoding="utf-8")


@cache
def rendered(platform: str) -> Network:
    """The network of a golden case; reading one takes a second."""
    return load_network(RENDER / f"{platform}-shaped-to-sls/hosts.yml")


def network_of(folder: Path, text: str) -> Network:
    (folder / "hosts.yml").write_text(text, encoding="utf-8")
    return load_network(folder / "hosts.yml")


@pytest.mark.parametrize("platform", PLATFORMS)
@given(rate_bps=st.integers(200_000, 200_000_000), sizes=st.lists(st.integers(64, 1500), min_size=1, max_size=6))
def test_what_fits_an_sls_fits_its_shaper_and_what_leaves_the_shaper_fits_the_sls(
    platform: str, rate_bps: int, sizes: list[int]
) -> None:
    network = rendered(platform)
    sls = network.sls["west-east-premium"].model_copy(update={"rate_bps": rate_bps})
    interface = shaping_interface(sls, network)
    assert interface is not None
    shaper = shaper_towards(sls, interface, network)
    counted = 38 if platform == "linux-tc" else 14
    assert shaper.rate_bps * 1500 <= rate_bps * (1500 + counted)
    # As much of each size as the SLS takes of them together, by its own count.
    counts = [size + extra_bytes(sls, size, network) for size in sizes]
    rates = [rate_bps * size / (len(sizes) * count) for size, count in zip(sizes, counts, strict=True)]
    on_line = sum(rate * (size + counted) / size for rate, size in zip(rates, sizes, strict=True))
    assert on_line <= shaper.rate_bps * (1 + 1e-9)


@pytest.mark.parametrize(("size", "extra"), [(1500, 1), (750, 19), (9000, 0)])
def test_short_packets_take_more_of_a_shaper_than_of_an_sls(size: int, extra: int) -> None:
    network = rendered("linux-tc")
    assert extra_bytes(network.sls["west-east-premium"], size, network) == extra


def test_nothing_more_is_counted_where_nothing_is_shaped(tmp_path: Path) -> None:
    network = network_of(tmp_path, TEXT.replace("shape_to_sls: true", "shape_to_sls: false"))
    sls = network.sls["west-east-premium"]
    assert (shaping_interface(sls, network), extra_bytes(sls, 64, network)) == (None, 0)
    assert devices_of(sls, network) == {"east-router"}
    assert list(shapers_at(network)) == []


def test_a_shaper_is_there_while_its_sls_is_valid(tmp_path: Path) -> None:
    validity = 'burst: 1 MB, validity: {start: "2030-02-01T00:00:00Z", end: "2030-03-01T00:00:00Z"}'
    network = network_of(tmp_path, TEXT.replace("burst: 1 MB", validity))
    shaped = {
        day: "west-east-assured"
        in {sls.name for _, sls, _ in shapers_at(network, datetime.fromisoformat(f"{day}T00:00Z"))}
        for day in ("2030-01-31", "2030-02-01", "2030-03-01")
    }
    assert shaped == {"2030-01-31": False, "2030-02-01": True, "2030-03-01": False}
    assert devices_of(network.sls["west-east-assured"], network) == {"west-router", "east-router"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scheduler: hfsc": "scheduler: ets"}, "cannot be with the scheduler ets, which shapes nothing"),
        ({"slotcar_platform: linux-tc": "slotcar_platform: cisco-cat6500"}, "cannot be on cisco-cat6500"),
        ({"slotcar_platform: linux-tc": "slotcar_platform: cisco-gsr"}, "cannot be on cisco-gsr"),
        ({"slotcar_platform: linux-tc": "slotcar_platform: cisco-car"}, "cannot be on cisco-car"),
    ],
)
def test_who_cannot_shape_is_told_where_it_is_written(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    text = TEXT
    for old, new in changes.items():
        text = text.replace(old, new)
    if "linux-tc" not in text:
        text = text.replace(", scheduler: hfsc", "")
    with pytest.raises(InvalidInput) as refused:
        network_of(tmp_path, text)
    about_it = [str(problem) for problem in refused.value.problems if "shape_to_sls" in str(problem)]
    assert any(words in one for one in about_it), listed(about_it)


def test_one_queue_cannot_be_held_to_two_slss(tmp_path: Path) -> None:
    before, after = TEXT.split("            slotcar_sls:\n              west-east-premium:")
    slss = """
            slotcar_domain:
              assured_classes: {gold: {share: 5 %, code_points: [18]}, silver: {share: 5 %, code_points: [26]}}
            slotcar_sls:
              gold: {upstream: west, service: assured-rate, assured_class: gold, code_points: [18], rate: 4 Mbit/s,
                     burst: 1 MB, ingress: "east-router:eth2"}
              silver: {upstream: west, service: assured-rate, assured_class: silver, code_points: [26], rate: 4 Mbit/s,
                       burst: 1 MB, ingress: "east-router:eth2"}
"""
    hosts = "    slotcar_hosts:" + after.split("    slotcar_hosts:")[1]
    with pytest.raises(InvalidInput) as refused:
        network_of(tmp_path, before.rstrip() + slss + hosts)
    assert "cannot be towards gold and silver, to which one queue leads there" in str(refused.value)


@pytest.mark.parametrize(("size", "least", "most"), [(200, 1.16, 1.17), (1500, 1.0, 1.001)])
def test_admission_counts_the_shaper_at_the_sls(size: int, least: float, most: float) -> None:
    network = rendered("linux-tc")
    ends = {"source": Endpoint(host="west-data"), "destination": Endpoint(host="east-data")}
    wanted = reservation(
        "short", 1_000_000, protocol=Protocol.UDP, packet_size_bytes=size, direction=Direction.FORWARD, **ends
    )
    amounts = {str(one.resource): one.peak for one in route(wanted, network).entry("handle-1", 1, T0).demands}
    own_bps = policer_rate_bps(1_000_000, size, Protocol.UDP)
    assert least <= amounts["sls:west-east-premium"] / own_bps <= most
