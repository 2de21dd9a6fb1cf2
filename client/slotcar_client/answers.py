"""The API's documents as typed dictionaries. Integers have their units in their names; times are RFC 3339 in UTC."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


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
    group: NotRequired[str | None]


class Member(Entry):
    """A member of a group, of a flow or of another resource."""

    member: str
    on_failure: str


class Group(TypedDict):
    """Several resources that were reserved together, all or none."""

    handle: str
    owner: str
    name: str
    version: int
    state: str
    start: str
    end: str
    hold_until: str | None
    members: list[Member]


class Event(TypedDict):
    sequence: int
    at: str
    kind: str
    handle: str | None
    device: str | None
    details: dict[str, Any]


class FreeStep(Window):
    """A payload rate that is free throughout."""

    rate_bps: int


class Highest(TypedDict):
    """`routers`: those of the path. `steps`: what is free over time; `rounded`: somewhere more is."""

    direction: Literal["forward", "reverse"]
    highest_rate_bps: int
    limited_by: str | None
    routers: list[str]
    steps: list[FreeStep]
    rounded: bool


class Enquiry(TypedDict):
    """`steps` are what all directions may have at once, `adds_to` the reservation that it may be added to."""

    windows: list[Window]
    adds_to: str | None
    directions: list[Highest]
    steps: list[FreeStep]
    rounded: bool


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
    horizon: str | None
    paths_tried: int
    path: list[str]


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
    paths: list[Path] | None
    differences: list[Difference]
    refusal: Refusal | None
    seen: str
    waits: bool
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
    owners: list[str]
    moves: list[str]
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


class Watch(TypedDict):
    """How a device tells of changes by itself."""

    device: str
    state: Literal["connecting", "watching", "listening", "broken", "unwatched"]
    how: str
    since: str
    message: str
    told: int
    asked: int


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
    watches: list[Watch]


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


class CourseStep(TypedDict):
    """From `at` to the next step; of a rounded one, the highest and the least in it."""

    at: str
    reserved_bps: int
    least_reserved_bps: int
    free_bps: int


class Resource(TypedDict):
    """A service's share of one way through an interface (layer 2), or an SLS (layer 3)."""

    resource: str
    place: str
    device: str
    unit: str
    capacity_bps: int
    window: Window
    reserved_bps: int
    free_bps: int
    tightest: Window | None
    rounded: bool
    steps: list[CourseStep]


class Domain(TypedDict):
    name: str
    over_provisioned: bool


class Position(TypedDict):
    x: int
    y: int


class Interface(TypedDict):
    name: str
    role: str
    capacity_bps: int
    address: str | None
    neighbour: str | None
    reserved_shares: dict[str, int]


class Device(TypedDict):
    name: str
    domain: str
    platform: str
    position: Position | None
    interfaces: list[Interface]


class Link(TypedDict):
    ends: list[str]
    capacity_bps: int


class Sls(TypedDict):
    name: str
    upstream: str
    downstream: str
    service: str
    rate_bps: int
    ingress: str
    validity: Window | None
    excess: str


class AttachedHost(TypedDict):
    name: str
    domain: str
    address: str
    attached_to: str


class Topology(TypedDict):
    domains: list[Domain]
    devices: list[Device]
    links: list[Link]
    sls: list[Sls]
    hosts: list[AttachedHost]


class BoundaryCount(TypedDict):
    """How many slots of reservations start, end or change their rate at an instant."""

    at: str
    starting: int
    ending: int
    changing: int


class Hunk(TypedDict):
    first_line: int
    lines: list[str]


class DiffGroup(TypedDict):
    """Devices that change by the same lines."""

    devices: list[str]
    added: int
    removed: int
    lines: int
    notes: list[str]
    hunks: list[Hunk]


class BoundaryView(TypedDict):
    at: str
    item: TimelineItem | None
    groups: list[DiffGroup] | None


class DeviceState(TypedDict):
    device: str
    domain: str
    platform: str
    state: Literal["equal", "drifted", "failed", "waiting", "held", "unknown"]
    message: str
    since: str | None
    read_at: str | None
    phase: str


class Hold(TypedDict):
    """A router that is left alone; `until` is None where it is held until it is released."""

    device: str
    reason: str
    actor: str
    since: str
    until: str | None


class Revision(TypedDict):
    """One push: the names of the reservations that came on its devices, and that went."""

    revision: str
    at: str
    devices: list[str]
    came: list[str]
    went: list[str]
    rollback_of: str


class Usage(TypedDict):
    """Rate times time that was and is reserved in `[start, end)`, of payload; of an SLS of layer 3."""

    month: str
    start: str
    end: str
    name: str
    bits: int
    reservations: int


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
