"""What an operator sets through the environment, `SLOTCAR_…`; every wrong value gets a sentence naming its variable."""

from __future__ import annotations

import ipaddress
import os
import re
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from slotcar.base.files import read_regular_file
from slotcar.base.located_yaml import parse_json
from slotcar.base.names import Owner
from slotcar.base.problems import InvalidInput, Problem, SlotcarError
from slotcar.base.shipped import shipped
from slotcar.base.units import parse_duration, parse_rate_bps, parse_size_bytes

PREFIX = "SLOTCAR_"
#: No password is longer; what is named by mistake is not read whole.
LARGEST_SECRET_BYTES = 4096
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")


def _rate(value: Any) -> Any:
    return parse_rate_bps(value) if isinstance(value, str) else value


def _duration(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


def _size(value: Any) -> Any:
    return parse_size_bytes(value) if isinstance(value, str) else value


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value or "{}")
    except ValueError:
        raise ValueError('is not JSON; say for example {"hep": {"reservations": 500}}') from None


def _not_empty(value: Any) -> Any:
    if value == "":
        raise ValueError("is empty; name a folder, or leave the variable unset")
    return value


def _optional(value: Any) -> Any:
    return None if value == "" else value


def _names(value: Any) -> Any:
    """`a.example.net, b` as names; a port or a scheme in one is a mistake."""
    if not isinstance(value, str):
        return value
    names = tuple(filter(None, (one.strip() for one in value.split(","))))
    for name in names:
        if not _HOST_NAME.fullmatch(name):
            raise ValueError(
                f"{name} is not a host's name: say names alone, such as `slotcar.example.net,controller-a`"
            )
    return names


def _networks(value: Any) -> Any:
    """`10.0.0.7, 10.1.0.0/24` as addresses and networks."""
    if not isinstance(value, str):
        return value
    networks = tuple(filter(None, (one.strip() for one in value.split(","))))
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            raise ValueError(
                f"{network} is no address and no network: say such as `10.0.0.7` or `10.1.0.0/24`, and neither a name nor"
                " a host's address with a length"
            ) from None
    return networks


def _address(value: Any) -> Any:
    """`0.0.0.0:5514`, `[::]:5514` as a host and a port."""
    if not isinstance(value, str):
        return value
    if value == "":
        return None
    host, _, port = value.rpartition(":")
    if not host or not _HOST_NAME.fullmatch(host) or not (port.isdecimal() and 1 <= int(port) <= 65535):
        raise ValueError("is not an address with a port: say one such as 0.0.0.0:5514 or [::]:5514")
    return host.strip("[]"), int(port)


Rate = Annotated[int, NoDecode, BeforeValidator(_rate), Field(ge=0)]
Duration = Annotated[timedelta, NoDecode, BeforeValidator(_duration), Field(gt=timedelta())]
Count = Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(_optional)]
Volume = Annotated[Annotated[int, Field(ge=0)] | None, NoDecode, BeforeValidator(_size), BeforeValidator(_optional)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_names)]
Networks = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_networks)]
Address = Annotated[tuple[str, int] | None, NoDecode, BeforeValidator(_address)]
#: An empty text would be the current folder.
Folder = Annotated[Path, BeforeValidator(_not_empty)]
OptionalPath = Annotated[Path | None, BeforeValidator(_optional)]


class MissingSetting(SlotcarError):
    """Something that this command needs was not said; the message names the option and the variable."""


class LocalWay(StrEnum):
    """How a command gets to this machine's ledger."""

    AUTO = "auto"
    SOCKET = "socket"
    LEDGER = "ledger"


