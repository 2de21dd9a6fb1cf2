"""`connect`: to a controller, or by a vector to another host with what that needs of the network."""

from __future__ import annotations

from typing import Any, overload

from slotcar_client import client
from slotcar_client.client import Slotcar
from slotcar_client.vectors import Connection, Vector, reserving


@overload
def connect(context: str | None = None, **options: Any) -> Slotcar: ...
@overload
def connect(context: Vector, to: tuple[str, int], slotcar: Slotcar | None = None, **options: Any) -> Connection: ...
def connect(
    context: str | Vector | None = None,
    to: tuple[str, int] | None = None,
    slotcar: Slotcar | None = None,
    **options: Any,
) -> Slotcar | Connection:
    """The controller of a named context; else of `SLOTCAR_API` and `SLOTCAR_TOKEN`, else of the context in use.

    Of a vector (`slotcar_client.vectors`): the socket that is connected with all that it says; `options` are those of
    `slotcar_client.vectors.reserving.connect`. Without `slotcar` the controller is found as above, once the vector needs
    something of the network.

    Raises:
        NoContext: none is named.
        NotPossible: of a vector, a sentence why not.
    """
    if not isinstance(context, Vector):
        return client.connect(context, **options)
    if to is None:
        raise TypeError("say where to: connect(vector, (address, port))")
    return reserving.connect(context, to, slotcar or client.connect, **options)
