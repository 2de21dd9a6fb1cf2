"""Licences of programs: a server has so many seats of each, and writes down in a file who may have how many.

In the inventory:

    lic1:
      slotcar_licences: {matlab: 10, ansys: 4}
      slotcar_licence_file: /var/lib/licences/seats.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from slotcar.managers import Allocation, ManagerError, Place, Request, ResourceManager, WrongVariable


class LicenceRequest(Request):
    """`licence:` of a member."""

    server: str = Field(description="The licence server, a host of the inventory.")
    program: str = Field(description="Whose seats.")
    seats: int = Field(ge=1, description="How many.")

    @property
    def place(self) -> str:
        return self.server

    @property
    def words(self) -> str:
        return f"{self.seats} seats of {self.program} on {self.server}"


class LicenceManager(ResourceManager):
    """Seats of programs. A server's file is `{HANDLE: {seats: {PROGRAM: SEATS}, options: {…}}}`."""

    kind = "licence"
    unit = "seats"
    request = LicenceRequest
    variables = ("slotcar_licences", "slotcar_licence_file")

    # -- admission -----------------------------------------------------------------------------------------------------

    def capacities(self, place: Place) -> Mapping[str, int]:
        licences = place.variables.get("slotcar_licences", {})
        if not isinstance(licences, Mapping) or not all(isinstance(one, int) and one > 0 for one in licences.values()):
            hint = "say `{matlab: 10}`"
            raise WrongVariable("slotcar_licences", "is no mapping of programs to their seats", licences, hint)
        return {str(program): seats for program, seats in licences.items()}

    def amounts(self, request: LicenceRequest, capacities: Mapping[str, int]) -> Mapping[str, int]:
        if request.program not in capacities:
            there_are = ", ".join(sorted(capacities))
            raise ManagerError(f"{request.server} has no licence of {request.program}: there are {there_are}")
        return {request.program: request.seats}

    def describe(self, place: str, part: str) -> str:
        return f"licences of {part} on {place}"

    # -- call-outs -----------------------------------------------------------------------------------------------------

    def enable(self, place: Place, allocation: Allocation) -> None:
        has = {"seats": dict(allocation.amounts), "options": dict(allocation.options)}
        self._write(place, self._read(place) | {allocation.handle: has})

    def disable(self, place: Place, allocation: Allocation) -> None:
        self._write(place, {handle: one for handle, one in self._read(place).items() if handle != allocation.handle})

    def verify(self, place: Place, allocation: Allocation) -> None:
        if allocation not in self.read(place):
            has = self._read(place).get(allocation.handle)
            raise ManagerError(f"{allocation.handle} has {has}, and should have {dict(allocation.amounts)}")

    def read(self, place: Place) -> Iterable[Allocation]:
        return [
            Allocation.of(handle, self.kind, one["seats"], one["options"]) for handle, one in self._read(place).items()
        ]

    def _read(self, place: Place) -> dict[str, Any]:
        file = self._file(place)
        seats: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return seats

    def _write(self, place: Place, seats: Mapping[str, Any]) -> None:
        file = self._file(place)
        file.with_suffix(".new").write_text(json.dumps(seats), encoding="utf-8")
        file.with_suffix(".new").replace(file)

    @staticmethod
    def _file(place: Place) -> Path:
        file = Path(str(place.variables["slotcar_licence_file"]))
        if not file.parent.is_dir():
            raise ManagerError(f"there is no folder {file.parent}: is the licence server's disk there?")
        return file


MANAGER = LicenceManager()
