"""What the rest of Slotcar asks of `linux-tc`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, StrictInt

from slotcar.base.registry import Facts, PlatformOptions, ShaperFacts, ShellNeeds, TransportKind, Watch
from slotcar.base.units import parse_rate_bps
from slotcar.base.vocabulary import Marking, Scheduler

#: In how long a full burst of premium leaves, where the operator does not say: Park found 7 ms of jitter to hurt as
#: 200 ms of delay do (EMERGE, second experiment, note 1), so a queue on the path must stay below that.
PREMIUM_DELAY_US = 5_000
#: One of so many packets is dropped or marked where best effort's mean queue is at its upper threshold: WRED's default.
MARK_DENOMINATOR = 10
NEEDS = ShellNeeds(
    programs=("tc",),
    modules=("sch_ingress", "cls_flower", "act_police", "act_pedit", "act_csum", "act_skbedit", "sch_red", "sch_gred"),
    scheduler_modules={one: f"sch_{one}" for one in Scheduler},
    only_root_may="change queues",
)


class LinuxOptions(PlatformOptions):
    """`slotcar_options` of a Linux router.

    Attributes:
        premium_delay_us: HFSC: in how long a full burst of premium must have left.
        mark_denominator: one of how many packets best effort drops, or marks where their ends know ECN, at its upper
            threshold (Cisco's mark probability denominator).
        line_rate: ETS: the rate of the physical line, bit/s; None: the slowest Ethernet that has the capacity.
    """

    PER_INTERFACE: ClassVar = ("line_rate",)

    premium_delay_us: Annotated[StrictInt, Field(ge=100, le=1_000_000)] = PREMIUM_DELAY_US
    mark_denominator: Annotated[StrictInt, Field(ge=1, le=1_000)] = MARK_DENOMINATOR
    line_rate: Annotated[int, BeforeValidator(parse_rate_bps)] | None = None


def grain_bps(rate_bps: int) -> int:
    """The step in which tc prints rates of this size exactly: 8 bit/s under 1 Mb/s, 1 kb/s under 1 Gb/s, ..."""
    if rate_bps < 1_000_000:
        return 8
    if rate_bps < 1_000_000_000:
        return 1_000
    return 1_000_000


FACTS = Facts(
    counts=True,
    transport=TransportKind.LINUX,
    options=LinuxOptions,
    markings=(Marking.DSCP, Marking.PRECEDENCE),
    acts_with="",
    acts_words="linux-tc",
    schedulers=tuple(Scheduler),
    number_words=(
        "rates are rounded up to what tc prints exactly (1 kbit/s from 1 Mbit/s on), bursts to what it reads back",
        "a class has what all reservations of its service take of the link; under htb premium's has 25 % more, as far as"
        " best effort can lend it: a class that drains as fast as it is filled keeps the queue that it once had",
        "an assured rate is two policers in a row: the committed rate, then the peak less the committed rate",
    ),
    needs=NEEDS,
    watch=Watch.TC_MONITOR,
    bounds_delay=True,
    most_assured_classes=8,
    remarks=True,
    shaper=ShaperFacts(grain_bps, not_with=frozenset({Scheduler.ETS})),
    flows_share=False,  # a filter for each flow, 2**31 of them
)
