"""Background reservations get what others leave, at every moment, and every change is a boundary."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from slotcar.admission.rates import crossings
from slotcar.admission.resources import capacities
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.book.model import Entry, EntryChange, State
from slotcar.book.shares import LEAST_BPS, STEP_BPS, BackgroundShares
from slotcar.book.timeline import active_at, boundaries
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.reservation.model import BackgroundShare, Endpoint, Reservation, Slot
from slotcar.reservation.need import VolumeByDeadline
from tests.support.requests import T0, at

ROOT = Path(__file__).resolve().parents[3]
NETWORK = load_network(ROOT / "inventories" / "garnet")
PATH = ("anl-premium", "lbnl-premium")
MBPS = 1_000_000
HOUR = Window(at(0), at(60))


def entry(number: int, start: int, end: int, rate_bps: int = 0, network: Network = NETWORK, **fields: object) -> Entry:
    share = fields.get("share")
    rate_bps = share.at_least_bps if isinstance(share, BackgroundShare) else rate_bps
    request = Reservation.constant(
        name=f"r{number}", owner="hep", source=Endpoint(host=PATH[0]), rtt_us=50_000,
        destination=Endpoint(host=PATH[1], port=5000 + number), protocol=Protocol.TCP, service=Service.IP_PREMIUM,
        rate_bps=rate_bps, windows=(Window(at(start), at(end)),), **fields,
    )  # fmt: skip
    (one,) = entries_of([request], network, T0)
    return replace(one, number=number, handle=f"h{number}", created_at=at(-60))


def background(number: int = 9, start: int = 0, end: int = 60, network: Network = NETWORK, **share: int) -> Entry:
    return entry(number, start, end, network=network, share=BackgroundShare(**share))


def slots(entries: tuple[Entry, ...], number: int = 9) -> list[tuple[int, int, int]]:
    """Start and end in minutes, and forward rate."""
    one = next(each for each in entries if each.number == number)
    minute = timedelta(minutes=1)
    return [
        ((slot.start - T0) // minute, (slot.end - T0) // minute, slot.forward_bps) for slot in one.reservation.slots
    ]


def expected_bps(one: Entry, *reserved: Entry, factor: float = 0.9) -> int:
    """GARA's rule by hand: a part of what is left, on the narrowest resource of the path."""
    network_capacities = capacities(NETWORK)
    least = []
    for crossing in crossings(one.reservation, one.paths[0], NETWORK):
        taken = sum(
            demand.amount(0) for other in reserved for demand in other.demands if demand.resource == crossing.resource
        )
        pool = int((network_capacities[crossing.resource] - taken) * factor)
        least.append(crossing.rate_bps(pool))
    return min(least) // STEP_BPS * STEP_BPS


def test_without_background_reservations_the_entries_are_as_they_were() -> None:
    entries = (entry(1, 0, 60, MBPS),)
    assert BackgroundShares(NETWORK)(entries, HOUR) == entries


def test_it_gets_its_part_of_what_foreground_leaves_as_in_figure_4_of_gara() -> None:
    first, second, third = (
        entry(n, s, e, r * MBPS) for n, s, e, r in ((1, 10, 20, 16), (2, 25, 35, 4), (3, 40, 50, 8))
    )
    one = background()
    derived = slots(BackgroundShares(NETWORK)((first, second, third, one), HOUR))
    alone = expected_bps(one)
    assert derived == [
        (0, 10, alone), (10, 20, expected_bps(one, first)), (20, 25, alone), (25, 35, expected_bps(one, second)),
        (35, 40, alone), (40, 50, expected_bps(one, third)), (50, 60, alone),
    ]  # fmt: skip
    assert alone > derived[5][2] > derived[1][2] > 0


def test_every_change_is_a_boundary_and_whoever_is_active_has_the_rate() -> None:
    entries = BackgroundShares(NETWORK)((entry(1, 10, 20, 8 * MBPS), background()), HOUR)
    assert boundaries(entries, at(-1), at(90)) == (at(0), at(10), at(20), at(60))
    before, after = (active_at(entries, moment)[-1] for moment in (at(10) - MICROSECOND, at(10)))
    assert before.slot.forward_bps > after.slot.forward_bps
    assert before.window == after.window == HOUR
    assert before.entry.demands[0].amount(before.slot_number) > after.entry.demands[0].amount(after.slot_number)


def test_several_share_by_their_weights_between_their_bounds() -> None:
    one, two = background(8, weight=1), background(9, weight=3)
    entries = BackgroundShares(NETWORK)((one, two), HOUR)
    rates = [slots(entries, number)[0][2] for number in (8, 9)]
    assert rates[1] // 1_000_000 == pytest.approx(3 * rates[0] // 1_000_000, abs=1)
    bound = BackgroundShares(NETWORK)((one, background(9, weight=3, at_most_bps=2 * MBPS)), HOUR)
    assert slots(bound, 9)[0][2] == 2 * MBPS
    assert slots(bound, 8)[0][2] > rates[0]


def test_what_is_left_may_be_nothing_and_at_least_stays() -> None:
    full = entry(1, 10, 20, int(expected_bps(background(), factor=1) - 1_000_000))
    assert slots(BackgroundShares(NETWORK)((full, background(weight=1)), HOUR))[1][2] <= LEAST_BPS * 20
    floor = BackgroundShares(NETWORK)((full, background(at_least_bps=500_000)), HOUR)
    assert slots(floor)[1] == (10, 20, max(500_000, slots(floor)[1][2]))


