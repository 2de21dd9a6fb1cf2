"""Chaos in which anl and esnet open, change and end SLSs between them, and reservations rest on these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from slotcar.base.timebase import Window
from slotcar.book.agreed_slss import AgreedSls, SlsForm
from slotcar.book.slss import promises
from slotcar.domains.agreement import Agreement
from slotcar.domains.sls_requests import change_of, opening
from slotcar.domains.way import Asker
from tests.integration.domains.chaos import Chaos
from tests.integration.domains.slss import MBPS
from tests.integration.domains.three import NOW

SIDES = ("anl", "esnet")
OPERATOR = Asker("operator", {"role": "operator"})
WAYS: Sequence[dict[str, Any]] = (
    {"upstream": "anl", "ingress": "esnet-hub:eth1"}, {"upstream": "esnet", "ingress": "anl-border:eth2"},
)  # fmt: skip
#: Around the day on which everything is reserved.
START = NOW + timedelta(hours=20)


@dataclass(slots=True)
class SlsChaos(Chaos):
    """`attempts`: connections about SLSs."""

    attempts: list[str] = field(default_factory=list)

    @property
    def wants(self) -> Sequence[Callable[[Agreement], None]]:
        reservations = (self._reserve, self._reserve, self._reserve, self._change, self._end)
        return (*reservations, self._open_sls, self._open_sls, self._change_sls, self._change_sls, self._end_sls)

    def _side(self) -> Agreement | None:
        return self.world.domains.get(self.chance.choice(SIDES))

    def _open_sls(self, _anl: Agreement) -> None:
        side, name = self._side(), f"s{len(self.attempts)}"
        if side is None:
            return
        length = timedelta(hours=self.chance.randrange(4, 12))
        body = {
            "name": name, "service": "ip-premium", "rate": f"{self.chance.randrange(10, 41)} Mbit/s", "burst": "500 kB",
            "validity": {"start": START, "end": START + length}, **self.chance.choice(WAYS),
        }  # fmt: skip
        request = opening(body, side.network, side.name)
        self.attempts.append(f"sls:{side.name}-{name}")
        side.agree_on(request, OPERATOR, connection_id=self.attempts[-1])

    def _in_force(self, side: Agreement) -> AgreedSls | None:
        kept = [one for one in self.world.ledgers[side.name].slss() if one.in_force and not one.over]
        return self.chance.choice(kept) if kept else None

    def _change_sls(self, _anl: Agreement) -> None:
        side = self._side()
        before = self._in_force(side) if side else None
        if side is None or before is None or before.in_force is None:
            return
        self.happened["changes of SLSs"] += 1
        sls = before.in_force.sls
        window = Window(START, START + timedelta(hours=self.chance.randrange(4, 12)))
        rate_bps = self.chance.randrange(2, 41) * MBPS
        self._ask(side, before, SlsForm(sls.model_copy(update={"rate_bps": rate_bps, "validity": window})))

    def _end_sls(self, _anl: Agreement) -> None:
        side = self._side()
        before = self._in_force(side) if side else None
        if side is not None and before is not None and before.in_force is not None:
            self.happened["ends of SLSs"] += 1
            self._ask(side, before, SlsForm(before.in_force.sls, ended_at=self.world.now))

    def _ask(self, side: Agreement, before: AgreedSls, form: SlsForm) -> None:
        self.attempts.append(f"sls:{side.name}-{len(self.attempts)}")
        request = change_of(before, form, side.network, side.name)
        side.agree_on(request, OPERATOR, connection_id=self.attempts[-1])

    def _work(self) -> None:
        Chaos._work(self)  # a class with slots is made anew: `super` would mean the first one
        for name in set(SIDES) & self.world.domains.keys():
            for one in self.world.ledgers[name].slss():
                sls = one.for_admission()
                rates = self._promises(name, one.name)
                most_bps = max((rate_bps for _, rate_bps in rates), default=0)
                assert most_bps <= (sls.rate_bps if sls else 0), (
                    f"seed {self.seed}: {name} promised {most_bps} of {one}"
                )

    def _promises(self, domain: str, sls: str) -> Sequence[tuple[Window, int]]:
        now = self.world.now
        return self.world.ledgers[domain].ask(lambda tables: promises(tables, sls, now), now)[0]

    def problems(self) -> Iterator[str]:
        yield from Chaos.problems(self)
        kept = {name: {one.id: one for one in self.world.ledgers[name].slss()} for name in SIDES}
        for each in sorted(set().union(*kept.values())):
            forms = [kept[name].get(each) for name in SIDES]
            if any(one is None or one.proposed for one in forms):
                yield f"{each} is half: {forms}"
            elif len({_words(one) for one in forms}) > 1:
                yield f"{each} is not the same in both: {forms}"

    def slss_in_force(self) -> int:
        return sum(one.for_admission() is not None for one in self.world.ledgers["anl"].slss())

    def summary(self) -> str:
        return f"{Chaos.summary(self)}, {len(self.attempts)} attempts for SLSs, {self.slss_in_force()} in force"


@dataclass(slots=True)
class WithReservations(SlsChaos):
    """Nobody asks for SLSs: they go with reservations."""

    @property
    def wants(self) -> Sequence[Callable[[Agreement], None]]:
        return (
            self._reserve,
            self._reserve,
            self._reserve_together,
            self._change,
            self._change,
            self._end,
            self._cancel,
        )

    def run(self, length: timedelta) -> None:
        SlsChaos.run(self, length)
        for _ in range(12):  # what was opened is taken down after a while
            self._step(timedelta(seconds=31))
        if open_ones := {
            name: one.store.unsettled() for name, one in self.world.domains.items() if one.store.unsettled()
        }:
            raise AssertionError(open_ones)

    def problems(self) -> Iterator[str]:
        yield from SlsChaos.problems(self)
        for name in SIDES:
            for one in self.world.ledgers[name].slss():
                sls, promised = one.for_admission(), self._promises(name, one.name)
                if sls is None or one.over:
                    continue
                if not promised:
                    yield f"{name} has {one.name}, of which nothing is promised"
                elif sls.rate_bps != max(rate_bps for _, rate_bps in promised):
                    yield f"{name} has {sls.rate_bps} of {one.name}, of which {promised} is promised"


def _words(one: AgreedSls | None) -> str:
    form = one.in_force if one else None
    return f"{form.sls.rate_bps} {form.window}" if form else "none"
