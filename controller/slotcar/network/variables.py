"""What an operator writes in an inventory, as pydantic models: texts with units become integers here, once.

Every key is explained in docs/reference/inventory.md; a test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, StringConstraints, model_validator

from slotcar.base.assured import AssuredClass, EarlyDrop
from slotcar.base.frozen import Frozen
from slotcar.base.names import OWNER
from slotcar.base.registry import FOLDERS
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.base.units import (
    UnitError,
    format_duration,
    format_rate,
    parse_duration,
    parse_latency_us,
    parse_rate_bps,
    parse_size_bytes,
)
from slotcar.base.vocabulary import RESERVED_SERVICES, InterfaceRole, Scheduler, Service
from slotcar.managers import managers
from slotcar.network.connections import ConnectionVariables
from slotcar.network.model import BACKGROUND_PPM, LONGEST_NOTICE, NOTICE_US, InterfaceId, NsiSide, PSchedulerTask
from slotcar.network.schedules import DAY_MINUTES, DAYS, Schedule

#: No colon, because `device:interface` and resource names are split at colons.
DEVICE_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
INTERFACE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*")
_URN = re.compile(r"urn:[A-Za-z0-9][A-Za-z0-9-]{0,31}:[!-~]{1,400}")
SLS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HOURS = re.compile(r"([0-9]{2}):([0-9]{2})\s*-\s*([0-9]{2}):([0-9]{2})")
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*%")
_BARE_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?")
_SHARE_HINT = "say a percentage of the link, such as `45 %`"


def parse_share_ppm(text: object) -> int:
    """Parts per million of `45 %` or `0.5 %`.

    Raises:
        UnitError: no percentage, more than four decimals, above 100 %.
    """
    match = _SHARE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise UnitError("is not a share", "" if text is None else text, _share_hint(text))
    share_ppm = int(Decimal(match[1]) * 10_000)
    if share_ppm > 1_000_000:
        raise UnitError("is more than the whole link", text, _SHARE_HINT)
    return share_ppm


def _share_hint(text: object) -> str:
    """`0.3` is meant as a fraction, `45` as a percentage."""
    number = "" if isinstance(text, bool) else str(text).strip()
    if not _BARE_NUMBER.fullmatch(number):
        return _SHARE_HINT
    guess = Decimal(number) * 100 if 0 < Decimal(number) < 1 else Decimal(number)
    percent = f"{guess:f}".rstrip("0").rstrip(".") if "." in f"{guess:f}" else f"{guess:f}"
    return f"did you mean `{percent} %`? {_SHARE_HINT}"


def format_share(share_ppm: int) -> str:
    """`45 %`, what `parse_share_ppm` reads back."""
    return f"{Decimal(share_ppm) / 10_000:f} %"


def _interface_id(value: object) -> object:
    if not isinstance(value, str):
        return value
    device, colon, name = value.partition(":")
    if not (colon and DEVICE_NAME.fullmatch(device) and INTERFACE_NAME.fullmatch(name)):
        raise UnitError("is no interface", value, "say `DEVICE:INTERFACE`, such as `anl-border:eth1`")
    return InterfaceId(device=device, name=name)


def _network(value: object) -> object:
    # ip_network's own sentence, "has host bits set", does not say which network was meant.
    interface = _with_length(value, "network", "10.10.11.0/24")
    if isinstance(interface, IPv4Interface):
        if interface.ip != interface.network.network_address:
            raise UnitError("is an address in a network, not a network", value, f"did you mean `{interface.network}`?")
        return interface.network
    return interface


def _with_length(value: object, what: str, example: str) -> object:
    # Python takes a bare address for a network of one, and a bare number for an address: both are slips here.
    if isinstance(value, IPv4Interface | IPv4Network):
        return value
    if not isinstance(value, str):
        raise UnitError(f"is no IPv4 {what}", value, f"say one such as `{example}`")
    try:
        interface = IPv4Interface(value)
    except ValueError as error:
        raise UnitError(f"is no IPv4 {what}", value, f"say one such as `{example}`") from error
    if "/" not in value:
        raise UnitError("has no prefix length", value, f"say one such as `{example}`")
    return interface


def _subnet_address(value: object) -> object:
    return _with_length(value, "address with its prefix length", "10.10.2.1/30")


def _host_address(value: object) -> object:
    if isinstance(value, IPv4Address):
        return value
    hint = "say one without a prefix length, such as `10.10.11.2`"
    if not isinstance(value, str):
        raise UnitError("is no IPv4 address", value, hint)
    try:
        return IPv4Address(value)
    except ValueError as error:
        raise UnitError("is no IPv4 address", value, hint) from error


def _rate(value: object) -> int:
    # `capacity: 155` is 155 bit/s to nobody who writes it.
    if isinstance(value, int) and not isinstance(value, bool):
        guess = f"{value} Mbit/s" if abs(value) < 100_000 else format_rate(value)
        raise UnitError("has no unit", value, f"did you mean `{guess}`?")
    return parse_rate_bps(value)  # type: ignore[arg-type]  # it refuses what is no text


def _size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        raise UnitError("has no unit", value, f"did you mean `{value} B`?")
    return parse_size_bytes(value)  # type: ignore[arg-type]  # it refuses what is no text


def _sls_time(value: object) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise UnitError("has no unit", value, f"did you mean `{value} ms`?")
    time_us = parse_latency_us(value)  # type: ignore[arg-type]  # it refuses what is no text
    if time_us <= 0:
        raise UnitError("is no time that a packet could keep", value, "say one above 0, such as `20 ms`")
    return time_us


def _loss(value: object) -> int:
    return _percentage(value, "of the packets", "0.1 %")


def _part_of_queue(value: object) -> int:
    part_ppm = _percentage(value, "of the queue", "40 %")
    if part_ppm % 10_000 or not part_ppm:
        raise UnitError("is no whole percentage from 1", value, "say one such as `40 %`")
    return part_ppm // 10_000


def _code_points(value: object) -> object:
    hint = "say one to three DSCPs from 0 to 63, for green, yellow and red, such as `[18, 20, 22]`"
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= 3:
        raise UnitError("is no list of code points", "" if value is None else value, hint)
    for dscp in value:
        if not isinstance(dscp, int) or isinstance(dscp, bool) or not 0 <= dscp <= 63:
            raise UnitError("has no code point", str(dscp), hint)
    if len(set(value)) < len(value):
        raise UnitError("names a code point twice", ", ".join(map(str, value)), "name each once")
    return tuple(value)


def _quantile(value: object) -> int:
    part_ppm = _percentage(value, "of the packets", "99.9 %")
    if part_ppm == 0:
        raise UnitError("promises nothing of any packet", value, "say a percentage above 0 %, such as `99.9 %`")
    return part_ppm


def _percentage(value: object, what: str, example: str) -> int:
    try:
        return parse_share_ppm(value)
    except UnitError as error:
        message = "is more than all" if "more than" in error.message else "is no percentage"
        raise UnitError(message, error.value, f"say a percentage {what}, such as `{example}`") from error


def _days(value: object) -> tuple[int, ...]:
    hint = "say a list of " + ", ".join(f"`{day}`" for day in DAYS)
    if not isinstance(value, list) or not value:
        raise UnitError("is no list of days", value, hint)
    for day in value:
        if day not in DAYS:
            raise UnitError("is no day of the week", day, hint)
    if len(set(value)) < len(value):
        raise UnitError("names a day twice", ", ".join(value), "name each once")
    return tuple(sorted(DAYS.index(day) for day in value))


def _hours(value: object) -> tuple[int, int]:
    match = _HOURS.fullmatch(value.strip()) if isinstance(value, str) else None
    hint = "say from when until when, in steps of 5 minutes, such as `08:00-20:00`"
    if match is None:
        raise UnitError("are no hours of the day", value, hint)
    begin, end = (int(match[place]) * 60 + int(match[place + 1]) for place in (1, 3))
    if int(match[2]) > 59 or int(match[4]) > 59 or begin >= DAY_MINUTES or end > DAY_MINUTES or (begin % 5 or end % 5):
        raise UnitError("are no hours of the day", value, hint)
    if begin == end:
        raise UnitError("begin and end at the same minute", value, "leave `hours` out for the whole day")
    return begin, end


def _zone(value: object) -> str:
    try:
        return str(ZoneInfo(value).key) if isinstance(value, str) else str(ZoneInfo(""))
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise UnitError("is no time zone", value, "say a name such as `Europe/Zurich`") from error


def _seconds(value: object) -> int:
    return int(parse_duration(value).total_seconds())  # type: ignore[arg-type]  # it refuses what is no text


def _notice_us(value: object) -> int:
    if value in ("0 s", "PT0S"):
        return 0
    notice = parse_duration(value)  # type: ignore[arg-type]  # it refuses what is no text
    if notice > LONGEST_NOTICE:
        raise UnitError("is longer than anybody should wait", value, f"at most {format_duration(LONGEST_NOTICE)}")
    return notice // MICROSECOND


def _propagation_us(value: object) -> int:
    if value in ("0 s", "0 ms", "0 us"):
        return 0
    return parse_latency_us(value)  # type: ignore[arg-type]  # it refuses what is no text


def _owners(value: object) -> object:
    # `owners: hep` is meant as a list of one; an empty list could be meant as nobody or as everybody.
    if not isinstance(value, list | tuple):
        raise UnitError("is no list of owners", "" if value is None else value, "say a list such as `[hep, astro]`")
    if not value:
        raise UnitError("names no owner", "[]", "name those who may reserve, or leave it out for everybody")
    for owner in value:
        if not isinstance(owner, str) or not OWNER.fullmatch(owner):
            hint = "say letters, digits, `@`, `.`, `_` and `-`, as the reservations' `owner`"
            raise UnitError("has no owner's name", str(owner), hint)
    return tuple(dict.fromkeys(value))


#: An account of a host: no comma, slash or white space, for `host.sh` splits there.
ACCOUNT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


def _accounts(value: object) -> object:
    hint = "say a list such as `[mover]`"
    if not isinstance(value, list | tuple) or not value:
        raise UnitError("is no list of accounts", "" if value is None else value, hint)
    for account in value:
        if not isinstance(account, str) or not ACCOUNT.fullmatch(account):
            raise UnitError("has no account's name", str(account), hint)
        if account == "root":
            raise UnitError("names root, whose processes no owner may bind", "root", "name other accounts of the host")
    return tuple(dict.fromkeys(value))


#: What an end system may be for (D7.3 §5.2.3).
HOST_ROLES = ("computing", "storage")


def _host_roles(value: object) -> object:
    hint = f"say a list of {' and '.join(HOST_ROLES)}"
    if not isinstance(value, list | tuple) or not value:
        raise UnitError("is no list of roles", "" if value is None else value, hint)
    for role in value:
        if role not in HOST_ROLES:
            raise UnitError("has no role of an end system", str(role), hint)
    return tuple(dict.fromkeys(value))


def _platform(value: object) -> object:
    if value not in FOLDERS:
        raise UnitError("is no platform", value, f"say one of {', '.join(FOLDERS)}")
    return value


def _controller(value: object) -> object:
    hint = "say one such as `https://esnet.example.net:8443`"
    if value == "":
        return value
    if not isinstance(value, str):
        raise UnitError("is no address", "" if value is None else value, hint)
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise UnitError("is no address of https", value, hint)
    return value.rstrip("/")


def _task(value: object) -> object:
    hint = "say a task of a pScheduler, such as `https://ps.example.net/pscheduler/tasks/UUID`"
    if not isinstance(value, str):
        raise UnitError("is no address", "" if value is None else value, hint)
    parts = urlsplit(value)
    folder, _, name = parts.path.rstrip("/").rpartition("/")
    if parts.username is not None:
        raise UnitError("holds a user or a password", parts.hostname or "", "leave it out")
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment or not name:
        raise UnitError("is no address of http or https", value, hint)
    if not folder.endswith("/tasks"):
        raise UnitError("is no address of a task", value, hint)
    return value.rstrip("/")


PlatformName = Annotated[str, BeforeValidator(_platform)]
Rate = Annotated[int, BeforeValidator(_rate)]
SlsTime = Annotated[int, BeforeValidator(_sls_time)]
#: A shorter one would be renewed more often than routers should be pushed to.
DeadMan = Annotated[int, BeforeValidator(_seconds), Field(ge=120)]
Size = Annotated[int, BeforeValidator(_size)]
Share = Annotated[int, BeforeValidator(parse_share_ppm)]
Shares = dict[Service, Share]
Notice = Annotated[int, BeforeValidator(_notice_us)]
Propagation = Annotated[int, BeforeValidator(_propagation_us)]
Reference = Annotated[InterfaceId, BeforeValidator(_interface_id)]
Prefix = Annotated[IPv4Network, BeforeValidator(_network)]
SubnetAddress = Annotated[IPv4Interface, BeforeValidator(_subnet_address)]
HostAddress = Annotated[IPv4Address, BeforeValidator(_host_address)]
Owners = Annotated[tuple[str, ...], BeforeValidator(_owners)]
Accounts = Annotated[tuple[str, ...], BeforeValidator(_accounts)]
HostRoles = Annotated[tuple[str, ...], BeforeValidator(_host_roles)]
MonitoringDomain = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=63)]
Place = Annotated[int, Field(strict=True, ge=0, le=10_000)]
CodePoints = Annotated[tuple[int, ...], BeforeValidator(_code_points)]
PartOfQueue = Annotated[int, BeforeValidator(_part_of_queue)]
#: No slash, which parts it from its service in names, and no colon.
AssuredClassName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?$")]
Metric = Annotated[int, Field(ge=1, le=2**32 - 1)]
Overhead = Annotated[int, Field(ge=0, le=200)]


class InterfaceVariables(Frozen):
    """One entry of `slotcar_interfaces`. What is None here comes from the variable of the same name of the router."""

    capacity: Rate | None = None
    role: InterfaceRole | None = None
    neighbour: Reference | None = None
    address: SubnetAddress | None = None
    prefixes: tuple[Prefix, ...] | None = None
    shares: Shares | None = None
    assured_shares: dict[AssuredClassName, Share] | None = None
    metric: Metric | None = None
    overhead_bytes: Overhead | None = None
    propagation: Propagation | None = None
    scheduler: Scheduler | None = None
    background: Share | None = None
    notice: Notice | None = None
    shape_to_sls: StrictBool | None = None
    owners: dict[Prefix, Owners] | None = None
    description: Annotated[str, StringConstraints(max_length=200)] = ""


class Position(Frozen):
    """Where a map draws a router, from the left and from the top."""

    x: Place
    y: Place


class RouterVariables(Frozen):
    """Variables of a router. `slotcar_interfaces` is read entry by entry, so that one bad entry hides no other."""

    slotcar_platform: PlatformName
    slotcar_capacity: Rate | None = None
    slotcar_shares: Shares = Field(default_factory=dict)
    slotcar_assured_shares: dict[AssuredClassName, Share] = Field(default_factory=dict)
    slotcar_metric: Metric = 10
    slotcar_overhead_bytes: Overhead = 38
    slotcar_scheduler: Scheduler = Scheduler.HTB
    slotcar_background: Share = BACKGROUND_PPM
    slotcar_notice: Notice = NOTICE_US
    slotcar_shape_to_sls: StrictBool = False
    slotcar_burst_ceiling: Annotated[Size, Field(ge=8_000)] = 2_000_000
    slotcar_burst_floor: Annotated[Size, Field(ge=1_500)] = 8_000
    slotcar_dead_man: DeadMan | None = None
    slotcar_position: Position | None = None
    slotcar_options: dict[str, bool | int | str] = Field(default_factory=dict)


def _nsi_address(value: object) -> object:
    hint = "say one such as `https://nsi.example.net/provider`"
    if not isinstance(value, str):
        raise UnitError("is no address", "" if value is None else value, hint)
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment or parts.username:
        raise UnitError("is no address of http or https", value, hint)
    return value.rstrip("/")


def _urn(value: object) -> object:
    if not isinstance(value, str) or not _URN.fullmatch(value):
        hint = "say one such as `urn:ogf:network:example.net:2026:nsa`"
        raise UnitError("is no identifier of NSI", "" if value is None else value, hint)
    return value


class NsiVariables(Frozen):
    """The value of `nsi` in `slotcar_domain`."""

    nsa: Annotated[str, BeforeValidator(_urn)]
    network: Annotated[str, BeforeValidator(_urn)] | None = None
    provider: Annotated[str, BeforeValidator(_nsi_address)] | None = None
    stps: dict[Annotated[str, StringConstraints(max_length=400)], Annotated[str, BeforeValidator(_urn)]] = Field(
        default_factory=dict
    )

    @property
    def side(self) -> NsiSide:
        network = self.network or f"{self.nsa.removesuffix(':nsa')}:topology"
        return NsiSide(nsa=self.nsa, network=network, provider=self.provider or "", stps=self.stps)


class EarlyDropVariables(Frozen):
    """What a class drops early of one of its code points."""

    begin: PartOfQueue = Field(alias="from")
    end: PartOfQueue = Field(alias="to")
    one_of: Annotated[int, Field(strict=True, ge=1, le=1_000)] = 10

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.begin >= self.end:
            raise UnitError("does not rise", f"{self.begin} % to {self.end} %", "say a larger `to` than `from`")
        return self


class AssuredClassVariables(Frozen):
    """One entry of `assured_classes` in `slotcar_domain`."""

    code_points: CodePoints
    share: Share = 0
    queue: Annotated[int, BeforeValidator(_sls_time)] | None = None
    early_drop: tuple[EarlyDropVariables, ...] = ()

    @model_validator(mode="after")
    def _drops_of_each_code_point(self) -> Self:
        if len(self.early_drop) not in (0, len(self.code_points)):
            hint = "say one for each code point, in the same order, or leave it out"
            raise UnitError("is not of each code point", str(len(self.early_drop)), hint)
        return self

    def class_of(self, name: str, number: int) -> AssuredClass:
        drops = tuple(EarlyDrop(one.begin, one.end, one.one_of) for one in self.early_drop)
        return AssuredClass(name, number, self.share, self.code_points, drops, self.queue)


class SlsWithReservationsVariables(Frozen):
    """One entry of `sls_with_reservations` in `slotcar_domain`."""

    burst: Annotated[Size, Field(ge=1_500)]


class DomainVariables(Frozen):
    """The value of `slotcar_domain`."""

    over_provisioned: bool = False
    controller: Annotated[str, BeforeValidator(_controller)] = ""
    certificate: Annotated[str, StringConstraints(max_length=1000)] = ""
    nsi: NsiVariables | None = None
    at_most: Rate | None = None
    tells_free: bool = True
    sls_at_most: Rate | None = None
    sls_with_reservations: dict[
        Annotated[Service, BeforeValidator(lambda value: _promises_a_rate(value))], SlsWithReservationsVariables
    ] = Field(default_factory=dict)
    services: tuple[Annotated[Service, BeforeValidator(lambda value: _promises_a_rate(value))], ...] = ()
    assured_classes: dict[AssuredClassName, AssuredClassVariables] = Field(default_factory=dict)
    description: Annotated[str, StringConstraints(max_length=200)] = ""


class Validity(Frozen):
    """When an SLS holds: two times with zones."""

    start: datetime
    end: datetime

    @model_validator(mode="after")
    def _is_a_window(self) -> Self:
        self.window()
        return self

    def window(self) -> Window:
        return Window(self.start, self.end)


def _promises_a_rate(value: object) -> object:
    if value not in RESERVED_SERVICES:
        hint = f"say one of {', '.join(RESERVED_SERVICES)}"
        raise UnitError("is no service that an SLS can promise", value, hint)
    return value


class ScheduleVariables(Frozen):
    """The value of an SLS's `schedule`."""

    days: Annotated[tuple[int, ...], BeforeValidator(_days)] = tuple(range(7))
    hours: Annotated[tuple[int, int], BeforeValidator(_hours)] = (0, DAY_MINUTES)
    zone: Annotated[str, BeforeValidator(_zone)] = "UTC"

    def schedule(self) -> Schedule:
        return Schedule(days=self.days, begin_minute=self.hours[0], end_minute=self.hours[1], zone=self.zone)


