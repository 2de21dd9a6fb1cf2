"""The API's documents as typed dictionaries. Integers have their units in their names; times are RFC 3339 in UTC."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class Window(TypedDict):
    """Half-open: `[start, end)`."""

    start: str
    end: str


class Slot(Window):
    forward_bps: int
    reverse_bps: int


class End(TypedDict):
    host: str
    port: int | None


class Share(TypedDict):
    """Of a background reservation."""

    weight: int
    at_least_bps: int
    at_most_bps: int


class Reservation(TypedDict):
    """What was asked for, as far as programs usually look at it; the answer has more."""

    name: str
    owner: str
    source: End
    destination: End
    protocol: str
    service: str
    direction: str
    rate_bps: int | None
    windows: list[Window]
    slots: list[Slot]
    share: Share | None
    labels: dict[str, str]


class Hop(TypedDict):
    device: str
    ingress: str
    egress: str
    reserved: bool


class Path(TypedDict):
    source: str
    destination: str
    hops: list[Hop]
    sls: list[str]


class Demand(TypedDict):
    resource: str
    rate_bps: int
    amounts: list[int]


class Proposed(TypedDict):
    """A change that waits for approval."""

    reservation: Reservation
    paths: list[Path]
    demands: list[Demand]
    proposed_by: str
    proposed_at: str


class Progress(TypedDict):
    """The last report of a volume by a deadline."""

    remaining_bytes: int
    at: str
    needed_bps: int
    missing_bytes: int


class Entry(TypedDict):
    """A reservation as the ledger holds it; `version` is what a change is of."""

    handle: str
    number: int
    state: str
    version: int
    reservation: Reservation
    paths: list[Path]
    demands: list[Demand]
    created_at: str
    changed_at: str
    hold_until: str | None
    proposed: Proposed | None
    progress: Progress | None


class Event(TypedDict):
    sequence: int
    at: str
    kind: str
    handle: str | None
    device: str | None
    details: dict[str, Any]


class Highest(TypedDict):
    direction: Literal["forward", "reverse"]
    highest_rate_bps: int
    limited_by: str | None


class Enquiry(TypedDict):
    windows: list[Window]
    directions: list[Highest]


class Shortfall(TypedDict):
    resource: str
    place: str
    window: Window
    requested_bps: int
    free_bps: int
    capacity_bps: int


class TransferRefusal(TypedDict):
    """Why a volume cannot be moved by its deadline, and what would fit."""

    asked_bytes: int
    deadline: str
    most_bytes: int
    earliest_deadline: str | None
    tightest: str | None
    place: str | None
    tightest_bytes: int
    horizon: str


class Refusal(TypedDict):
    reason: str
    shortfalls: list[Shortfall]
    nearest_window: Window | None
    highest_rate_bps: int | None
    highest_share_permille: int | None
    transfer: TransferRefusal | None


class Difference(TypedDict):
    key: str
    before: Any
    after: Any


class Step(TypedDict):
    action: Literal["create", "change", "cancel", "no-op"]
    owner: str
    name: str
    handle: str | None
    expected_version: int | None
    reservation: Reservation | None
    differences: list[Difference]
    refusal: Refusal | None
    note: str


class DeviceDiff(TypedDict):
    device: str
    diff: list[str]
    first_line: int
    lines_left_out: int
    approximations: list[str]


class Boundary(TypedDict):
    at: str
    devices: list[DeviceDiff]


class Summary(TypedDict):
    create: int
    change: int
    cancel: int
    unchanged: int
    refused: int


class Plan(TypedDict):
    """What applying a file would do; `apply` takes it as it is. A requester's has no boundaries."""

    format: str
    made_at: str
    ledger_sequence: int | None
    network: str
    set_name: str
    steps: list[Step]
    boundaries: list[Boundary]
    boundaries_left_out: int
    next: str | None
    summary: Summary


class Applied(TypedDict):
    created: int
    changed: int
    cancelled: int
    entries: list[Entry]


class DeviceAtBoundary(TypedDict):
    device: str
    phase: str
    lag_us: int | None
    message: str


class SlotAtBoundary(TypedDict):
    """Which slot of a reservation that has several, counted from 1."""

    name: str
    what: Literal["starting", "ending", "changing"]
    number: int
    of: int


class TimelineItem(TypedDict):
    """One boundary: `owner/name` of what starts, ends and changes its rate there."""

    at: str
    starting: list[str]
    ending: list[str]
    changing: list[str]
    active: int
    phase: str
    lag_us: int | None
    skew_us: int | None
    devices: list[DeviceAtBoundary]
    slots: list[SlotAtBoundary]


class Configuration(TypedDict):
    device: str
    platform: str
    at: str
    lines: list[str]


class DifferenceOfDevice(TypedDict):
    device: str
    state: Literal["equal", "different", "failed"]
    diff: list[str]
    message: str


class Controller(TypedDict):
    now: str
    started_at: str
    reconciles: bool
    leading: bool
    settled: bool
    checked_at: str | None
    next_boundary: str | None
    phases: dict[str, str]
    troubles: dict[str, str]
    pushes: int
    failed_pushes: int
    last_push_at: str | None
    last_revision: str
    error: str


class Webhook(TypedDict):
    """`signing_secret` is said once, by `webhook_add`, where the controller made it."""

    id: str
    url: str
    owner: str | None
    secret: str
    signing_secret: str | None
    kinds: list[str]
    created_at: str
    created_by: str
    waiting: int
    dead: int
    delivered_at: str | None
    last_error: str


class Tested(TypedDict):
    delivered: bool
    status: int | None
    message: str


class DeadLetter(TypedDict):
    event: Event
    attempts: int
    queued_at: str
    dead_at: str
    last_error: str


class Caller(TypedDict):
    name: str
    role: Literal["requester", "operator", "auditor"]
    owner: str | None
    expires_at: str | None


class Host(TypedDict):
    name: str
    address: str
    domain: str


class Network(TypedDict):
    prefix: str
    domain: str


class Endpoints(TypedDict):
    hosts: list[Host]
    networks: list[Network]


class Service(TypedDict):
    service: str
    reserved: bool
    phb: str
    dscps: list[int]
    treatment: str


class QuotaUse(TypedDict):
    what: Literal["reservations", "windows", "holds", "volume"]
    limit: int | None
    in_use: int


class Limits(TypedDict):
    owner: str
    horizon_s: int
    hold_s: int
    longest_hold_s: int | None
    approval_rate_bps: int | None
    approval_duration_s: int | None
    max_windows: int
    max_body_bytes: int
    webhook_hosts: list[str]
    quotas: list[QuotaUse]


class Check(TypedDict):
    name: str
    ok: bool
    message: str


class Health(TypedDict):
    status: Literal["ok", "failing"]
    checks: list[Check]


class Mistake(TypedDict):
    """One wrong value of a request."""

    key: str
    message: str
    value: str
    hint: str


class QuotaOfOwner(TypedDict):
    owner: str
    what: str
    limit: int
    in_use: int
    asked: int
