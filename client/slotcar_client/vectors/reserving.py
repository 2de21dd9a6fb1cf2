"""A vector's connection with what it needs of the network: agreed once, asked again only above that (A1 §2)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from slotcar_client.calls.requests import Json
from slotcar_client.client import Slotcar
from slotcar_client.vectors import sockets
from slotcar_client.vectors.connection import Connection
from slotcar_client.vectors.mapping import (
    MTU_BYTES,
    Needs,
    NotPossible,
    Transport,
    needs,
    reservation,
    settings,
    transports,
)
from slotcar_client.vectors.vector import Vector
from slotcar_client.wire.errors import NoAnswer, Problem, SlotcarError

#: How often it is looked whether the routers have it.
LOOK_S = 0.5
#: A controller, or how to come by one.
Controller = Slotcar | Callable[[], Slotcar]


class Agreement:
    """A reservation that belongs to one connection.

    Attributes:
        handle: of the reservation. requests: how often the controller was asked for something about it.
    """

    def __init__(self, slotcar: Controller, request: Json, needed: Needs, service: str | None = None) -> None:
        """
        Args:
            slotcar: the controller, or how to come by one that is closed with the connection.
            request: the keys that do not follow from the needs. service: another one than follows from them.

        Raises:
            NotPossible: it is refused, or the controller cannot be asked; the reason is its own.
        """
        self.requests = 0
        self._owned = not isinstance(slotcar, Slotcar)
        self._slotcar = slotcar if isinstance(slotcar, Slotcar) else slotcar()
        self._chosen = {"service": service} if service else {}
        self._keys = reservation(needed) | self._chosen
        self._request: dict[str, Any] = {**request, **self._keys}
        try:
            entry = self._slotcar.create(self._request)
        except SlotcarError as error:
            self._close()
            raise NotPossible(f"the network does not give it: {error}") from error
        self.requests += 1
        self.handle = entry["handle"]
        self._request["owner"] = entry["reservation"]["owner"]
        self._set_name = f"vector-{self._request['name']}"

    def change(self, needed: Needs) -> None:
        """
        Raises:
            NotPossible: it is refused; what was reserved stays.
        """
        keys = reservation(needed) | self._chosen
        at_once = {"rate": None, "rtt": None}
        try:
            # A burst that lasts as long as before is a longer one at a higher rate: it is left, and no router's is smaller.
            if keys | at_once == self._keys | at_once and _us(keys) <= _us(self._keys):
                keys |= {"rtt": self._keys["rtt"]} if "rtt" in self._keys else {}
                self.requests += 1
                self._slotcar.modify(self.handle, rate=keys["rate"])
            else:
                self._replace(keys)
        except (Problem, NoAnswer) as error:
            raise NotPossible(f"the network does not give it: {error}") from error
        self._keys = keys

    def _replace(self, keys: dict[str, Any]) -> None:
        """What cannot be changed by itself is changed as in a file: by owner and name."""
        kept = {key: value for key, value in self._request.items() if key not in self._keys}
        file = {"version": 1, "reservations": [{**kept, **keys}]}
        self.requests += 2
        plan = self._slotcar.plan(file, set_name=self._set_name)
        for refusal in [step["refusal"] for step in plan["steps"]]:
            if refusal is not None:
                raise NotPossible(f"the network does not give it: {refusal['reason']}")
        self._slotcar.apply(plan)
        self._request = {**kept, **keys}

    def wait_until_in_place(self, wait_s: float) -> None:
        """Returns once all routers of the way have it.

        Raises:
            NotPossible: they do not in time; the reason is the slot's.
        """
        ends_s = time.monotonic() + wait_s
        while True:
            self.requests += 1
            entry = self._slotcar.reservation(self.handle)
            slot = entry["slot"]
            if slot is not None and slot["state"] == "in-place":
                return
            if time.monotonic() + LOOK_S > ends_s:
                state = f"{slot['state']}: {slot['why']}".removesuffix(": ") if slot else entry["state"]
                raise NotPossible(f"the routers do not have {self.handle} after {wait_s:g} s; it is {state}")
            time.sleep(LOOK_S)

    def give_back(self) -> None:
        self.requests += 1
        with suppress(Problem):  # it is over already
            self._slotcar.cancel(self.handle, "its connection is closed")
        self._close()

    def _close(self) -> None:
        if self._owned:
            self._slotcar.close()


def connect(
    vector: Vector, to: sockets.Address, slotcar: Controller, *, duration: str = "1 h", source: str | None = None,
    destination: str | None = None, name: str | None = None, owner: str | None = None, service: str | None = None,
    theirs: Iterable[Transport] | None = None, mtu_bytes: int = MTU_BYTES, wait_s: float = 60.0,
) -> Connection:  # fmt: skip
    """The connected socket with all of it set, at both ends of which this library is, and its reservation.

    Args:
        to: address and port of the other end, which listens (`Listener`).
        duration: how long it is reserved from now on, at most; closing the connection gives it back.
        source, destination: the two hosts as the controller knows them; by default the socket's own addresses.
        name, owner: of the reservation. service: another one than follows from the vector.
        theirs: the transports that the other end has; left out: those that the vector may use are tried.
        mtu_bytes: the longest packet of the way. wait_s: for the routers to have it; 0 does not wait.

    Raises:
        NotPossible: a sentence why not; nothing stays reserved.
    """
    settings_of = {one: settings(vector, one, mtu_bytes) for one in transports(vector)}
    transport, connected = sockets.reached(vector, to, settings_of, theirs)
    needed = needs(vector, transport, mtu_bytes)
    (own, own_port), (other, other_port) = connected.getsockname(), connected.getpeername()
    request = {
        "name": name or f"connection-{uuid.uuid4().hex[:12]}",
        "source": {"host": source or own, "port": own_port},
        "destination": {"host": destination or other, "port": other_port},
        "start": "now",
        "duration": duration,
        **({"owner": owner} if owner else {}),
    }
    try:
        agreement = _agreed(slotcar, request, needed, service, wait_s) if needed.asks else None
    except BaseException:
        connected.close()
        raise
    return Connection(connected, vector, transport, mtu_bytes=mtu_bytes, network=agreement, agreed=needed)


def _us(keys: dict[str, Any]) -> int:
    """The round-trip time of which the burst is; 0 where no burst is asked for."""
    return int(keys["rtt"].removesuffix(" us")) if "rtt" in keys else 0


def _agreed(slotcar: Controller, request: Json, needed: Needs, service: str | None, wait_s: float) -> Agreement:
    agreement = Agreement(slotcar, request, needed, service)
    try:
        if wait_s:
            agreement.wait_until_in_place(wait_s)
    except BaseException:
        agreement.give_back()
        raise
    return agreement