class OwnerQuota(BaseModel):
    """One owner's quotas, as an operator writes them. None is no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reservations: Count = None
    windows: Count = None
    holds: Count = None
    volume: Volume = None


class Settings(BaseSettings):
    """Settings of the controller and the CLI. Texts carry their units: `100 Mbit/s`, `PT15M`, `90 min`.

    Attributes:
        database_url: a PostgreSQL URL; None for the embedded server below `state_dir`.
        database_password_file: holds the password that goes into `database_url` (a container secret).
        state_dir: embedded database, archive of configurations, tokens.
        home: where `playbooks/`, `roles/`, `plugins/` and `ansible.cfg` are.
        inventory: the Ansible inventory that describes the network.
        approval_rate_bps, approval_duration: a reservation, or a raise of one, waits for approval above this rate, or
            where its slots are longer than this together; None for no gate.
        hold: how long a hold lasts unless the caller says otherwise.
        longest_hold: how long a hold may last at most, extensions included.
        horizon: how far ahead the search for a nearest window looks, and how far from now reservations may end.
        paths: how many ways a request may be tried on, the shortest first; more than 1 only where routers send a flow along
            the path of its reservation, since by themselves they forward along the shortest.
        frozen_horizon: what of deadline transfers' rates begins sooner than this is not moved to make room for others.
        replan_interval: how often deadline transfers that reported progress are planned again, by whichever leads.
        quota_reservations, quota_windows, quota_holds: how many live reservations, slots of them and holds an owner may
            have; None for any number.
        quota_volume_bytes: rate times time of an owner's live reservations together; None for any.
        owner_quotas: quotas of single owners by name, as JSON: `{"hep": {"reservations": 500, "volume": "2 PB"}}`. The keys
            are reservations, windows, holds and volume; null is no limit, and what is left out is as for everybody.
        socket: the UNIX socket at which accounts of this machine ask a controller; None for `state_dir/slotcar.sock`.
        local: whether commands that name no controller ask the one of that socket, open the ledger themselves, or open it
            where no controller answers at the socket.
        tls_certificate, tls_key: by which the API speaks TLS itself, as PEM, its own before those of a chain; None for a
            proxy that does.
        tls_client_ca: who signs the certificates by which programs are known, as PEM; None where none are.
        open: whoever reaches the API without a token is an operator; only where it listens on this machine alone. For
            demonstrations, labs and tests.
        hosts: names by which clients reach the API, beside the listen host and this machine's names for itself; a request
            for another name is refused. Separated by commas.
        trusted_proxies: addresses and networks of proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are believed,
            separated by commas.
        webhook_hosts: hosts that requesters may have events of their own reservations sent to, separated by commas; none
            where it is empty. Operators' webhooks go wherever these say.
        webhook_key_file: from what is in it the secrets of requesters' webhooks are derived; None for
            `state_dir/webhook-key`, which is made when it is needed. Controllers of one ledger need the same.
        tokens_file: bearer tokens of the API, hashed; None for `state_dir/tokens.json`.
        stage_lead: how long before a boundary the devices that it changes are read again, and staged where they cannot
            act by themselves.
        arm_ahead: how long before a boundary devices that act by themselves are armed for it, or half of that.
        check_interval: how often devices are read though nothing should have changed.
        counters: whether what devices counted is read beside their configuration, and kept.
        watch: whether routers tell of changes by hand over a connection that stays open: Linux routers by `tc monitor` over
            ssh, NETCONF peers by notifications. What is told is checked at once.
        watch_most: so many of these connections at most.
        link_metrics: whether `/metrics`, which asks for no token, tells what is reserved of each link and of each SLS.
        syslog_listen: the UDP address and port at which routers' syslog is received, such as `0.0.0.0:5514`; None for none.
        keep_revisions: how long the archive keeps what was pushed; what a router carries now it can always give back.
        stop_timeout: how long a push that goes on at a stop may take to be finished, or else taken back: half of it each.
        vault_password_file: for inventories with Ansible Vault secrets.
        adopt_all: every device of the inventory is Slotcar's from the beginning, and none waits for `slotcar adopt`; for
            labs, and where whoever writes the inventory says so with it.
        reconcile: whether `slotcar serve` pushes to devices; off for a controller that only answers.
        domain: the one domain of the inventory that this controller has, where each has a controller of its own; the others
            are asked.
        domain_key_file, domain_certificate_file: its key and its certificate; None for `state_dir/domain/key.pem` and
            `certificate.pem`, which `slotcar domains key` makes.
        peer_listen: the address and port at which the neighbours' controllers ask, such as `0.0.0.0:8443`; None for none.
        nsi_url: where this domain's parts that speak NSI are reached from outside, such as `https://slotcar.example.net/nsi`;
            None where NSI is not spoken.
        nsi_callback_hosts: hosts that callbacks may go to for requesters by NSI, separated by commas; operators' go
            wherever they say.
        nsi_open_end: how long after its start a request by NSI ends that says no end.
        max_body_bytes: the largest request that the API reads.
        max_connections, max_connections_per_client: open at a time, of all clients of the API and of one address.
        header_timeout, body_timeout: how long a request may take to come in: its header, and then its body.
        send_timeout: how long a client may take nothing of its answer.
        keep_alive: how long a connection may be idle between two requests.
        max_windows: how many windows the reservations of one request may have together, each occurrence counted.
        plan_workers: how many plans the API makes at a time, each in a process of its own.
        plan_timeout: how long one of them may take.
        plan_memory_bytes: how much memory one of them may take, beside what its process has before it.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", populate_by_name=True)

    database_url: Annotated[str | None, BeforeValidator(_optional)] = None
    database_password_file: OptionalPath = None
    state_dir: Folder = Path("var")
    home: Folder = Field(default_factory=shipped)
    inventory: OptionalPath = None
    listen_host: str = "127.0.0.1"
    listen_port: int = Field(default=8470, ge=0, le=65535)
    socket: OptionalPath = None
    local: LocalWay = LocalWay.AUTO
    tls_certificate: OptionalPath = None
    tls_key: OptionalPath = None
    tls_client_ca: OptionalPath = None
    open: bool = False
    hosts: Names = ()
    trusted_proxies: Networks = ("127.0.0.1", "::1")
    approval_rate_bps: Rate | None = Field(default=None, validation_alias=f"{PREFIX}APPROVAL_RATE")
    approval_duration: Duration | None = None
    hold: Duration = timedelta(minutes=15)
    longest_hold: Duration = timedelta(days=1)
    horizon: Duration = timedelta(days=366)
    paths: int = Field(default=1, ge=1, le=16)
    frozen_horizon: Duration = timedelta(seconds=60)
    replan_interval: Duration = timedelta(seconds=60)
    quota_reservations: Count = None
    quota_windows: Count = None
    quota_holds: Count = None
    quota_volume_bytes: Volume = Field(default=None, validation_alias=f"{PREFIX}QUOTA_VOLUME")
    owner_quotas: Annotated[dict[Owner, OwnerQuota], NoDecode, BeforeValidator(_json)] = Field(default_factory=dict)
    webhook_hosts: Names = ()
    webhook_key_file: OptionalPath = None
    tokens_file: OptionalPath = None
    stage_lead: Duration = timedelta(seconds=15)
    arm_ahead: Duration = timedelta(hours=1)
    check_interval: Duration = timedelta(minutes=5)
    counters: bool = True
    watch: bool = False
    watch_most: int = Field(default=200, ge=1, le=2000)
    syslog_listen: Address = None
    link_metrics: bool = False
    keep_revisions: Duration = timedelta(days=90)
    stop_timeout: Duration = timedelta(seconds=90)
    vault_password_file: OptionalPath = None
    adopt_all: bool = False
    reconcile: bool = True
    domain: Annotated[str | None, BeforeValidator(_optional)] = None
    domain_key_file: OptionalPath = None
    domain_certificate_file: OptionalPath = None
    peer_listen: Address = None
    nsi_url: Annotated[str | None, BeforeValidator(_optional)] = None
    nsi_callback_hosts: Names = ()
    nsi_open_end: Duration = timedelta(days=30)
    max_body_bytes: int = Field(default=1_000_000, ge=1_000)
    max_connections: int = Field(default=1_000, ge=8)
    max_connections_per_client: int = Field(default=250, ge=1)
    header_timeout: Duration = timedelta(seconds=10)
    body_timeout: Duration = timedelta(seconds=30)
    send_timeout: Duration = timedelta(minutes=1)
    keep_alive: Duration = timedelta(seconds=5)
    max_windows: int = Field(default=10_000, ge=1)
    plan_workers: int = Field(default=1, ge=1, le=64)
    plan_timeout: Duration = timedelta(seconds=30)
    plan_memory_bytes: int = Field(default=1_000_000_000, ge=50_000_000)

    @field_validator("database_url")
    @classmethod
    def _is_postgresql(cls, value: str | None) -> str | None:
        if value is not None and urlsplit(value).scheme.partition("+")[0] not in ("postgresql", "postgres"):
            raise ValueError("the ledger is kept in PostgreSQL only; say postgresql://USER@HOST:5432/NAME")
        return value

    @field_validator("nsi_url")
    @classmethod
    def _is_web_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("is no address of http or https; say one such as https://slotcar.example.net/nsi")
        return value.rstrip("/")

    @property
    def tokens_path(self) -> Path:
        return self.tokens_file or self.state_dir / "tokens.json"

    @property
    def socket_path(self) -> Path:
        return self.socket or self.state_dir / "slotcar.sock"

    @property
    def webhook_key_path(self) -> Path:
        return self.webhook_key_file or self.state_dir / "webhook-key"

    @property
    def domain_key_path(self) -> Path:
        return self.domain_key_file or self.state_dir / "domain" / "key.pem"

    @property
    def domain_certificate_path(self) -> Path:
        return self.domain_certificate_file or self.state_dir / "domain" / "certificate.pem"

    @property
    def loopback(self) -> bool:
        """Whether the API listens to this machine only."""
        return is_loopback(self.listen_host)

    @property
    def scheme(self) -> str:
        """By which the API is asked, where no proxy is."""
        return "https" if self.tls_certificate else "http"

    def listening_at(self, port: int) -> str:
        return f"{self.scheme}://{self.listen_host}:{port}"

    def address_here(self, port: int) -> str:
        """Where this machine reaches a controller with these settings that listens on a port."""
        everywhere = ("0.0.0.0", "::")  # noqa: S104 - asked about, not bound
        host = "127.0.0.1" if self.listen_host in everywhere else self.listen_host
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    def ledger_url(self) -> str | None:
        """`database_url` with the password from its file, where there is one; None for the embedded server.

        Raises:
            InvalidInput: the password file cannot be read.
        """
        if self.database_url is None or self.database_password_file is None:
            return self.database_url
        parts = urlsplit(self.database_url)
        password = _read_secret(self.database_password_file)
        host = parts.netloc.rpartition("@")[2]
        user = parts.username or "slotcar"
        return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{host}"))

    def has_ledger(self) -> bool:
        """Whether there is a ledger to ask: a server was named, or the embedded one was made before."""
        return self.database_url is not None or (self.state_dir / "postgres" / "PG_VERSION").exists()

    def need_inventory(self) -> Path:
        """The inventory.

        Raises:
            MissingSetting: none was given.
        """
        if self.inventory is None:
            raise MissingSetting(
                "no inventory: say --inventory FOLDER or set SLOTCAR_INVENTORY; `slotcar init` writes one"
            )
        return self.inventory


