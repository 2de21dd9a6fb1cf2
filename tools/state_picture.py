"""Prints docs/pictures/states.svg: the states of a reservation, and which verb leads from which to which.

Usage: `python tools/state_picture.py`. `make generate` writes it, out of the book's rules (`slotcar.book.rules.verb_rules`)
and its table of states; a test compares it. Only where a state stands is said here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from html import escape

from slotcar.book.model import TRANSITIONS
from slotcar.book.rules.verb_rules import RULES, PseudoState, RuleState
from slotcar_client.wire.states import State

#: The middle of each state's box.
AT: Mapping[RuleState, tuple[int, int]] = {
    State.HELD: (280, 110), State.AWAITING_APPROVAL: (280, 330), State.COMMITTED: (560, 110),
    PseudoState.CHANGE_WAITS: (560, 330), State.TIMED_OUT: (920, 40), State.CANCELLED: (920, 170),
    State.ENDED: (920, 260), State.REJECTED: (920, 440),
}  # fmt: skip
LIVE = (State.HELD, State.AWAITING_APPROVAL, State.COMMITTED, PseudoState.CHANGE_WAITS)
#: Around the states that take a place: left, top, right, bottom.
FRAME = (150, 62, 690, 390)
HALF_WIDTH, HALF_HEIGHT = 100, 26
SIZE = (1040, 480)
#: What happens by itself.
BY_TIME = "by itself"
Moves = dict[tuple[RuleState, RuleState], list[str]]
STYLE = """\
  <style>
    text { font: 13px sans-serif; fill: #222 } .verb { font: italic 12px sans-serif; fill: #1a4f8b }
    .verb { paint-order: stroke; stroke: #fff; stroke-width: 4px } rect { fill: #eef3f9; stroke: #456; rx: 6 }
    .over rect { fill: #f3f3f3 } .frame { fill: none; stroke-dasharray: 5 4 } path { stroke: #456; fill: none }
  </style>
  <defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
    <path d="M0,0 L8,4 L0,8 z" style="fill: #456; stroke: none"/></marker></defs>"""


def moves() -> Moves:
    """By the states from and to which they lead, the verbs that do; and what happens by itself."""
    found: Moves = {}
    for verb, rule in RULES.items():
        if verb.family == "reservations":
            for before, following in (rule.moves or {}).items():
                for after in sorted(following):
                    found.setdefault((before, after), []).append(verb.operation)
    for before in LIVE:
        kept = State.COMMITTED if before is PseudoState.CHANGE_WAITS else State(before)
        for after in sorted(TRANSITIONS[kept] & {State.TIMED_OUT, State.ENDED}):
            found.setdefault((before, after), []).insert(0, BY_TIME)
    return found


def picture() -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE[0]} {SIZE[1]}" role="img">'
    yield "  <title>The states of a reservation, and which verb leads from which to which</title>"
    yield STYLE
    left, top, right, bottom = FRAME
    yield f'  <rect class="frame" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"/>'
    found = moves()
    from_all = {
        after: verbs
        for (_, after), verbs in found.items()
        if after not in LIVE and all(found.get((one, after)) == verbs for one in LIVE)
    }
    for after, verbs in from_all.items():
        x, y = AT[after]
        yield from _arrow((right, y), (x - HALF_WIDTH, y), verbs, 0.5)
    for (before, after), verbs in found.items():
        if before is not after and after not in from_all:
            returns = (after, before) in found
            yield from _between(before, after, verbs, 22 if returns else 0)
    for state, (x, y) in AT.items():
        yield from _box(state, x, y, found.get((state, state), []))
    yield from _created()
    yield "</svg>"


def _created() -> Iterator[str]:
    x, y = 50, 220
    (create,) = (rule for verb, rule in RULES.items() if verb.operation == "create")
    yield f'  <circle cx="{x}" cy="{y}" r="7" fill="#456"/>'
    for state in sorted(create.begins):
        to_x, to_y = AT[state]
        aside = HALF_HEIGHT if to_y < y else -HALF_HEIGHT
        yield from _arrow(
            (x, y), (to_x - HALF_WIDTH + 20, to_y + aside), ["create"] if state is State.HELD else [], 0.5
        )


def _box(state: RuleState, x: int, y: int, keeping: list[str]) -> Iterator[str]:
    """A state, with the verbs that leave a reservation in it."""
    group = "live" if state in LIVE else "over"
    yield f'  <g class="{group}"><rect x="{x - HALF_WIDTH}" y="{y - HALF_HEIGHT}" width="200" height="52"/>'
    yield f'    <text x="{x}" y="{y - 4 if keeping else y + 4}" text-anchor="middle">{escape(state.value)}</text>'
    if keeping:
        yield f'    <text class="verb" x="{x}" y="{y + 14}" text-anchor="middle">{", ".join(keeping)}</text>'
    yield "  </g>"


def _between(before: RuleState, after: RuleState, verbs: list[str], aside: int) -> Iterator[str]:
    (x, y), (to_x, to_y) = AT[before], AT[after]
    if x == to_x:
        down = 1 if to_y > y else -1
        x, to_x = x - aside * down, to_x - aside * down
        yield from _arrow((x, y + HALF_HEIGHT * down), (to_x, to_y - HALF_HEIGHT * down), verbs, 0.3)
        return
    start, end = (x + HALF_WIDTH, y), (to_x - HALF_WIDTH, to_y)
    if after not in LIVE and x < AT[State.COMMITTED][0]:  # around what stands between
        start = (x, y - HALF_HEIGHT if to_y < y else y + HALF_HEIGHT)
    yield from _arrow(start, end, verbs, 0.45 if after in LIVE else 0.62)


def _arrow(start: tuple[float, float], end: tuple[float, float], verbs: list[str], part: float) -> Iterator[str]:
    """A line, with its verbs at a part of its length."""
    (x, y), (to_x, to_y) = start, end
    yield f'  <path d="M{x:g},{y:g} L{to_x:g},{to_y:g}" marker-end="url(#end)"/>'
    if verbs:
        at_x, at_y = x + (to_x - x) * part, y + (to_y - y) * part - 4
        yield f'  <text class="verb" x="{at_x:g}" y="{at_y:g}" text-anchor="middle">{", ".join(verbs)}</text>'


if __name__ == "__main__":
    sys.stdout.write("\n".join(picture()) + "\n")
