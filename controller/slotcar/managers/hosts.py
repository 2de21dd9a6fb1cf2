"""Hosts: the cores of a machine, and the bandwidth of its storage devices. The platform `linux-host` gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, StrictInt, model_validator

from slotcar.base.units import UnitError, parse_rate_bps
from slotcar.managers.model import ManagerError, Place, Request, ResourceManager, WrongVariable

PLATFORM = "linux-host"
MILLI = 1000
#: The most that a machine is thought to have.
MOST_CORES = 4096
#: As the kernel names it, below `/dev`.
DISK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
#: A unit's or a user's name: no white space, for a line of a change is split there.
_BOUND = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9@_.:-]{0,199}$")
#: What no reservation takes, whoever asks: the manager of the machine, who logs in there, and Slotcar's own (ADR 48).
#: The host itself refuses more, which only it can know: process 1, the kernel's threads, what else the ssh daemon runs.
_NEVER_UNITS = re.compile(
    r"slotcar(-rest)?(\.(service|slice|scope))?|g-[0-9a-z]+|slotcar-[a-z]_.*\.(slice|scope)|init(\.scope)?|(system|user|machine)\.slice"
    r"|user-0\.slice|(user|user-runtime-dir)@0\.service|sshd?(@.*)?\.(service|socket|slice)|system-sshd?.*\.slice"
    r"|(systemd-|dbus).*"
)
_CORES = re.compile(r"[0-9]{1,4}(\.[0-9]{1,3})?")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,2})?)\s*%")


def _cores(value: object) -> int:
    """Thousandths of a core of `4`, `2.5` or `"2.5"`."""
    text = str(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    try:
        millicores = int(Decimal(text) * MILLI) if _CORES.fullmatch(text) else 0
    except InvalidOperation:
        millicores = 0
    if not 0 < millicores <= MOST_CORES * MILLI:
        raise UnitError("is not a number of cores", value, f"say one such as `4` or `2.5`, at most {MOST_CORES}")
    return millicores


def _percent(value: object) -> int:
    """Parts per ten thousand of `60 %`."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    share = int(Decimal(match[1]) * 100) if match else 0
    if not 0 < share <= 10_000:
        raise UnitError("is not a part of a machine", value, "say a percentage such as `60 %`, at most 100 %")
    return share


