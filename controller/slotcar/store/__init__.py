"""The only durable state: entries, the occupancy log, events (PostgreSQL). Decides nothing: the book does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotcar.store.ledger import Ledger as Ledger
    from slotcar.store.opening import open_ledger as open_ledger
    from slotcar.store.queries import EntryFilter

__all__ = ["EntryFilter", "Ledger", "open_ledger"]


def __getattr__(name: str) -> Any:
    """Loads SQLAlchemy and the tables' kernels only for who opens a ledger: the model is everybody's."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from slotcar.store import ledger, opening, queries

    return getattr({"EntryFilter": queries, "Ledger": ledger, "open_ledger": opening}[name], name)
