"""What the domain's own ledger answers to a deed of a connection, and in whose name it is done there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slotcar.base.problems import SlotcarError, in_one_line
from slotcar.book.errors import LedgerUnavailable
from slotcar.domains.model import Connection, Deed, DeedResult
from slotcar.policy.caller import Caller, neighbour
from slotcar.policy.recalling import recalled
from slotcar.policy.site import Site


def result_of(deed: Deed, connection: Connection, do: Callable[[], None]) -> DeedResult:
    """That a deed was done, or why the ledger refused it.

    Raises:
        LedgerUnavailable: it is not known whether it was done.
    """
    try:
        do()
    except LedgerUnavailable:
        raise
    except SlotcarError as error:
        return DeedResult(deed, connection.version, f"{connection.domain}: {in_one_line(str(error))}")
    return DeedResult(deed, connection.version)


def caller_of(connection: Connection, actor: str, who: str, requester: Mapping[str, Any] | None, site: Site) -> Caller:
    """The neighbour that asks; in the first domain whoever asked for the connection there.

    Args:
        actor, requester: as the first domain has kept them. who: for whom it was asked.
    """
    if connection.previous is not None:
        return neighbour(connection.previous, site.policies)
    return recalled(actor or f"domain {connection.domain}", who, requester, site)
