"""The benchmark's simulation of many domains, small: it is the controller's own code that agrees in it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.domains.simulation import Simulation
from slotcar.admission import capacities


def test_six_domains_agree_on_all_or_nothing_and_the_same_by_the_same_seed(tmp_path: Path) -> None:
    first, again = (Simulation.start(6, 3, tmp_path / str(turn)) for turn in range(2))
    answers = [first.ask(number) for number in range(12)]
    assert first.problems() == []
    assert any(answers)
    assert first.messages > 0 < first.rounds
    assert [again.ask(number) for number in range(12)] == answers
    assert (again.messages, again.rounds) == (first.messages, first.rounds)


def test_what_has_no_room_is_refused_and_held_nowhere(tmp_path: Path) -> None:
    simulation = Simulation.start(3, 5, tmp_path)
    for domain in simulation.domains.values():
        everything = dict.fromkeys(capacities(domain.network), 1)
        domain.segments.tables.set_capacities(everything)  # type: ignore[attr-defined]
    assert not any(simulation.ask(number) for number in range(4))
    assert simulation.problems() == []
    assert sum(simulation.refusals.values()) == 4
    assert not any(domain.segments.held for domain in simulation.domains.values())  # type: ignore[attr-defined]
