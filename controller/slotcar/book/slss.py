"""SLSs that two domains agree on: held, decided and ended under the ledger's lock, each step as one operation (ADR 93)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from slotcar.admission.resource_id import sls_resource
from slotcar.admission.tables import SlotTables
from slotcar.base.assured import class_key
from slotcar.base.timebase import Window, from_us, iso
from slotcar.base.units import format_rate
from slotcar.book.agreed_slss import AgreedSls, SlsAttempt, SlsForm, is_due
from slotcar.book.errors import SlsRefused
from slotcar.book.model import Terms
from slotcar.book.operation import Operation
from slotcar.book.transaction import Transaction
from slotcar.network.model import InterfaceId, Sls
from slotcar_client.wire.events import OfAgreedSls, SlsChanged, SlsEnded, SlsOpened

#: A domain agrees on no more of them at a time, so that a neighbour cannot fill the ledger.
MOST_SLSS = 1000


@dataclass(frozen=True)
class OnSls(Operation[None]):
    """A step of an attempt, which may be done again. Its batch has nothing else, as it changes what the others go by."""

    alone: ClassVar[bool] = True
    minds_holds: ClassVar[bool] = True
    attempt: SlsAttempt

    def run(self, transaction: Transaction) -> None:
        """
        Raises:
            SlsRefused.
        """
        known = {one.id: one for one in transaction.slss()}
        self.step(known.get(self.attempt.of), known, transaction)

    def step(self, agreed: AgreedSls | None, known: Mapping[str, AgreedSls], transaction: Transaction) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class HoldSls(OnSls):
    """Keeps room for a form: from now on nothing is admitted that would not fit into it as well."""

    def step(self, agreed: AgreedSls | None, known: Mapping[str, AgreedSls], transaction: Transaction) -> None:
        attempt = self.attempt
        if agreed is not None and attempt.id in (agreed.attempt, agreed.rests_on):
            return
        if attempt.opens:
            self._require_place(known.values(), transaction.terms)
            agreed = AgreedSls(attempt.id, attempt.form.sls.name)
        else:
            agreed = _changeable(agreed, attempt, self.now)
            others = [one for one in known.values() if one.id != agreed.id]
            self._require_place(others, transaction.terms)
            require_promises_kept(transaction.tables, attempt.form, self.now)
        transaction.agree(replace(agreed, proposed=self._form(agreed), attempt=attempt.id))

    def _form(self, agreed: AgreedSls) -> SlsForm:
        form, before = self.attempt.form, agreed.in_force
        if not self.attempt.keeps_sources or before is None:
            return form
        return replace(form, sls=form.sls.model_copy(update={"pscheduler": before.sls.pscheduler}))

    def _require_place(self, others: Iterable[AgreedSls], terms: Terms) -> None:
        """No other SLS has the name, or holds at the same time for the service at the ingress."""
        form = self.attempt.form
        live = [(one, each) for one in others for each in one.forms if each.end > self.now]
        if len({one.id for one, _ in live}) >= MOST_SLSS:
            raise SlsRefused(f"{MOST_SLSS} SLSs are agreed on already, which is as many as may be")
        written = [sls for sls in terms.sls.values() if not sls.agreed]
        name = form.sls.name
        if any(sls.name == name for sls in written) or any(one.name == name for one, _ in live):
            raise SlsRefused(f"there is an SLS {name} already: give this one another name")
        # Of the inventory's, None is always; of those that were agreed on, never: they were ended before they began.
        windows = [(sls, sls.validity) for sls in written]
        windows += [(each.sls, each.window) for _, each in live if each.window is not None]
        for sls, window in windows:
            same = _what(sls) == _what(form.sls)
            if same and form.window is not None and (window is None or form.window.overlaps(window)):
                when = f"holds {window}" if window else "always holds"
                raise SlsRefused(
                    f"the SLS {sls.name} {when}, for {sls.service} at {sls.ingress} too, where {name} is to hold"
                    f" {form.window}: a service has one SLS at a time there"
                )


def _changeable(agreed: AgreedSls | None, attempt: SlsAttempt, now: datetime) -> AgreedSls:
    """
    Raises:
        SlsRefused: it is not in force, or over, or being changed, or the change would make another SLS of it.
    """
    form, name = attempt.form, attempt.form.sls.name
    if agreed is None or agreed.in_force is None:
        raise SlsRefused(f"there is no SLS {name} in force that was agreed on with {attempt.of}")
    if agreed.over or agreed.closed or agreed.in_force.end <= now:
        raise SlsRefused(f"the SLS {name} ended at {iso(agreed.in_force.end)}: open another one")
    if agreed.proposed is not None:
        raise SlsRefused(f"the SLS {name} is being changed already ({agreed.attempt}): ask again once that is decided")
    before, sls = agreed.in_force.sls, form.sls
    for what in ("name", "upstream", "downstream", "service", "ingress", "scope"):
        if getattr(before, what) != getattr(sls, what):
            raise SlsRefused(
                f"the {what} of the SLS {name} is {_shown(before, what)} and stays so: open another one for"
                f" {_shown(sls, what)}"
            )
    held, window = form.window, agreed.in_force.window
    if form.ended_at is None and (held is None or window is None or not held.overlaps(window)):
        raise SlsRefused(f"the SLS {name} holds {window}, of which {held} has nothing: open another one")
    return agreed


def _shown(sls: Sls, what: str) -> str:
    value = getattr(sls, what)
    return ", ".join(value) or "all of its domain" if isinstance(value, tuple) else str(value)


def require_promises_kept(tables: SlotTables, form: SlsForm, now: datetime) -> None:
    """
    Raises:
        SlsRefused: more is promised of it, or longer, than this form has; in numbers.
    """
    name, window = form.sls.name, form.window
    for promised, rate_bps in promises(tables, name, now):
        fits_in_time = window is not None and window.start <= promised.start and promised.end <= window.end
        if rate_bps > form.sls.rate_bps:
            raise SlsRefused(
                f"{format_rate(rate_bps)} of the SLS {name} are promised {promised}, which is more than"
                f" {format_rate(form.sls.rate_bps)}"
            )
        if not fits_in_time:
            when = f"is to hold {window}" if window else "is not to hold at all"
            raise SlsRefused(f"{format_rate(rate_bps)} of the SLS {name} are promised {promised}, and it {when}")


def promises(tables: SlotTables, name: str, now: datetime) -> Sequence[tuple[Window, int]]:
    """What is promised of an SLS from now on: layer-3 rates in bit/s, and when. What is free is left out."""
    last = datetime.max.replace(tzinfo=now.tzinfo)
    steps = tables.steps(sls_resource(name), Window(now, last))
    ends = [at for at, _ in steps[1:]]
    return [
        (Window(from_us(at), from_us(end)), rate_bps)
        for (at, rate_bps), end in zip(steps, ends, strict=False)
        if rate_bps
    ]


@dataclass(frozen=True)
class KeepSls(OnSls):
    """That what was held is still there."""

    def step(self, agreed: AgreedSls | None, known: Mapping[str, AgreedSls], transaction: Transaction) -> None:
        if agreed is None or self.attempt.id not in (agreed.attempt, agreed.rests_on):
            raise SlsRefused(f"what was held of the SLS {self.attempt.form.sls.name} is not there any more")


@dataclass(frozen=True)
class CommitSls(OnSls):
    """What was held comes into force, and is told in the same transaction."""

    def step(self, agreed: AgreedSls | None, known: Mapping[str, AgreedSls], transaction: Transaction) -> None:
        attempt = self.attempt
        if agreed is not None and agreed.rests_on == attempt.id:
            return
        if agreed is None or agreed.attempt != attempt.id or agreed.proposed is None:
            raise SlsRefused(f"what was held of the SLS {attempt.form.sls.name} is not there any more")
        after = replace(agreed, in_force=agreed.proposed, rests_on=attempt.id, proposed=None, attempt="")
        is_over = agreed.proposed.end <= self.now
        kind: type[OfAgreedSls] = SlsOpened if attempt.opens else SlsChanged
        transaction.agree(replace(after, over=is_over))
        _tell(transaction, SlsEnded if is_over else kind, after, self.now, attempt)


@dataclass(frozen=True)
class ReleaseSls(OnSls):
    """What was held is given up; what is in force stays."""

    def step(self, agreed: AgreedSls | None, known: Mapping[str, AgreedSls], transaction: Transaction) -> None:
        if agreed is not None and agreed.attempt == self.attempt.id:
            _let_go(transaction, agreed)


def _let_go(transaction: Transaction, agreed: AgreedSls) -> None:
    after = replace(agreed, proposed=None, attempt="")
    transaction.agree(after, is_dropped=after.in_force is None)


@dataclass(frozen=True)
class CloseSls(OnSls):
    """The end of an SLS of which the other domain knows nothing any more: as soon as nothing is promised of it."""

    why: str = ""

    def step(self, agreed: AgreedSls | None, known: Mapping[str, AgreedSls], transaction: Transaction) -> None:
        attempt = self.attempt
        if agreed is None:
            return
        if agreed.in_force is None or agreed.rests_on != attempt.id:
            if agreed.attempt == attempt.id:
                _let_go(transaction, agreed)
            return
        if agreed.closed:
            return
        promised = promises(transaction.tables, agreed.name, self.now)
        last = max([self.now, *(window.end for window, _ in promised)])
        form = replace(agreed.in_force, ended_at=min(last, agreed.in_force.end))
        is_over = form.end <= self.now
        after = replace(
            agreed,
            in_force=form,
            proposed=None,
            attempt="",
            closed=self.why or "the other domain has none",
            over=is_over,
        )
        transaction.agree(after)
        _tell(transaction, SlsEnded if is_over else SlsChanged, after, self.now, attempt)


@dataclass(frozen=True)
class FinishSlss(Operation[int]):
    """Tells of those whose time is over; of how many."""

    alone: ClassVar[bool] = True
    minds_holds: ClassVar[bool] = False

    def run(self, transaction: Transaction) -> int:
        over = [one for one in transaction.slss() if is_due(one, self.now)]
        for one in over:
            transaction.agree(replace(one, over=True))
            _tell(transaction, SlsEnded, one, self.now)
        return len(over)


def _tell(
    transaction: Transaction, kind: type[OfAgreedSls], agreed: AgreedSls, now: datetime, by: SlsAttempt | None = None
) -> None:
    form = agreed.in_force
    assert form is not None
    assert form.sls.validity is not None
    says = kind(
        sls=agreed.name, upstream=form.sls.upstream, downstream=form.sls.downstream, service=form.sls.service.value,
        rate_bps=form.sls.rate_bps, starts_at=form.sls.validity.start, ends_at=form.end, connection=agreed.rests_on,
        actor=by.actor if by else "", message=agreed.closed or (by.reason if by else ""),
    )  # fmt: skip
    transaction.event(says.kind, now, None, None, **says.details)


def _what(sls: Sls) -> tuple[str, InterfaceId]:
    """The service, or the class of it, and the interface: of each there is one SLS at a time."""
    return class_key(sls.service, sls.assured_class), sls.ingress
