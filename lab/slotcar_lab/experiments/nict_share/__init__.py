"""NICT: how much of the line must be reserved, on average, so that no transfer of a Poisson process is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slotcar.base.vocabulary import Shape
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.experiments.nict_share.model import (
    Method,
    Outcome,
    arrivals,
    background_at,
    reserved_by_rule,
    simulated,
)

HERE = Path(__file__).parent
SEED = 20_060_426
ARRIVALS, SMOKE_ARRIVALS, PLOT_ARRIVALS = 500, 40, 120
#: What a base connection gets of its committed rate: NewReno's and the proposed method's as the reference prints them. The
#: lab's `nict-af` holds the mover to the latter.
NEWRENO_SHARE, PROPOSED_SHARE = 0.79, 0.986
#: Parts of the line that the reference's methods reserve, in percent: the load and the background follow from two of them.
ONE_TCP, TWO_TCP, PROPOSED = 32.9, 18.0, 8.0
PLOT_BACKGROUNDS = (0.0, 0.25, 0.5, 0.65, 0.8, 0.9)

ONE = Method("one TCP", NEWRENO_SHARE, additional=False, controlled=False)
TWO = Method("two TCP without control", NEWRENO_SHARE, additional=True, controlled=False)
STEADY = Method("slotcar transfer", PROPOSED_SHARE, additional=True, controlled=True)
LATEST = Method(
    "slotcar transfer --shape latest", PROPOSED_SHARE, additional=True, controlled=True, shape=Shape.LATEST
)

SHARE = Rule(
    "mean part of the line that `--shape latest` reserves, with Poisson arrivals and no refusal",
    "8.0 %",
    "% of the line",
    "at most 8.0 %",
    lambda ours, _: ours <= PROPOSED,
)
SAVED = Rule(
    "the same by the reference's rule from the beginning on, against two connections without control",
    "8.0 of 18.0 %",
    "% of the line",
    "at most 8.0 %, and less than theirs",
    lambda ours, two: ours <= PROPOSED and ours < two,
)
IN_TIME = Rule(
    "transfers of either shape that are refused, or done after their deadline",
    "none refused; lateness is not printed",
    "transfers",
    "none",
    lambda ours, _: ours == 0,
    promise=True,
)


def simulate(say: Callable[[str], None], *, smoke: bool) -> Findings:
    """
    Raises:
        ValueError: no background makes the reference's two connections reserve what it prints.
    """
    transfers = arrivals(SMOKE_ARRIVALS if smoke else ARRIVALS, load_of(ONE_TCP), SEED)
    one = simulated(ONE, 0.0, transfers)
    background = background_at(TWO, TWO_TCP, transfers)
    two = simulated(TWO, background, transfers)
    say(f"{len(transfers)} transfers: one TCP {one.reserved_percent:.1f} %, two {two.reserved_percent:.1f} %")
    steady, latest = (simulated(method, background, transfers) for method in (STEADY, LATEST))
    parts = f"{latest.reserved_percent:.2f} % by latest, {steady.reserved_percent:.2f} % by steady"
    say(f"background {background:.1%} of the line: {parts}")
    return Findings(_rows(latest, steady, two, background), (_plot(background, smoke=smoke),), {})


def load_of(reserved_percent: float) -> float:
    """The part of the line that transfers move, of which one TCP reserves so much more that NewReno's share suffices."""
    return reserved_percent / 100 * NEWRENO_SHARE


def _rows(latest: Outcome, steady: Outcome, two: Outcome, background: float) -> tuple[Row, ...]:
    of_load = reserved_by_rule(TWO_TCP / ONE_TCP) * load_of(ONE_TCP) / PROPOSED_SHARE
    note = (
        f"theirs {two.reserved_percent:.1f} %. Where the second connections have a constant rate, the two figures that"
        f" the load and the background are found by make it {100 * of_load:.1f} % by arithmetic, and not 8.0 %"
    )
    refused, late = latest.refused + steady.refused, latest.late + steady.late
    return (
        SHARE.judge(latest.reserved_percent, note=f"background {100 * background:.1f} % of the line"),
        SAVED.judge(steady.reserved_percent, two.reserved_percent, note=note),
        IN_TIME.judge(float(refused + late), note=f"{refused} refused, {late} late"),
    )


def _plot(background: float, *, smoke: bool) -> Plot:
    transfers = arrivals(SMOKE_ARRIVALS if smoke else PLOT_ARRIVALS, load_of(ONE_TCP), SEED)
    levels = tuple(100 * one for one in PLOT_BACKGROUNDS)
    curves = tuple(
        Curve(
            method.name, levels, tuple(simulated(method, one, transfers).reserved_percent for one in PLOT_BACKGROUNDS)
        )
        for method in (ONE, TWO, STEADY, LATEST)
    )
    title = "Reserved part of the line against the background on it"
    marks = ((100 * background, "as the reference's two"),)
    return Plot("reserved", title, "background, % of the line", "reserved, % of the line", curves, marks)


EXPERIMENT = Experiment(
    name="nict-share",
    title="NICT: how much of the line deadline transfers must reserve",
    source="NICT, deadline transfers over DiffServ AF, evaluation of the reserved bandwidth",
    shown=(
        "With two connections and a reservation that follows what remains, deadline transfers reserve a small part of the"
        " line, and none is refused or late; the smallest where what is promised lies late and is executed early."
    ),
    inventory=HERE.parent / "nict_af" / "inventory",
    simulate=simulate,
    scale=(
        "A simulation over the controller's own slot tables, admission, profiles and reports, on one line of 1 Gb/s; no"
        " router is in it. The reference prints neither volumes, deadlines, arrivals nor background. So each transfer needs"
        " 1 to 3 % of the line for 30 to 90 minutes; the load is that at which one TCP reserves the 32.9 % that the"
        " reference prints, and the background that at which two without control reserve its 18.0 %: together nearly all"
        " of the line. The base connection has 98.6 % of its rate, which `nict-af` asks of the mover."
    ),
    explain=(
        "`--shape latest` reserves nothing as long as what remains can still be moved by the deadline at twice the rate"
        " that the whole needed; from then on the reservation follows remaining volume by remaining time, which is the"
        " reference's rule from the beginning on, and the shape `steady`. That rule cannot reserve 8.0 % of the line where"
        " two connections without control reserve 18.0 %, unless the additional connection gets faster while a transfer"
        " runs, or NewReno's share is about 0.7 and not 0.79. Other seeds, volumes of 0.5 to 10 % of the line and times"
        " of 10 minutes to 4 hours give 11 to 12 % by steady and 2 to 5 % by latest. What a late promise"
        " costs: a transfer whose second connection gets little is done at its deadline, and not before."
    ),
)
