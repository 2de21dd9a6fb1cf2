"""Where policies are asked whether a reservation may take its place: before the ledger's lock or under it, and of what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from slotcar.policy.policies import FirstHalf, Policies
from slotcar.policy.questions import Question
from slotcar.policy.reserving import ACTION
from slotcar.policy.verdict import Verdict
from slotcar.store import Ledger


@dataclass(slots=True)
class Decisions:
    """How often policies were asked, by `whole`, `first` or `second` half, and by whether the lock was held."""

    ledger: Ledger
    counted: dict[tuple[str, bool], int] = field(default_factory=dict)

    def note(self, part: str, question: Question) -> None:
        if question.action == ACTION:
            key = part, self.ledger._writer.lock.locked()
            self.counted[key] = self.counted.get(key, 0) + 1

    def taken(self) -> dict[str, int]:
        """Those since it was asked last; each is named by where it was: `first before`, `second under` and so on."""
        taken = {f"{part} {'under' if locked else 'before'}": times for (part, locked), times in self.counted.items()}
        self.counted.clear()
        return taken


def decisions(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Decisions:
    """Notes them from now on."""
    noted = Decisions(ledger)
    decide, first_half, second_half = Policies.decide, Policies.first_half, Policies.second_half

    def whole(policies: Policies, question: Question) -> Verdict:
        noted.note("whole", question)
        return decide(policies, question)

    def first(policies: Policies, question: Question, unknown: frozenset[str]) -> FirstHalf:
        noted.note("first", question)
        return first_half(policies, question, unknown)

    def second(policies: Policies, half: FirstHalf, rest: Mapping[str, Any]) -> Verdict:
        noted.note("second", half.question)
        return second_half(policies, half, rest)

    monkeypatch.setattr(Policies, "decide", whole)
    monkeypatch.setattr(Policies, "first_half", first)
    monkeypatch.setattr(Policies, "second_half", second)
    return noted