class PSchedulerVariables(Frozen):
    """One entry of an SLS's `pscheduler`."""

    task: Annotated[str, BeforeValidator(_task)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    destination: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    in_class: bool = False
    clock_error: SlsTime | None = None
    ca_file: str = ""

    def task_of(self) -> PSchedulerTask:
        return PSchedulerTask(
            task=self.task, source=self.source, destination=self.destination, in_class=self.in_class,
            clock_error_us=self.clock_error, ca_file=self.ca_file,
        )  # fmt: skip


class SlsVariables(Frozen):
    """One entry of `slotcar_sls` in the group of the downstream domain."""

    upstream: str
    service: Annotated[Service, BeforeValidator(_promises_a_rate)]
    assured_class: AssuredClassName | None = None
    code_points: CodePoints | None = None
    rate: Rate
    burst: Annotated[Size, Field(ge=1_500)]
    peak: Rate | None = None
    ingress: Reference
    egress: tuple[Reference, ...] = ()
    validity: Validity | None = None
    schedule: ScheduleVariables | None = None
    delay: SlsTime | None = None
    variation: SlsTime | None = None
    loss: Annotated[int, BeforeValidator(_loss)] | None = None
    quantile: Annotated[int, BeforeValidator(_quantile)] = 1_000_000
    pscheduler: tuple[PSchedulerVariables, ...] = ()
    excess: Literal["drop", "remark"] = "drop"
    description: Annotated[str, StringConstraints(max_length=200)] = ""


class HostVariables(Frozen):
    """Variables of an end system."""

    slotcar_address: HostAddress
    slotcar_attached_to: Reference
    slotcar_owners: Owners | None = None
    slotcar_host_accounts: dict[str, Accounts] | None = None
    slotcar_roles: HostRoles | None = None
    slotcar_monitoring_domain: MonitoringDomain | None = None


#: Every variable that is read; a `slotcar_` name that nearly equals one of them is a slip of the pen.
KNOWN: frozenset[str] = frozenset(
    {
        *("slotcar_interfaces", "slotcar_domain", "slotcar_sls"),
        *RouterVariables.model_fields,
        *ConnectionVariables.model_fields,
        *HostVariables.model_fields,
    }
)


def known_variables() -> frozenset[str]:
    """The model's variables, and those that the installed resource managers read."""
    return KNOWN | {name for manager in managers().values() for name in manager.variables}


def only(model: type[BaseModel], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a node's variables that the model has; inventories hold much that is not ours."""
    return {key: value for key, value in variables.items() if key in model.model_fields}
