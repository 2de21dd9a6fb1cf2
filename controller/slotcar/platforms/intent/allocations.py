"""What the open slots of claims have of their places, as it is sent to their resource managers."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.managers import Allocation, manager_of, request_of
from slotcar.platforms.intent.model import ActiveReservation


def allocations_of(active: Iterable[ActiveReservation]) -> dict[str, list[Allocation]]:
    """The allocations of each place. For a kind whose manager is not installed any more a place gets none."""
    allocations: dict[str, list[Allocation]] = {}
    for one in active:
        claim = one.entry.reservation.claim
        manager = manager_of(claim.kind) if claim else None
        request = request_of(claim.kind, claim.request) if claim else None
        if claim is None or manager is None or request is None:
            continue
        amounts = {demand.resource.part: demand.amount(one.slot_number) for demand in one.entry.demands}
        options = dict(manager.options(request))
        if manager.bound(request):
            options["accounts"] = ",".join(claim.accounts)
        if one.entry.group:
            options["group"] = one.entry.group
        allocations.setdefault(claim.place, []).append(Allocation.of(one.entry.handle, claim.kind, amounts, options))
    return allocations
