"""SLSs that are agreed on with neighbours, in the domain's own ledger: steps that may be done twice (ADR 93)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from slotcar.base.timebase import Window
from slotcar.book.agreed_slss import AgreedSls, SlsAttempt, is_due
from slotcar.book.slss import CloseSls, CommitSls, FinishSlss, HoldSls, KeepSls, OnSls, ReleaseSls, promises
from slotcar.desk.deeds import caller_of, result_of
from slotcar.desk.desk import Desk
from slotcar.domains.model import Connection, Deed, DeedResult
from slotcar.domains.sls_requests import SlsRequest, figures_wrong
from slotcar.network.model import Sls
from slotcar.network.shaping import devices_of
from slotcar.planning.errors import NotPossible
from slotcar.platforms.intent import intents_at
from slotcar.policy.agreeing import WantedSls, require_agreeable
from slotcar.policy.caller import Caller
from slotcar.rollout.configuring import Rendering


@dataclass(slots=True)
class LedgerSlss:
    """See `slotcar.domains.of_slss.SlsKeeper`. `domain`: this one."""

    desk: Desk
    domain: str
    _closed: set[str] = field(default_factory=set)

    def do(self, deed: Deed, connection: Connection, now: datetime) -> DeedResult:
        return result_of(deed, connection, lambda: self._done(deed, connection, now))

    def is_in_force(self, connection: Connection) -> bool:
        agreed = self._agreed(self._request(connection), connection)
        return agreed is not None and agreed.in_force is not None and not agreed.closed

    def changed(self) -> Sequence[str]:
        """The openings of those that have been closed: the other domain may still have them."""
        closed = {one.id for one in self.desk.ledger.follow_slss() if one.closed}
        new, self._closed = closed - self._closed, closed
        return sorted(new)

    def not_ready(self, connection: Connection) -> bool:
        return False

    def slot(self, connection: Connection, now: datetime) -> str:
        return ""

    def tick(self, now: datetime) -> None:
        if any(is_due(one, now) for one in self.desk.ledger.follow_slss()):
            self.desk.ledger.run(FinishSlss(now))

    def slss(self) -> Sequence[AgreedSls]:
        return self.desk.ledger.follow_slss()

    def promises(self, name: str, now: datetime) -> Sequence[tuple[Window, int]]:
        return self.desk.ledger.ask(lambda tables: promises(tables, name, now), now)[0]

    def _done(self, deed: Deed, connection: Connection, now: datetime) -> None:
        """
        Raises:
            SlotcarError: it cannot be done.
        """
        request = self._request(connection)
        attempt = request.attempt(connection.id, self._caller(connection, request).actor, self.domain)
        if deed is Deed.HOLD:
            self._require_meant(connection, request, now)
        self.desk.ledger.run(_operation(deed, attempt, connection, now))
        self.desk.ledger.follow_slss()

    def _require_meant(self, connection: Connection, request: SlsRequest, now: datetime) -> None:
        """That it can be, and may be, before it is held."""
        sls = request.sls
        wrong = figures_wrong(sls, self.desk.network.interface(sls.ingress))
        if wrong:
            _, what, shown, hint = wrong[0]
            raise NotPossible(f"SLS {sls.name}: {shown} {what}{'; ' if hint else ''}{hint}")
        self._require_expressible(sls)
        before, window = self._agreed(request, connection), sls.validity
        assert window is not None
        in_force = before.in_force if before else None
        caller = self._caller(connection, request)
        reserving = self.desk.ledger.terms.policy.reserving
        wanted = WantedSls(
            sls.name, sls.upstream, sls.downstream, sls.service.value, sls.rate_bps, window,
            is_opening=not request.of, is_end=request.form.ended_at is not None,
            in_force_bps=in_force.sls.rate_bps if in_force else 0,
            domain=reserving.agreements.get(caller.member_of.domain or "", {}),
        )  # fmt: skip
        require_agreeable(caller, wanted, now)

    def _require_expressible(self, sls: Sls) -> None:
        """That the router where the traffic comes in can police it, and that where it leaves shape it, as far as they are
        this domain's."""
        network = self.desk.network
        assert sls.validity is not None
        with_it = network.model_copy(update={"sls": {**network.sls, sls.name: sls}})
        devices = devices_of(sls, with_it)
        _, unrenderable = Rendering(with_it)(intents_at((), with_it, sls.validity.start, devices))
        for why in unrenderable.values():
            raise NotPossible(f"SLS {sls.name}: {why}")

    def _request(self, connection: Connection) -> SlsRequest:
        return SlsRequest.from_text(connection.request, self.desk.network)

    def _agreed(self, request: SlsRequest, connection: Connection) -> AgreedSls | None:
        of = request.of or connection.id
        return next((one for one in self.desk.ledger.slss() if one.id == of), None)

    def _caller(self, connection: Connection, request: SlsRequest) -> Caller:
        return caller_of(connection, request.actor, self.domain, request.requester, self.desk.site)


def _operation(deed: Deed, attempt: SlsAttempt, connection: Connection, now: datetime) -> OnSls:
    match deed:
        case Deed.HOLD:
            return HoldSls(now, attempt)
        case Deed.EXTEND | Deed.KEEP:
            return KeepSls(now, attempt)
        case Deed.COMMIT:
            return CommitSls(now, attempt)
        case Deed.RELEASE:
            return ReleaseSls(now, attempt)
        case Deed.CANCEL:
            return CloseSls(now, attempt, connection.why[:500])
