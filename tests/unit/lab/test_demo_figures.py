"""What the demo claims of a run: judged by what was sent, in each phase once it is in force."""

from __future__ import annotations

import pytest

from slotcar_lab.demo.figures import Flow, Phase, Sample, mean_bps, phases_of, too_busy, verdicts

BOUNDS_S = (0.0, 6.0, 18.0, 43.0, 53.0)
OFFERED_BPS = 4_000_000


def flow(received_bps: dict[str, int], sent_bps: int = OFFERED_BPS, late_s: float = 0.0) -> Flow:
    """A premium flow with a sample each half second; from the slot's start it is `late_s` as it was before."""
    phases = phases_of(BOUNDS_S, {})
    times = [index / 2 for index in range(1, 107)]

    def at(moment: float) -> float:
        known = [phase for phase in phases if phase.start_s + (late_s if phase.name == "reserved" else 0) < moment]
        return received_bps[known[-1].name]

    received = tuple(Sample(moment, at(moment)) for moment in times)
    return Flow("premium", OFFERED_BPS, received, tuple(Sample(moment, sent_bps) for moment in times))


RATES_BPS = {"alone": 4_000_000, "congested": 3_000_000, "reserved": 3_960_000, "after": 3_000_000}


def held(premium: Flow, phases: tuple[Phase, ...]) -> dict[str, bool]:
    return {verdict.claim.split(":")[0]: verdict.holds for verdict in verdicts(premium, phases)}


def test_a_run_in_which_the_flow_kept_its_rate_only_alone_and_reserved_holds() -> None:
    assert held(flow(RATES_BPS), phases_of(BOUNDS_S, {})) == dict.fromkeys(RATES_BPS, True)


@pytest.mark.parametrize(
    ("phase", "rate_bps"),
    [("alone", 3_800_000), ("congested", 3_900_000), ("reserved", 3_800_000), ("after", 3_900_000)],
)
def test_each_phase_can_fail(phase: str, rate_bps: int) -> None:
    assert held(flow(RATES_BPS | {phase: rate_bps}), phases_of(BOUNDS_S, {})) == dict.fromkeys(RATES_BPS, True) | {
        phase: False
    }


def test_what_a_router_says_it_was_late_is_left_out_of_the_phase_and_no_more() -> None:
    late = flow(RATES_BPS, late_s=5.0)
    assert not held(late, phases_of(BOUNDS_S, {}))["reserved"]
    assert held(late, phases_of(BOUNDS_S, {"reserved": 5.0}))["reserved"]
    assert not held(flow(RATES_BPS, late_s=15.0), phases_of(BOUNDS_S, {"reserved": 5.0}))["reserved"]


def test_judged_is_what_was_sent_and_a_sender_that_was_too_busy_is_told_of() -> None:
    phases, busy = phases_of(BOUNDS_S, {}), flow(RATES_BPS | {"reserved": 3_500_000}, sent_bps=3_550_000)
    assert held(busy, phases)["reserved"]
    assert too_busy(busy, phases)
    assert not too_busy(flow(RATES_BPS), phases)


def test_a_phase_without_a_sample_well_inside_it_proves_nothing() -> None:
    """The load began so late that the slot started at once: the run must not claim that it saw congestion."""
    phases = phases_of((0.0, 17.0, 18.0, 43.0, 53.0), {})
    assert mean_bps(flow(RATES_BPS).samples, phases[1]) is None
    assert not held(flow(RATES_BPS), phases)["congested"]