def test_a_moment_later_nothing_has_changed_until_something_does() -> None:
    """Otherwise every turn of a controller would compute every configuration again."""
    shares = BackgroundShares(NETWORK)
    entries = (entry(1, 10, 20, 8 * MBPS), background())
    assert shares(entries, Window(at(12), at(60)))[1] == shares(entries, Window(at(15), at(60)))[1]


def test_only_what_is_committed_counts() -> None:
    held = replace(entry(1, 10, 20, 8 * MBPS), state=State.HELD)
    assert len(slots(BackgroundShares(NETWORK)((held, background()), HOUR))) == 1
    waits = replace(background(), state=State.AWAITING_APPROVAL)
    assert BackgroundShares(NETWORK)((waits,), HOUR) == (waits,)


def test_one_that_begins_at_once_waits_until_the_others_were_told() -> None:
    notice, shares = timedelta(seconds=5), BackgroundShares(NETWORK)
    sudden = replace(entry(10, 10, 20, 8 * MBPS), created_at=at(10))
    entries = shares((background(), sudden), HOUR)
    assert entries[1].reservation.slots[0].start == at(10) + notice
    assert entries[0].reservation.slots[0].end == at(10) + notice
    early = replace(sudden, created_at=at(9))
    assert shares((background(), early), HOUR)[1] == early
    need = VolumeByDeadline(volume_bytes=1, by=at(20))
    promised = replace(sudden, reservation=sudden.reservation.model_copy(update={"need": need}))
    assert shares((background(), promised), HOUR)[1] == promised
    alone = replace(sudden, number=1)
    assert shares((alone,), HOUR) == (alone,)


def test_the_factor_is_the_interfaces() -> None:
    device = NETWORK.devices["esnet-7507"]
    none = {name: one.model_copy(update={"background_ppm": 0}) for name, one in device.interfaces.items()}
    changed = NETWORK.model_copy(
        update={"devices": NETWORK.devices | {device.name: device.model_copy(update={"interfaces": none})}}
    )
    one = background()
    assert device.name in {hop.device for hop in one.paths[0].hops}
    assert slots(BackgroundShares(changed)((one,), HOUR)) == [(0, 60, 0)]


def test_an_sls_that_does_not_hold_leaves_nothing() -> None:
    one = background()
    name = one.paths[0].sls[0]
    agreement = NETWORK.sls[name].model_copy(update={"validity": Window(at(20), at(40))})
    changed = NETWORK.model_copy(update={"sls": NETWORK.sls | {name: agreement}})
    assert [part[:2] for part in slots(BackgroundShares(changed)((one,), HOUR)) if part[2]] == [(20, 40)]


def test_each_way_has_its_own_part() -> None:
    both = entry(9, 0, 60, share=BackgroundShare(), direction=Direction.BOTH)
    other = entry(1, 10, 20, 8 * MBPS)
    derived = next(one for one in BackgroundShares(NETWORK)((other, both), HOUR) if one.number == 9)
    first, second, _ = derived.reservation.slots
    assert isinstance(first, Slot)
    assert first.forward_bps > second.forward_bps
    assert first.reverse_bps == second.reverse_bps > 0


def rate_at(one: Entry, moment: datetime) -> int:
    return next((active.slot.forward_bps for active in active_at((one,), moment)), 0)


def test_a_raise_waits_until_the_others_were_told_and_a_lower_rate_does_not() -> None:
    notice, shares = timedelta(seconds=5), BackgroundShares(NETWORK)
    old = entry(10, 0, 60, 8 * MBPS)
    for new_bps, meanwhile_bps in ((16 * MBPS, 8 * MBPS), (2 * MBPS, 2 * MBPS)):
        new = replace(entry(10, 0, 60, new_bps), change=old.changed_at_once(at(10)))
        one, beside = shares((new, background()), HOUR)
        for moment, rate_bps in ((at(10), meanwhile_bps), (at(10) + notice, new_bps), (at(59), new_bps)):
            assert rate_at(one, moment) == rate_bps
            assert rate_at(beside, moment) == expected_bps(beside, entry(10, 0, 60, rate_bps))
        assert one.reservation.windows == new.reservation.windows, "nothing is interrupted"
    assert shares((new,), HOUR) == (new,), "there is nobody to be told"


def test_two_changes_within_the_notice_are_held_against_what_was_in_force_before_both() -> None:
    first = entry(10, 0, 60, 8 * MBPS)
    second = replace(entry(10, 0, 60, 12 * MBPS), change=first.changed_at_once(at(10)))
    third = replace(entry(10, 0, 60, 16 * MBPS), change=second.changed_at_once(at(10) + timedelta(seconds=2)))
    one, _ = BackgroundShares(NETWORK)((third, background()), HOUR)
    assert rate_at(one, at(10) + timedelta(seconds=3)) == 8 * MBPS
    assert rate_at(one, at(10) + timedelta(seconds=7)) == 16 * MBPS


def test_a_hold_that_is_committed_late_begins_when_the_others_were_told() -> None:
    late = replace(entry(10, 0, 60, 8 * MBPS), change=EntryChange(at(10)))
    one, beside = BackgroundShares(NETWORK)((late, background()), HOUR)
    noticed = at(10) + timedelta(seconds=5)
    assert [(slot.start, slot.end) for slot in one.reservation.slots] == [(noticed, at(60))]
    assert rate_at(beside, noticed - MICROSECOND) == expected_bps(beside)
    assert rate_at(beside, noticed) == expected_bps(beside, late)
    in_time = replace(entry(10, 20, 60, 8 * MBPS), change=EntryChange(at(10)))
    assert BackgroundShares(NETWORK)((in_time, background()), HOUR)[0] == in_time
