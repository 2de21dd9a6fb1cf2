"""The model of `nict-share`: what is moved, reserved and given back, over the controller's own slot tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.timebase import Window, to_us
from slotcar_lab.experiments import nict_share
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.experiments.nict_share import LATEST, ONE, ONE_TCP, STEADY, TWO, load_of, model
from slotcar_lab.experiments.nict_share.model import (
    LINE,
    LINE_BPS,
    START_US,
    STEP_US,
    Simulation,
    TransferRequest,
    arrivals,
    background_at,
    reserved_by_rule,
    simulated,
    span_us,
)
from slotcar_transfer.places import reserved_until
from slotcar_transfer.profile import LATE_PEAK
from slotcar_transfer.transferring import REPORT_S

SECOND_US = 1_000_000
#: 2 % of the line for an hour.
LONE = TransferRequest(START_US + STEP_US, START_US + STEP_US + 3_600 * SECOND_US, LINE_BPS // 50 * 3_600 // 8)


def test_the_same_seed_gives_the_same_arrivals_and_another_others() -> None:
    assert arrivals(20, 0.2, 1) == arrivals(20, 0.2, 1)
    assert arrivals(20, 0.2, 1) != arrivals(20, 0.2, 2)


def test_arrivals_offer_the_load_that_is_asked_for() -> None:
    requests = arrivals(200, 0.25, 3)
    offered = sum(one.volume_bytes * 8 for one in requests) / (span_us(requests) / SECOND_US) / LINE_BPS
    assert offered == pytest.approx(0.25, rel=0.01)
    assert list(requests) == sorted(requests, key=lambda one: one.at_us)
    assert all(one.at_us % STEP_US == START_US % STEP_US for one in requests)


@pytest.mark.parametrize(("count", "load"), [(0, 0.2), (5, 0.0), (5, 1.0)])
def test_what_is_no_load_is_refused(count: int, load: float) -> None:
    with pytest.raises(ValueError, match="are none"):
        arrivals(count, load, 1)


def reserved_s(run: Simulation) -> float:
    """What was reserved, as seconds of the whole line."""
    return run.reserved_microbits / LINE_BPS / SECOND_US


def test_one_connection_reserves_what_its_share_needs_until_its_deadline() -> None:
    run = Simulation(ONE, 0.9)
    outcome = run.run([LONE])
    assert (outcome.refused, outcome.late) == (0, 0)
    assert reserved_s(run) == pytest.approx(0.02 * 3_600 / 0.79, rel=0.002)


def test_a_second_connection_ends_early_and_gives_back() -> None:
    """It has a tenth of the line to itself: five times what the transfer needs."""
    run = Simulation(TWO, 0.88)
    assert run.run([LONE]).late == 0
    assert reserved_s(run) < 0.02 * 3_600 / 0.79 / 4


def test_control_reserves_less_the_more_is_done() -> None:
    fixed, following = Simulation(replace(TWO, share=0.986), 0.96), Simulation(STEADY, 0.96)
    for run in (fixed, following):
        assert run.run([LONE]).late == 0
    assert reserved_s(following) < 0.8 * reserved_s(fixed)


def test_a_base_connection_that_gets_less_than_its_rate_is_made_up_for() -> None:
    """Nothing is free: the report of what remains raises the rate, and the whole is moved in time but for the last."""
    run = Simulation(STEADY, 1.0)
    outcome = run.run([LONE])
    assert outcome.late_by_s < STEP_US / SECOND_US
    assert reserved_s(run) == pytest.approx(0.02 * 3_600 / 0.986, rel=0.01)


def test_a_late_promise_reserves_least_and_is_kept_with_and_without_a_second_connection() -> None:
    """What is free moves a third of it before anything is reserved; with nothing free all of it is reserved, late."""
    steady, latest = Simulation(STEADY, 0.992), Simulation(LATEST, 0.992)
    alone = Simulation(LATEST, 1.0)
    for run in (steady, latest, alone):
        outcome = run.run([LONE])
        assert (outcome.refused, outcome.late) == (0, 0)
    assert reserved_s(latest) < 0.8 * reserved_s(steady)
    assert reserved_s(alone) == pytest.approx(0.02 * 3_600 / 0.986, rel=0.01)


def test_what_is_said_of_the_mover_is_the_movers() -> None:
    now = datetime(2027, 3, 1, tzinfo=UTC)
    for minutes in (5, 90):
        by = now + timedelta(minutes=minutes)
        request = TransferRequest(to_us(now), to_us(by), 1)
        assert request.reserved_until_us == to_us(reserved_until(by, now))
    assert (model.STEP_US, model.LATE_PEAK) == (REPORT_S * SECOND_US, LATE_PEAK)


@pytest.mark.parametrize("k", [0.2, 0.83, 3.0])
def test_the_arithmetic_of_the_rule_is_that_of_its_steps(k: float) -> None:
    """Needed rate 1, time 1: what is reserved and the second connection move the rest, in small steps."""
    steps = 100_000
    rest, reserved = 1.0, 0.0
    for step in range(steps):
        rate = max(0.0, rest) / (1 - step / steps)
        reserved += rate / steps
        rest -= (rate + k) / steps
    assert reserved_by_rule(1 / (1 + k)) == pytest.approx(reserved, abs=1e-3)


def test_all_is_given_back_at_the_end_and_no_moment_has_more_than_the_line() -> None:
    requests = arrivals(30, 0.3, 5)
    run = Simulation(STEADY, 0.7)
    run.run(requests)
    whole = Window.of_us(START_US, max(one.by_us for one in requests) + 1)
    assert run.tables.peak(LINE, whole) == 0
    assert not run.moving


def test_what_does_not_fit_is_refused_and_the_others_are_not() -> None:
    large = replace(LONE, volume_bytes=LINE_BPS * 3_000 // 8)
    outcome = simulated(STEADY, 0.9, [large, large, LONE])
    assert outcome.refused == 1


def test_a_transfer_that_is_not_done_by_its_deadline_is_counted_late() -> None:
    outcome = simulated(replace(STEADY, share=0.5, controlled=False, additional=False), 0.9, [LONE])
    assert outcome.late == 0, "a reservation for so small a share suffices"
    halved = Simulation(replace(STEADY, share=0.5), 0.99)
    assert halved.run([replace(LONE, volume_bytes=LINE_BPS * 3_500 // 8)]).late == 1


def test_the_background_is_found_at_which_a_method_reserves_so_much() -> None:
    requests = arrivals(60, load_of(ONE_TCP), 7)
    rates = background_at(TWO, 18.0, requests)
    assert simulated(TWO, rates, requests).reserved_percent == pytest.approx(18.0, abs=0.2)
    with pytest.raises(ValueError, match="reserves 3"):
        background_at(ONE, 10.0, requests)


def test_the_experiment_says_its_figures_whichever_way_they_lie() -> None:
    printed: list[str] = []
    results = nict_share.simulate(printed.append, smoke=True)
    share, saved, in_time = results.rows
    assert share.ours is not None
    assert (share.verdict is Verdict.DIFFERS) == (share.ours > 8.0)
    assert saved.ours is not None
    assert (saved.verdict is Verdict.DIFFERS) == (saved.ours > 8.0)
    assert in_time.unit == "transfers"
    (plot,) = results.plots
    assert {len(one.x) for one in plot.curves} == {len(one.y) for one in plot.curves} == {6}
    assert "one TCP 32.9 %" in printed[0]
