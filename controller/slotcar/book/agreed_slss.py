"""SLSs that two domains agree on while they run, as one domain keeps them (ADR 93). Pure.

What is in force is read by admission as one of the inventory. While another form of it is held, which the other domain may
have decided already, admission gets what both forms have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.admission.resource_id import sls_resource
from slotcar.base.timebase import Window
from slotcar.book.model import Terms
from slotcar.network.model import Sls


@dataclass(frozen=True, slots=True)
class SlsForm:
    """One form of an SLS.

    Attributes:
        sls: its terms; `validity` is the window that was agreed. ended_at: it ends then, before its window does.
    """

    sls: Sls
    ended_at: datetime | None = None

    @property
    def window(self) -> Window | None:
        """When it holds, half-open; None where it was ended before it began."""
        window = self.sls.validity
        assert window is not None
        end = window.end if self.ended_at is None else min(window.end, self.ended_at)
        return Window(window.start, end) if window.start < end else None

    @property
    def end(self) -> datetime:
        """From when on it does not hold: of one that was ended before it began, from then on."""
        window = self.window
        if window is not None:
            return window.end
        assert self.ended_at is not None
        return self.ended_at


@dataclass(frozen=True, slots=True)
class AgreedSls:
    """An SLS as one domain keeps it.

    Attributes:
        id: of the attempt that opened it. in_force: None until that is committed. rests_on: the attempt that made it so.
        proposed, attempt: the form that is held, and by which attempt; none where nothing is under way.
        over: it was told that it has ended. closed: why it was ended without the other domain's word; empty where not.
    """

    id: str
    name: str
    in_force: SlsForm | None = None
    rests_on: str = ""
    proposed: SlsForm | None = None
    attempt: str = ""
    over: bool = False
    closed: str = ""

    @property
    def forms(self) -> tuple[SlsForm, ...]:
        return tuple(form for form in (self.in_force, self.proposed) if form is not None)

    def for_admission(self) -> Sls | None:
        """What may be promised of it: what each of its forms has. None where that is nothing."""
        form = self.in_force
        window = form.window if form else None
        if form is None or window is None:
            return None
        rate_bps = form.sls.rate_bps
        if self.proposed is not None:
            held = self.proposed.window
            if held is None or not held.overlaps(window):
                return None
            window = Window(max(held.start, window.start), min(held.end, window.end))
            rate_bps = min(rate_bps, self.proposed.sls.rate_bps)
        return form.sls.model_copy(update={"validity": window, "rate_bps": rate_bps, "agreed": True})


@dataclass(frozen=True, slots=True)
class SlsAttempt:
    """What is asked for: an opening, or another form of what `of` opened. `id`: the connection's. actor: who asks here.

    keeps_sources: what measures it here stays, whatever the form says.
    """

    id: str
    of: str
    form: SlsForm
    actor: str
    reason: str = ""
    keeps_sources: bool = False

    @property
    def opens(self) -> bool:
        return self.id == self.of


def with_agreed(terms: Terms, agreed: Iterable[AgreedSls]) -> Terms:
    """The terms with what was agreed on, in the place of what they had of that."""
    slss = for_admission(agreed)
    written = {name: sls for name, sls in terms.sls.items() if not sls.agreed}
    former = {sls_resource(name) for name in terms.sls} - {sls_resource(name) for name in written}
    capacities = {name: amount for name, amount in terms.capacities.items() if name not in former}
    capacities |= {sls_resource(name): sls.rate_bps for name, sls in slss.items()}
    return replace(terms, sls={**written, **slss}, capacities=capacities)


def for_admission(agreed: Iterable[AgreedSls]) -> dict[str, Sls]:
    """By name; of several of one name, which follow each other in time, the last."""
    slss: dict[str, Sls] = {}
    for one in agreed:
        sls = one.for_admission()
        known = slss.get(one.name)
        if sls is not None and (known is None or _start(known) <= _start(sls)):
            slss[one.name] = sls
    return slss


def _start(sls: Sls) -> datetime:
    assert sls.validity is not None
    return sls.validity.start


def is_due(agreed: AgreedSls, now: datetime) -> bool:
    """Whether its end is to be told of. One that is being changed may get another."""
    in_force = agreed.in_force
    return in_force is not None and not agreed.over and agreed.proposed is None and in_force.end <= now
