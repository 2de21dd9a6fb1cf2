"""What an SLS that goes with reservations is to have, from what is promised and asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.problems import InvalidInput
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.domains.slss_with_reservations import Extent, Part, beyond, changed_down, crossings_of, extent_of
from slotcar.network import load_network
from slotcar.network.path import NoPath, find_paths
from tests.integration.domains.slss import with_reservations, without_border
from tests.integration.domains.three import premium

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def window(start: int, end: int) -> Window:
    return Window(NOW + start * HOUR, NOW + end * HOUR)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start = draw(st.integers(-6, 20))
    return window(start, start + draw(st.integers(1, 8)))


parts = st.lists(st.tuples(windows(), st.integers(0, 50)), max_size=8)


def total_at(at: datetime, listed: list[Part]) -> int:
    return sum(rate_bps for one, rate_bps in listed if one.contains(at))


@given(parts)
def test_what_is_wanted_always_covers_what_is_promised_and_no_more(listed: list[Part]) -> None:
    extent = extent_of(listed)
    if extent is None:
        assert not listed
        return
    assert all(extent.window.start <= one.start and one.end <= extent.window.end for one, _ in listed)
    totals = [total_at(NOW + hour * HOUR, listed) for hour in range(-6, 30)]
    assert extent.rate_bps == max(totals)


@given(parts, parts)
def test_what_is_taken_up_covers_what_it_had_and_what_is_asked_for(promised: list[Part], needs: list[Part]) -> None:
    has, needed = extent_of(promised), extent_of([*promised, *needs])
    if has is not None and needed is not None:
        assert has.joined(needed).covers(needed)
        assert has.joined(needed).covers(has)


@given(parts, st.integers(0, 24))
def test_what_is_left_covers_what_is_promised_from_now_on(listed: list[Part], hour: int) -> None:
    now, has = NOW + hour * HOUR, extent_of(listed)
    promised = [(Window(max(one.start, now), one.end), rate_bps) for one, rate_bps in listed if one.end > now]
    if has is None:
        return
    left, needed = changed_down(has, promised, now), extent_of(promised)
    assert (left is None) == (needed is None)
    if left is None or needed is None:
        return
    assert has.covers(left)
    assert left.covers(needed)
    assert left.rate_bps == needed.rate_bps
    assert changed_down(left, promised, now) == left
    # In use it keeps its start, so that nothing is agreed on each second.
    assert left.window.start == has.window.start or left.window.start > now


@given(parts, parts)
def test_a_change_takes_what_is_beyond_what_it_replaces(needs: list[Part], in_force: list[Part]) -> None:
    needs = needs[:1]
    added = beyond(needs, in_force)
    for hour in range(-6, 30):
        at = NOW + hour * HOUR
        present = total_at(at, in_force)
        expected = max(0, total_at(at, needs) - present) if any(one.contains(at) for one, _ in needs) else 0
        assert total_at(at, list(added)) == expected
    assert [extent.window for extent in [extent_of(added)] if extent] == [one for one, _ in needs]


def test_a_gap_and_another_start_are_given_back() -> None:
    has = Extent(window(0, 10), 30)
    promised = [(window(4, 5), 10), (window(6, 8), 20)]
    assert changed_down(has, promised, NOW) == Extent(window(4, 8), 20)
    assert changed_down(has, promised, NOW + 4 * HOUR) == Extent(window(0, 8), 20)
    assert changed_down(has, [], NOW) is None


def test_a_way_over_a_border_without_an_sls_is_found_where_the_key_is() -> None:
    reservation = premium(10_000_000)
    with pytest.raises(NoPath, match="there is no SLS for ip-premium from anl into esnet"):
        find_paths(reservation, without_border("anl"))
    names = [path.sls for path in find_paths(reservation, with_reservations("anl"))]
    assert names == [
        ("for ip-premium from anl into esnet, which is not opened yet",),
        ("for ip-premium from esnet into anl, which is not opened yet",),
    ]


def test_what_a_reservation_takes_of_each_direction() -> None:
    reservation = premium(10_000_000)
    outward, back = crossings_of(reservation, with_reservations("anl"), "anl", "esnet")
    assert (outward.upstream, outward.downstream, str(outward.ingress)) == ("anl", "esnet", "esnet-hub:eth1")
    assert (back.upstream, back.downstream, str(back.ingress)) == ("esnet", "anl", "anl-border:eth2")
    size = reservation.packet_size_bytes
    assert outward.parts == ((reservation.windows[0], -(-10_000_000 * size // (size - 28))),)
    forward = premium(10_000_000).model_copy(update={"slots": tuple(
        type(slot)(slot.start, slot.end, 10_000_000, 0) for slot in reservation.slots
    )})  # fmt: skip
    assert [one.upstream for one in crossings_of(forward, with_reservations("anl"), "anl", "esnet")] == ["anl"]
    assert crossings_of(reservation, with_reservations("anl"), "anl", "lbnl") == ()


INVENTORY = """
all:
  vars: {{slotcar_platform: linux-tc}}
  children:
    domains:
      children:
        anl:
          vars:
            slotcar_domain: {{sls_with_reservations: {value}}}
          hosts:
            anl-border: {{slotcar_interfaces: {{eth1: {{role: edge, capacity: 1 Gbit/s, address: 192.0.2.1/30}}}}}}
"""


def inventory(folder: Path, value: str) -> Path:
    path = folder / "hosts.yml"
    path.write_text(INVENTORY.format(value=value))
    return path


def test_the_inventory_says_the_services_and_their_buckets(tmp_path: Path) -> None:
    network = load_network(inventory(tmp_path, "{ip-premium: {burst: 500 kB}}"))
    assert network.domains["anl"].sls_with_reservations == {Service.IP_PREMIUM: 500_000}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{best-effort: {burst: 500 kB}}", "is no service that an SLS can promise"),
        ("{ip-premium: {}}", "burst: is missing"),
        ("{ip-premium: {burst: 500}}", "burst"),
        ("{ip-premium: {burst: 500 kB, rate: 1 Mbit/s}}", "rate"),
    ],
)
def test_what_is_wrong_in_it_is_refused_in_words(tmp_path: Path, value: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_network(inventory(tmp_path, value))
    assert words in str(refused.value)


def test_extents_are_compared_by_window_and_rate() -> None:
    extent = Extent(window(0, 4), 10)
    assert extent.covers(extent)
    assert not extent.covers(replace(extent, rate_bps=11))
    assert not extent.covers(replace(extent, window=window(0, 5)))
