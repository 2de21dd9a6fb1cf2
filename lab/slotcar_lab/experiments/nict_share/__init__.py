"""NICT: how much of the line must be reserved, on average, so that no transfer of a Poisson process is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.experiments.nict_share.model import Method, Outcome, arrivals, background_at, simulated

HERE = Path(__file__).parent
SEED = 20_060_426
ARRIVALS, SMOKE_ARRIVALS, PLOT_ARRIVALS = 500, 40, 120
#: What a base connection gets of its committed rate: NewReno's as the reference prints it, the mover's as the lab's
#: `nict-af` measured it, the mean of all loads, and the reference's own of its proposed method.
NEWRENO_SHARE, OUR_SHARE, REFERENCE_SHARE = 0.79, 0.969, 0.986
#: Parts of the line that the reference's two other methods reserve, in percent: the load and the background follow.
ONE_TCP, TWO_TCP, PROPOSED = 32.9, 18.0, 8.0
PLOT_BACKGROUNDS = (0.0, 0.25, 0.5, 0.65, 0.8, 0.9)

ONE = Method("one TCP", NEWRENO_SHARE, additional=False, controlled=False)
TWO = Method("two TCP without control", NEWRENO_SHARE, additional=True, controlled=False)
OURS = Method("slotcar transfer", OUR_SHARE, additional=True, controlled=True)
REFERENCE = Method("with the reference's 98.6 %", REFERENCE_SHARE, additional=True, controlled=True)

SHARE = Rule(
    "mean part of the line that is reserved, with Poisson arrivals and no refusal",
    "8.0 %",
    "% of the line",
    "at most 8.0 %",
    lambda ours, _: ours <= PROPOSED,
)
SAVED = Rule(
    "the same, against two connections without control on the same line",
    "8.0 of 18.0 %",
    "% of the line",
    "less than theirs",
    lambda ours, two: ours < two,
)
IN_TIME = Rule(
    "transfers that are refused, or done after their deadline",
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
    asked = arrivals(SMOKE_ARRIVALS if smoke else ARRIVALS, load_of(ONE_TCP), SEED)
    one = simulated(ONE, 0.0, asked)
    background = background_at(TWO, TWO_TCP, asked)
    two = simulated(TWO, background, asked)
    say(f"{len(asked)} transfers: one TCP {one.reserved_percent:.1f} %, two {two.reserved_percent:.1f} %")
    ours, reference = (simulated(method, background, asked) for method in (OURS, REFERENCE))
    say(f"background {background:.1%} of the line: {ours.reserved_percent:.2f} %, {ours.refused} refused")
    return Findings(_rows(ours, reference, two, background), (_plot(background, smoke=smoke),), {})


def load_of(reserved_percent: float) -> float:
    """The part of the line that transfers move, of which one TCP reserves so much more that NewReno's share suffices."""
    return reserved_percent / 100 * NEWRENO_SHARE


def _rows(ours: Outcome, reference: Outcome, two: Outcome, background: float) -> tuple[Row, ...]:
    note = (
        f"background {100 * background:.1f} % of the line; a base connection with the reference's 98.6 % of its rate:"
        f" {reference.reserved_percent:.1f} %"
    )
    return (
        SHARE.judge(ours.reserved_percent, note=note),
        SAVED.judge(ours.reserved_percent, two.reserved_percent, note=f"theirs {two.reserved_percent:.1f} %"),
        IN_TIME.judge(float(ours.refused + ours.late), note=f"{ours.refused} refused, {ours.late} late"),
    )


def _plot(background: float, *, smoke: bool) -> Plot:
    asked = arrivals(SMOKE_ARRIVALS if smoke else PLOT_ARRIVALS, load_of(ONE_TCP), SEED)
    levels = tuple(100 * one for one in PLOT_BACKGROUNDS)
    curves = tuple(
        Curve(method.name, levels, tuple(simulated(method, one, asked).reserved_percent for one in PLOT_BACKGROUNDS))
        for method in (ONE, TWO, OURS)
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
        " line, and none is refused or late."
    ),
    inventory=HERE.parent / "nict_af" / "inventory",
    simulate=simulate,
    scale=(
        "A simulation over the controller's own slot tables, admission, profiles and reports, on one line of 1 Gb/s; no"
        " router is in it. The reference prints neither volumes, deadlines, arrivals nor background. So each transfer needs"
        " 1 to 3 % of the line for 30 to 90 minutes; the load is that at which one TCP reserves the 32.9 % that the"
        " reference prints, and the background that at which two without control reserve its 18.0 %. The base connection's"
        " share of its rate, 96.9 %, is what `nict-af` measured."
    ),
    explain=(
        "With the same rule, remaining volume by remaining time, a transfer reserves in this model what its second"
        " connection leaves. The base connection's share costs little of it: the note says what the reference's own"
        " would. What is left of the difference lies in what the reference does not print: its volumes, deadlines and"
        " background. A profile of the shape `latest` reserves less, and makes transfers late."
    ),
)
