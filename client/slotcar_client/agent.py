"""A reservation over several domains, for which a client asks each of them in turn (GARA §4.1's agent)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar_client.client import Slotcar
from slotcar_client.wire import documents
from slotcar_client.wire.errors import SlotcarError
from slotcar_client.wire.verbs import CommitConnection, Connect, ConnectFurther, EndConnection, ShowTicket


class UnknownDomain(SlotcarError):
    """A domain on the way is none that the agent can ask."""


def reserve_over(domains: Mapping[str, Slotcar], first: str, reservation: Mapping[str, Any]) -> documents.Connection:
    """Holds in each domain from the first one on, carries the tickets back, and has the first one commit for all.

    Args:
        domains: by name, the controllers that the agent may ask, each with a token of its own.
        first: where the reservation's source is, or its destination.

    Raises:
        UnknownDomain. Problem: a domain refuses; what was held before it is given back.
    """
    held = [domains[first].send(Connect(reservation, agent=True))]
    connection = held[0]["connection"]
    try:
        while (condition := held[-1]["condition"]) != "":
            if condition not in domains:
                raise UnknownDomain(f"{held[-1]['domain']} holds on condition of {condition}'s ticket")
            request, previous = held[-1]["request_for_next"], held[-1]["domain"]
            held.append(domains[condition].send(ConnectFurther(connection, request, previous)))
        ticket = held[-1]["ticket"]
        for one in reversed(held[:-1]):
            ticket = domains[one["domain"]].send(ShowTicket(connection, ticket))["ticket"]
        return domains[first].send(CommitConnection(connection))
    except Exception:
        domains[first].send(EndConnection(connection, "the agent did not get all domains"))
        raise
