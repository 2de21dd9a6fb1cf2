"""What A1's options do: restricted jitter, checksums, priorities, fast close, and changes that ask nobody (A1 §2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

from slotcar_lab.errors import LabError
from slotcar_lab.experiments.a1_1 import ADDRESS, LEAD_S, both_ends
from slotcar_lab.experiments.a1_2.ends import PENDING, SILENCE_S
from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule

HERE = Path(__file__).parent
SIZE = 1_000
#: Messages come so often, and a receiver that is too slow takes one each.
EVERY_S, TAKE_S = 0.01, 0.03
SECONDS, SHORT_SECONDS = 6.0, 3.0
#: The sending host's own interface, in two of the cases: a slow one with the bands of `prio`, and one that spoils packets.
SLOW = ("tbf rate 2mbit burst 3000 limit 60000", "prio")
SPOILS = ("netem corrupt 5%", "")
#: A new pace holds for all of a second after this.
SETTLE_S = 0.3
RATES_PS = (100_000, 25_000, 50_000)

Case = dict[str, Any]
Results = Mapping[str, Mapping[str, Any]]


def case(name: str, port: int, *options: str, **more: Any) -> Case:
    usual = {"size": SIZE, "sort": 128, "every_s": EVERY_S, "rate_ps": 0, "take_s": 0, "finish_s": 0, "changes": []}
    return usual | {"name": name, "port": port, "options": list(options), **more}


def cases(seconds: float) -> list[tuple[Sequence[str], list[Case]]]:
    """What the sender's interface has, and the cases that are played at once."""
    third = seconds / 3
    rates = {"rate_ps": RATES_PS[0], "every_s": SIZE / RATES_PS[0] / 2, "changes": [
        [third, RATES_PS[1]], [2 * third, RATES_PS[2]]
    ]}  # fmt: skip
    urgent, bulk = {"every_s": 0.04}, {"every_s": 0.002}
    return [
        ((), [
            case("newest", 5_001, "MBP", "RJ", take_s=TAKE_S),
            case("window", 5_002, "MBP", "RETRAN", take_s=TAKE_S),
            case("changed", 5_003, "MBP", **rates),
            case("fast", 5_004, "MBP", "RETRAN", "FASTCLOSE", finish_s=1.0),
            case("slow", 5_005, "MBP", "RETRAN", finish_s=1.0),
        ]),
        (SLOW, [case("urgent", 5_006, "MBP", sort=255, **urgent), case("bulk", 5_007, "MBP", sort=0, **bulk)]),
        (SLOW, [case("alike", 5_008, "MBP", **urgent), case("bulk alike", 5_009, "MBP", **bulk)]),
        (SPOILS, [case("checked", 5_010, "MBP", "DATA_CHECK"), case("unchecked", 5_011, "MBP")]),
    ]  # fmt: skip


def measure(bench: Bench) -> Findings:
    configuration = bench.configuration(bench.clock.now())
    seconds = SHORT_SECONDS if bench.smoke else SECONDS
    sent: dict[str, Any] = {}
    received: dict[str, Any] = {}
    for interface, played in cases(seconds):
        with_interface(bench, interface)
        _play(bench, [one | {"seconds": seconds} for one in played], sent, received)
    with_interface(bench, ())
    return Findings(tuple(rows(sent, received, seconds)), tuple(plots(received, seconds)), configuration)


def with_interface(bench: Bench, disciplines: Sequence[str]) -> None:
    """Gives the sending host's interface these queues, the second within the first; none: as the lab made it."""
    device = bench.lab.check("sender", ["sh", "-c", "ip -o route get " + ADDRESS]).split(" dev ")[1].split()[0]
    commands = [f"tc qdisc del dev {device} root 2>/dev/null || true"]
    for number, words in enumerate(filter(None, disciplines)):
        where = "root handle 1:" if not number else "parent 1:1 handle 10:"
        commands.append(f"tc qdisc add dev {device} {where} {words}")
    bench.lab.check("sender", ["sh", "-ec", "; ".join(commands)])


def _play(bench: Bench, played: list[Case], sent: dict[str, Any], received: dict[str, Any]) -> None:
    begin = float(int(bench.clock.now() + LEAD_S))
    by_the_nodes = [one | {"begin": bench.by_the_nodes(begin)} for one in played]
    with both_ends(bench, HERE / "ends.py", by_the_nodes) as (receiver, sender):
        bench.wait_until(begin + played[0]["seconds"] + 2 * SILENCE_S)
        for process, results in ((receiver, received), (sender, sent)):
            bench.wait_ended(process, 20.0)
            results |= json.loads(process.stdout.splitlines()[-1])
    missing = {one["name"] for one in played if not received.get(one["name"], {}).get("arrivals")}
    if missing:
        raise LabError(f"nothing is known of {', '.join(sorted(missing))}: {receiver.stderr.strip()[-500:]}")