def _bytes_per_s(value: object) -> int:
    """Bytes a second of `200 MB/s`; bits are for networks."""
    hint = "say bytes a second, such as `200 MB/s`"
    if not isinstance(value, str) or not re.search(r"(B|[Bb]ytes?)/s\s*$", value):
        raise UnitError("is not the bandwidth of a storage device", value, hint)
    bits = parse_rate_bps(value)
    if bits < 8:
        raise UnitError("is not the bandwidth of a storage device", value, hint)
    return -(-bits // 8)


Cores = Annotated[int, BeforeValidator(_cores)]
Percent = Annotated[int, BeforeValidator(_percent)]
Bandwidth = Annotated[int, BeforeValidator(_bytes_per_s)]


class Bind(Request):
    """Which processes belong to a host's reservation: exactly one of these. Without it, those of `slotcar run`."""

    unit: Annotated[str, Field(pattern=_BOUND.pattern)] | None = Field(default=None, description="A systemd unit.")
    user: Annotated[str, Field(pattern=_BOUND.pattern)] | None = Field(default=None, description="All of a user's.")
    process: Annotated[StrictInt, Field(ge=2, le=2**22)] | None = Field(
        default=None, description="One, by its number."
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(one is not None for one in (self.unit, self.user, self.process)) != 1:
            raise ValueError("say one of unit, user, process")
        if self.user is not None and (self.user == "root" or self.user.isdigit()):
            raise ValueError(f"user {self.user} may not be bound: name an account of the host that is not root's")
        if self.unit is not None and _NEVER_UNITS.fullmatch(self.unit):
            raise ValueError(f"unit {self.unit} may not be bound: it is the machine's own, or Slotcar's")
        return self

    @property
    def option(self) -> str:
        return next(f"{key}:{value}" for key, value in self.model_dump(exclude_none=True).items())


class HostRequest(Request):
    """What requests of a host's resources have in common."""

    host: Annotated[str, Field(min_length=1, max_length=253)] = Field(description="A host of the inventory.")
    bind: Bind | None = Field(default=None, description="Which processes belong to it.")

    @property
    def place(self) -> str:
        return self.host


class CpuRequest(HostRequest):
    """`cpu:` of a member: cores, or a part of the machine."""

    cores: Cores | None = Field(default=None, description="How many cores, in thousandths after it was read.")
    percent: Percent | None = Field(default=None, description="A part of the machine's cores.")

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.cores is None) == (self.percent is None):
            raise ValueError("say either cores or percent")
        return self

    @property
    def words(self) -> str:
        if self.cores is not None:
            return f"{format_cores(self.cores)} of {self.host}"
        return f"{Decimal(self.percent or 0) / 100:f} % of the cores of {self.host}"


class StorageRequest(HostRequest):
    """`storage:` of a member: read or write bandwidth of one device, or both."""

    device: Annotated[str, Field(pattern=f"^{DISK.pattern}$")] = Field(description="As the kernel names it: `vdb`.")
    read: Bandwidth | None = Field(default=None, description="Bytes a second.")
    write: Bandwidth | None = Field(default=None, description="Bytes a second.")

    @model_validator(mode="after")
    def _one_at_least(self) -> Self:
        if self.read is None and self.write is None:
            raise ValueError("say read, write, or both")
        return self

    @property
    def words(self) -> str:
        ways = [f"{way} {format_bytes_per_s(one)}" for way, one in (("read", self.read), ("write", self.write)) if one]
        return f"{' and '.join(ways)} of {self.device} of {self.host}"


def format_cores(millicores: int) -> str:
    """`2.5 cores`."""
    count = f"{Decimal(millicores) / MILLI:f}"
    count = count.rstrip("0").rstrip(".") if "." in count else count
    return f"{count} core{'' if count == '1' else 's'}"


def format_bytes_per_s(amount: int) -> str:
    """`200 MB/s`, exactly."""
    for prefix, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if amount >= factor:
            return f"{(Decimal(amount) / factor).normalize():f} {prefix}B/s"
    return f"{amount} B/s"


class _OfHosts(ResourceManager):
    platform = PLATFORM

    def options(self, request: HostRequest) -> Mapping[str, str]:
        return {"bind": request.bind.option} if request.bind else {}

    def bound(self, request: HostRequest) -> str:
        return request.bind.option if request.bind else ""


class CpuManager(_OfHosts):
    """Cores of a host. `slotcar_cpu` says how many may be reserved."""

    kind = "cpu"
    unit = "millicores"
    request = CpuRequest
    variables = ("slotcar_cpu",)

    def capacities(self, place: Place) -> Mapping[str, int]:
        if (value := place.variables.get("slotcar_cpu")) is None:
            return {}
        try:
            return {"": _cores(value)}
        except UnitError as error:
            raise WrongVariable("slotcar_cpu", error.message, value, error.hint) from error

    def amounts(self, request: CpuRequest, capacities: Mapping[str, int]) -> Mapping[str, int]:
        if request.cores is not None:
            return {"": request.cores}
        return {"": -(-capacities[""] * (request.percent or 0) // 10_000)}

    def format_amount(self, amount: int) -> str:
        return format_cores(amount)

    def describe(self, place: str, part: str) -> str:
        return f"the cores of {place}"


class StorageManager(_OfHosts):
    """Bandwidth of a host's storage devices. `slotcar_disks` says what was measured: `{vdb: {read: 400 MB/s}}`."""

    kind = "storage"
    unit = "bytes_per_s"
    request = StorageRequest
    variables = ("slotcar_disks",)

    def capacities(self, place: Place) -> Mapping[str, int]:
        disks = place.variables.get("slotcar_disks")
        if disks is None:
            return {}
        hint = "say `{vdb: {read: 400 MB/s, write: 250 MB/s}}`; `slotcar host measure` measures it"
        if not isinstance(disks, Mapping) or not disks:
            raise WrongVariable("slotcar_disks", "is not a mapping of devices", disks, hint)
        return dict(pair for disk, ways in disks.items() for pair in self._of_disk(str(disk), ways, hint))

    @staticmethod
    def _of_disk(disk: str, ways: Any, hint: str) -> list[tuple[str, int]]:
        if not DISK.fullmatch(disk) or not isinstance(ways, Mapping) or not ways or set(ways) - {"read", "write"}:
            raise WrongVariable(
                "slotcar_disks", "is not a storage device with its read and write", ways, hint, (disk,)
            )
        try:
            return [(f"{disk}:{way}", _bytes_per_s(value)) for way, value in sorted(ways.items())]
        except UnitError as error:
            raise WrongVariable("slotcar_disks", error.message, error.value, error.hint, (disk,)) from error

    def amounts(self, request: StorageRequest, capacities: Mapping[str, int]) -> Mapping[str, int]:
        amounts = {
            f"{request.device}:{way}": getattr(request, way) for way in ("read", "write") if getattr(request, way)
        }
        for part in amounts:
            if part not in capacities:
                disks = ", ".join(sorted({one.partition(":")[0] for one in capacities})) or "none"
                disk, _, way = part.partition(":")
                raise ManagerError(
                    f"{request.host} has no {way} bandwidth of {disk} to reserve: its slotcar_disks names {disks}"
                )
        return amounts

    def format_amount(self, amount: int) -> str:
        return format_bytes_per_s(amount)

    def describe(self, place: str, part: str) -> str:
        disk, _, way = part.partition(":")
        return f"{way} bandwidth of {disk} of {place}"


CPU, STORAGE = CpuManager(), StorageManager()
