"""What happens in a round: a function of seed, number and pace, so that a round can be run again. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from slotcar_lab.chaos.gate import TASKS

#: How long things go on happening in a round, at a pace of 1.
LENGTH_S = 30
#: The turn of a controller (read, push, read back) that a pace of 1 is for. Where turns take longer than slots, no slot is
#: ever active, and nothing can go wrong.
TURN_S = 5.0
#: Each reservation of a round has a port of its own, by which it is known on the routers.
FIRST_PORT = 6000
#: What operators do; the more often it is named, the more often it is drawn.
OPERATIONS = ("create", "create", "create", "modify", "cancel")
FAULTS = (
    "kill-leader", "kill-standby", "stop-leader", "stop-standby", "set-clock-of-leader", "set-clock-of-standby",
    "fill-disk", "make-database-read-only", "kill-database", "cut-ssh", "restart-router", "partition",
)  # fmt: skip
OF_A_ROUTER = ("restart-router", "partition")
OF_A_CLOCK = ("set-clock-of-leader", "set-clock-of-standby")
#: Of those that may strike within a push, so many do.
WITHIN = 0.5
#: These end after a while.
THAT_LAST = (*OF_A_CLOCK, "fill-disk", "make-database-read-only")
#: These may strike within a push: before one of its tasks, wherever it is by the clock.
IN_A_PUSH = (
    "kill-leader", "stop-leader", "fill-disk", "make-database-read-only", "kill-database", "cut-ssh", "restart-router",
    "partition",
)  # fmt: skip
ROUTERS = ("anl-edge", "lbnl-edge")
HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Action:
    """`at_s` after the round's beginning, do this; where `words` name a task, before that task of the next push."""

    at_s: float
    kind: str
    words: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return f"{self.kind} {' '.join(f'{key}={value}' for key, value in self.words.items())}".rstrip()

    def __str__(self) -> str:
        return f"{self.at_s:5.1f} s  {self.text}"


def pace_of(turn_s: float) -> float:
    """By how much everything in a round is stretched where a turn takes `turn_s`."""
    return max(1.0, round(turn_s / TURN_S, 1))


def script(seed: int, number: int, pace: float = 1.0) -> list[Action]:
    """At least two reservations, changes to some of them, and up to three faults, by time.

    The first fault is the next of all kinds in an order that the seed gives: none is left out of a long run by chance.
    """
    chance = random.Random(f"{seed}/{number}")  # noqa: S311 - not for secrets
    actions = [_create(chance, number, 0, 0.0, pace)]
    created = 1
    for _ in range(chance.randint(3, 5)):
        kind = chance.choice(OPERATIONS)
        at_s = round(pace * chance.uniform(1, LENGTH_S), 1)
        if kind == "create":
            actions.append(_create(chance, number, created, at_s, pace))
            created += 1
        else:
            name = f"r{number}-{chance.randrange(created)}"
            rate = f"{chance.randint(1, 9)} Mbit/s"
            actions.append(Action(at_s, kind, {"name": name} | ({"rate": rate} if kind == "modify" else {})))
    order = random.Random(f"{seed}/faults").sample(FAULTS, len(FAULTS))  # noqa: S311 - not for secrets
    for kind in (order[number % len(order)], *chance.choices(FAULTS, k=chance.randint(0, 2))):
        actions.append(Action(round(pace * chance.uniform(2, LENGTH_S), 1), kind, _words(chance, kind, pace)))
    return sorted(actions, key=lambda action: action.at_s)


def _words(chance: random.Random, kind: str, pace: float) -> dict[str, str]:
    words = {"for_s": str(round(pace * chance.randint(5, 20)))} if kind in THAT_LAST else {}
    if kind in OF_A_CLOCK:
        words["ahead_s"] = str(chance.choice((-HOUR_S, HOUR_S)))
    if kind in OF_A_ROUTER:
        words["router"] = chance.choice(ROUTERS)
    if kind == "kill-database":
        words["how"] = chance.choice(("killed", "stopped"))
    if kind in IN_A_PUSH and chance.random() < WITHIN:
        words["task"] = str(chance.randint(1, TASKS))
    return words


def _create(chance: random.Random, number: int, index: int, at_s: float, pace: float) -> Action:
    words = {
        "name": f"r{number}-{index}",
        "port": str(FIRST_PORT + number * 10 % 1000 + index),
        "rate": f"{chance.randint(1, 9)} Mbit/s",
        # Not at once, at any pace: that would lie in the past when it is decided, and be refused.
        "start": f"now + {max(1, round(pace * chance.randint(3, 20)))} s",
        "duration": f"{max(1, round(pace * chance.randint(5, 25)))} s",
    }
    return Action(at_s, "create", words)