NEWEST = Rule(
    "restricted jitter: age of the oldest message that a slow receiver takes",
    "the receiver gets the most current data even in overload",
    "ms",
    f"at most the {PENDING} messages that may be pending, and the time to take one",
    lambda ours, _: ours <= (PENDING * EVERY_S + TAKE_S) * 1_000 + 5,
)
WINDOW = Rule(
    "with a window instead: its age",
    "both rate-based and windowing flow control",
    "ms",
    "more than twice that with restricted jitter",
    lambda ours, newest: ours > 2 * newest,
)
URGENT = Rule(
    "sort: worst delay of urgent messages beside bulk on the host's own line",
    "specifies the priority with regard to other connections",
    "ms",
    "at most a quarter of what it is where both have the same sort",
    lambda ours, alike: ours <= alike / 4,
)
URGENT_LOSS = Rule(
    "sort: loss of urgent messages", "not measured", "%", "none", lambda ours, _: ours == 0, promise=True
)
CHECKED = Rule(
    "DATA_CHECK: spoilt messages that were delivered, of 1000",
    "checksum the data on this connection",
    "messages",
    "none",
    lambda ours, _: ours == 0,
)
UNCHECKED = Rule(
    "without it",
    "not measured",
    "messages",
    "some: the line does spoil them",
    lambda ours, _: ours > 0,
)
FAST = Rule(
    "FASTCLOSE: how long a sender goes on after the other end wanted to close",
    "quickly terminate a connection",
    "ms",
    "at most three messages' time",
    lambda ours, _: ours <= 3_000 * EVERY_S + 5,
)
SLOW_CLOSE = Rule(
    "without it",
    "not measured",
    "ms",
    "until it has sent all",
    lambda ours, rest_ms: ours >= 0.9 * rest_ms,
    promise=True,
)
CHANGED = Rule(
    "a lower rate, and half of it back: what was received of each, the furthest away",
    "the QoS can be changed without notifying the network",
    "% of the vector's rate",
    "within 5 % of it",
    lambda ours, _: 95 <= ours <= 105,
)
NOT_ASKED = Rule(
    "changes that asked the network", "none below the agreed maximum", "of 2", "none", lambda ours, _: ours == 0
)


def rows(sent: Results, received: Results, seconds: float) -> Iterator[Row]:
    newest, window = (1_000 * _oldest_s(received[name], seconds) for name in ("newest", "window"))
    yield NEWEST.judge(newest, note=f"{received['newest']['dropped']} heads of the full queue were dropped")
    yield WINDOW.judge(window, newest)
    urgent, alike = (1_000 * max(age for _, age in received[name]["arrivals"]) for name in ("urgent", "alike"))
    yield URGENT.judge(urgent, alike, note=f"{alike:.0f} ms with the same sort")
    yield URGENT_LOSS.judge(100 * (1 - len(received["urgent"]["arrivals"]) / sent["urgent"]["sent"]))
    for rule, name in ((CHECKED, "checked"), (UNCHECKED, "unchecked")):
        count = received[name]["wrong"] * 1_000 / sent[name]["sent"]
        yield rule.judge(count, note=f"{len(received[name]['arrivals'])} of {sent[name]['sent']} were delivered")
    for rule, name in ((FAST, "fast"), (SLOW_CLOSE, "slow")):
        yield rule.judge(1_000 * (sent[name]["until_s"] - 1.0), 1_000 * (seconds - 1.0))
    parts = [
        100 * ours / wanted for ours, wanted in zip(_rates_ps(received["changed"], seconds), RATES_PS, strict=True)
    ]
    yield CHANGED.judge(max(parts, key=lambda part: abs(part - 100)))
    yield NOT_ASKED.judge(sent["changed"]["asked"])


def _oldest_s(result: Mapping[str, Any], seconds: float) -> float:
    """Once the receiver is behind, which it is after a second, and as long as more comes."""
    return max((age for at, age in result["arrivals"] if 1.0 < at < seconds), default=0.0)


def _rates_ps(result: Mapping[str, Any], seconds: float) -> list[float]:
    """Bytes per second in each third; what is received in its beginning may be of the rate before."""
    rates = []
    for number in range(3):
        start, end = number * seconds / 3 + SETTLE_S, (number + 1) * seconds / 3
        inside = [at for at, _ in result["arrivals"] if start <= at < end]
        rates.append((len(inside) - 1) * SIZE / (inside[-1] - inside[0]) if len(inside) > 1 else 0.0)
    return rates


def plots(received: Results, seconds: float) -> Iterator[Plot]:
    def ages(names: Mapping[str, str]) -> tuple[Curve, ...]:
        return tuple(
            Curve(words, tuple(at for at, _ in arrivals), tuple(1_000 * age for _, age in arrivals))
            for name, words in names.items()
            if (arrivals := received[name]["arrivals"])
        )

    axis, age = "seconds since the first message", "ms since a message was to be sent"
    jitter = ages({"newest": "restricted jitter", "window": "window"})
    yield Plot("jitter", "Age of what a slow receiver takes", axis, age, jitter, style="points")
    sort = ages({"urgent": "urgent, sort 255 beside 0", "alike": "the same sort"})
    yield Plot("sort", "Delay beside bulk on the host's own line", axis, age, sort, style="points", y_log=True)
    step_s = 0.25
    steps = [step_s * number for number in range(int(seconds / step_s))]
    counts = [sum(start <= at < start + step_s for at, _ in received["changed"]["arrivals"]) for start in steps]
    rate = Curve("received", tuple(steps), tuple(fmean([count]) * SIZE / step_s / 1_000 for count in counts))
    marks = tuple((seconds * third / 3, f"{RATES_PS[third] // 1_000} kB/s") for third in (1, 2))
    yield Plot(
        "change", "A rate that is changed below the agreed maximum", axis, "kB/s of messages", (rate,), marks, "steps"
    )


EXPERIMENT = Experiment(
    name="a1-2",
    title="A1: what the options of a vector do",
    source="Mapp and Hodges, QoS-Based Transport (A1), §2",
    shown=(
        "A receiver in restricted jitter has the most current data even where it is too slow; sort decides between"
        " connections of a host; checksums keep spoilt data out; a fast close ends both ends; and a change below what was"
        " agreed asks nobody."
    ),
    inventory=HERE.parent / "a1_1" / "inventory",
    measure=measure,
    written=Fraction(1, 8),
    scaled=False,
    scale="The paper describes the options and measures none of them; rates and messages here are small.",
)