def is_loopback(host: str) -> bool:
    """Whether this name or address of a host stands for the machine itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_secret(file: Path) -> str:
    try:
        text = read_regular_file(file, LARGEST_SECRET_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InvalidInput([Problem(f"{PREFIX}DATABASE_PASSWORD_FILE", 0, "", reason, str(file))]) from error
    if not text:
        raise InvalidInput([Problem(f"{PREFIX}DATABASE_PASSWORD_FILE", 0, "", "the file is empty", str(file))])
    return text


def load_settings(**overrides: Any) -> Settings:
    """Settings from the environment, with the options of a command line over them (None: not given).

    Raises:
        InvalidInput: one or more values are wrong; all are listed, by variable.
    """
    values = {key: value for key, value in overrides.items() if value is not None}
    try:
        return Settings(**values)
    except ValidationError as error:
        problems = [_problem(dict(detail)) for detail in error.errors(include_url=False)]
        raise InvalidInput(problems) from error


#: pydantic's types of errors, in words.
_KINDS = {
    "int_parsing": "is not a whole number",
    "float_parsing": "is not a number",
    "bool_parsing": "is neither true nor false",
}


def _problem(detail: dict[str, Any]) -> Problem:
    name = str(detail["loc"][0]) if detail["loc"] else ""
    variable = name if name.startswith(PREFIX) else f"{PREFIX}{name.upper()}"
    message = _KINDS.get(str(detail["type"])) or str(detail["msg"]).removeprefix("Value error, ")
    value_text = (
        "" if "PASSWORD" in variable or "URL" in variable else repr(os.environ.get(variable, detail.get("input")))
    )
    return Problem(variable, 0, "", message[0].lower() + message[1:], value_text)
