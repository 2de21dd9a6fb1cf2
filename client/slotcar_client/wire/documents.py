"""The API's documents as typed dictionaries. Integers have their units in their names, and amounts of resources in the
`unit` beside them; times are RFC 3339 in UTC.

The schemas of the API's document are made from these, and the controller's answers are checked by them: beside a key's type
stands what it is in words, and where there are more rules an enumeration of its values, or keywords of JSON Schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

from slotcar_client.wire.states import OnFailure, SlotState, State


class Keyword(NamedTuple):
    """One of JSON Schema's, as a note beside a type."""

    name: str
    value: Any


#: RFC 3339, in UTC.
Time = Annotated[str, Keyword("format", "date-time")]
#: What every amount of a resource is in, whatever the name of its field ends in.
UNIT = (
    "of the amounts: `bps` of an interface and of an SLS, `millicores` of cores, `bytes_per_s` of storage devices, and of"
    " others as their resource manager says"
)
#: A count goes no further: to count a million rows takes longer than to show a page of them.
MOST_COUNTED = 500
Way = Literal["forward", "reverse"]
QuotaName = Literal["reservations", "windows", "holds", "volume"]
SummedBy = Literal["owner", "sls", "domain"]
CountedBy = Literal["owner", "sls", "domain", "reservation"]
#: What was to be seen of counters, beside what they say.
CounterRemark = Literal["wrapped", "pushed", "restarted", "cleared", "impossible"]


# Reservations and groups, as the ledger holds them.


class Window(TypedDict):
    """Half-open, UTC: `[start, end)`."""

    start: Time
    end: Time


class Slot(Window):
    """Payload rates while it is open, bits per second."""

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


class Need(TypedDict):
    """A volume by a deadline."""

    volume_bytes: int
    by: Time
    start: Time | None
    at_most_bps: int | None
    at_least_bps: int
    shape: Literal["steady", "earliest", "latest"]


class Claim(TypedDict):
    """What a member of a group reserves that is no flow."""

    kind: str
    place: str
    request: dict[str, Any]
    accounts: NotRequired[list[str]]


class Together(TypedDict):
    """The group of which it is a member."""

    group: str
    on_failure: Annotated[str, OnFailure]


#: `ReservationFields` (`slotcar.reservation.model`) says these keys in words, once for files, requests and answers.
class TimeBound(TypedDict):
    """The worst that is promised of a time."""

    at_most_us: int


class Reservation(TypedDict):
    """What was asked for; integers with their units in their names."""

    name: str
    owner: str
    source: End
    destination: End
    receivers: NotRequired[Annotated[list[str], "of a multicast group, who gets what is sent to it"]]
    protocol: str
    direction: str
    profile: NotRequired[Annotated[str, "the kind of application"]]
    service: str
    assured_class: NotRequired[Annotated[str, "of the assured rate, its class in domains that have several"]]
    rate_bps: int | None
    packet_size_bytes: int
    rtt_us: int
    delay: NotRequired[TimeBound]
    jitter: NotRequired[TimeBound]
    windows: list[Window]
    slots: list[Slot]
    share: Share | None
    need: Need | None
    recurrence: str | None
    timezone: str | None
    via: list[str]
    if_unready: str
    labels: dict[str, str]
    claim: NotRequired[Claim]
    together: NotRequired[Together]


class Hop(TypedDict):
    device: str
    ingress: str
    egress: str
    reserved: Annotated[bool, "False in a domain that is over-provisioned and has no QoS"]


class Path(TypedDict):
    source: str
    destination: str
    hops: list[Hop]
    sls: list[str]


class Demand(TypedDict):
    """What is taken of a resource, in its `unit`: bits per second of a line only."""

    resource: str
    unit: Annotated[str, UNIT]
    rate_bps: Annotated[
        int,
        "the highest of `amounts`, in `unit`; layer 2 at an interface, layer 3 at an SLS, and of another "
        "resource no rate in spite of the name",
    ]
    amounts: Annotated[list[int], "one for each slot, or a single one for all of them; in `unit`"]


class Proposed(TypedDict):
    """A change of a committed reservation that waits for approval; until then the reservation is what it was."""

    reservation: Reservation
    paths: list[Path]
    demands: list[Demand]
    proposed_by: str
    proposed_at: Time


class Progress(TypedDict):
    """The last report of a volume by a deadline."""

    remaining_bytes: int
    at: Time
    needed_bps: Annotated[int, "remaining volume / remaining time then: the payload rate that ends in time"]
    missing_bytes: Annotated[int, "what could not be promised by the deadline; all that was free is taken"]


class DeviceSlot(TypedDict):
    """What is on one device of a slot."""

    device: str
    state: Annotated[str, SlotState]
    since: Annotated[Time | None, "since when; of `in-place` and `ending` when it was last read back"]
    why: Annotated[str, "by what and by whom, where it is not as it should be"]


class SlotNow(Window):
    """The slot that is open, else the next one, else the last: what was verified of it, never what the clock says.

    `planned`: nothing is there yet. `armed`: its devices will begin it by themselves. `in-place`: read back. `withheld`:
    kept back because a device of the path is not ready, or held. `failed`: a device took no push. `rolled-back`: by an
    operator. `ending`: read back before it was cancelled or its end came, and being taken away. `ended`: seen to be gone.
    `unknown`: nobody has read its devices since.
    """

    number: Annotated[int, "counted from 1"]
    of: Annotated[int, "of so many slots"]
    state: Annotated[str, SlotState, "of the device that is furthest from what was promised"]
    since: Annotated[Time | None, "since when; of `in-place` and `ending` when it was last read back"]
    why: Annotated[str, "by what and by whom, where it is not as it should be"]
    devices: list[DeviceSlot]


class CommunityShare(TypedDict):
    """The most that some owners of a community may have together."""

    community: str
    name: str
    members: Annotated[list[str], "owners"]
    rate_bps: int
    in_use_bps: Annotated[int, "what they have of it at this moment"]
    until: Annotated[Time | None, "it binds slots before that; null for ever"]
    hours: Annotated[list[int], "of the day in the site's zone"]
    services: list[str]
    given_by: str
    given_at: Time | None


class Community(TypedDict):
    name: str
    owners: list[str]
    at_most_bps: Annotated[int | None, "what the site gives it; null where it says no number"]
    in_use_bps: Annotated[int | None, "what its owners have of that at this moment"]
    managed: Annotated[bool, "the caller may share out what it has"]


class CommunityShares(TypedDict):
    items: list[CommunityShare]
    communities: list[Community]


class Delegation(TypedDict):
    """Rights on one reservation that its owner has handed to somebody else."""

    to: Annotated[str, "a caller, by the name that `whoami` tells it"]
    may: Annotated[list[str], "verbs; `see`, to look at it, comes with each"]
    until: Annotated[Time, "it runs before that"]
    given_by: str
    given_at: Time


class Delegated(Delegation):
    """The same with the reservation."""

    handle: str
    owner: str
    name: str


class Delegations(TypedDict):
    """One page; `next` is the cursor of the following one, None on the last."""

    items: list[Delegated]
    next: int | None


class Entry(TypedDict):
    """A reservation as the ledger holds it. `version` is the ETag."""

    handle: str
    number: int
    state: Annotated[str, State]
    version: int
    reservation: Reservation
    paths: list[Path]
    demands: list[Demand]
    created_at: Time
    changed_at: Time
    hold_until: Time | None
    proposed: Annotated[Proposed | None, "a change that an operator must approve first"]
    progress: Annotated[Progress | None, "of a volume by a deadline, the last report"]
    group: NotRequired[Annotated[str | None, "handle of the group that it is a member of"]]
    delegations: NotRequired[Annotated[list[Delegation], "those that run; a delegate is shown its own"]]
    slot: Annotated[
        SlotNow | None,
        "what is on its devices, beside `state`, which is the ledger's; null where it was never in force",
    ]
    notes: Annotated[list[str], "what whoever asks for it should know, such as that it can never get what it says"]


class Entries(TypedDict):
    """One page; `next` is the cursor of the following one, None on the last."""

    items: list[Entry]
    count: Annotated[
        int | None, f"on all pages, where it was asked; {MOST_COUNTED + 1} stands for more than {MOST_COUNTED}"
    ]
    next: str | None


class Member(Entry):
    """A member: a reservation as the ledger holds it, of a flow or of another resource (`reservation.claim`)."""

    member: Annotated[str, "its name in the group"]
    on_failure: Annotated[str, OnFailure, "what becomes of the group when it cannot be given at its slot's start"]
    group: Annotated[str, "handle of the group"]  # type: ignore[misc]  # of a member it is always there


class Group(TypedDict):
    """Several resources that were reserved together, all or none."""

    handle: str
    owner: str
    name: str
    version: Annotated[int, "grows with every change of every member; approving it needs the one that was seen"]
    state: Annotated[str, State, "of the members that live; where none does, what became of them"]
    start: Time
    end: Time
    hold_until: Time | None
    slot_state: Annotated[
        Annotated[str, SlotState] | None,
        "what is on the devices of all members: of the one that is furthest from its promise",
    ]
    members: list[Member]


class Groups(TypedDict):
    """One page; `next` is the cursor of the following one, None on the last."""

    items: list[Group]
    next: str | None


# What is free, and why a request was refused.


class FreeStep(Window):
    rate_bps: Annotated[int, "a payload rate that is free throughout, bits per second"]


class Free(TypedDict):
    """What is free over time, in order."""

    steps: list[FreeStep]
    rounded: Annotated[
        bool, "somewhere more is free than the steps say, or they are of the first windows only: there are 100 at most"
    ]


class Highest(Free):
    """The highest payload rate that would be admitted one way."""

    direction: Way
    highest_rate_bps: int
    limited_by: Annotated[str | None, "the resource that runs out first, where the search tells it"]
    is_limited_behind: Annotated[bool, "a domain behind this one, with a controller of its own, has less"]
    routers: Annotated[list[str], "those of the path, in order"]


class Enquiry(Free):
    """Its own `steps` are the rates that all of `directions` may have at once, each of them."""

    windows: list[Window]
    adds_to: Annotated[str | None, "handle of the reservation that all of this may be added to"]
    unknown_beyond: Annotated[list[str], "domains behind which others do not say what is free: there may be less"]
    directions: list[Highest]


class Shortfall(TypedDict):
    """What is short of a resource, in its `unit`: bits per second of a line only."""

    resource: str
    place: str
    window: Window
    unit: Annotated[str, UNIT]
    requested_bps: Annotated[int, "in `unit`"]
    free_bps: Annotated[int, "in `unit`"]
    capacity_bps: Annotated[int, "in `unit`"]


class TransferRefusal(TypedDict):
    """Why a volume cannot be moved by its deadline, and what would fit."""

    asked_bytes: int
    deadline: Time
    most_bytes: Annotated[int, "the most that fits by the same deadline"]
    earliest_deadline: Annotated[Time | None, "for all of it; null where none is near enough"]
    tightest: Annotated[str | None, "the resource that alone leaves the least; null where `at_most` does"]
    place: str | None
    tightest_bytes: Annotated[int, "what that resource alone, or `at_most`, leaves"]
    horizon: Annotated[Time, "until when a deadline was looked for"]


class Refusal(TypedDict):
    reason: str
    shortfalls: list[Shortfall]
    nearest_window: Window | None
    highest_rate_bps: Annotated[
        int | None,
        "of a flow the payload rate, bits per second; of another resource the amount that fits, in the `unit`"
        " of its shortfall; null where several were asked for",
    ]
    highest_share_permille: Annotated[int | None, "then: how much of all of them fits, in thousandths"]
    transfer: Annotated[TransferRefusal | None, "of a volume by a deadline; the others are empty then"]
    horizon: Annotated[Time | None, "until when a nearest window was looked for; null without end"]
    paths_tried: Annotated[int, "on so many paths; the numbers are those of the best of them"]
    path: Annotated[list[str], "its routers in order, where several were tried"]


# The audit log, and the webhooks that it is sent to.


class Event(TypedDict):
    sequence: int
    at: Time
    kind: str
    handle: str | None
    device: str | None
    details: dict[str, Any]


class Events(TypedDict):
    items: list[Event]
    next: Annotated[int, "pass it as `after` (or as Last-Event-ID) to go on from here"]


class Webhook(TypedDict):
    """A receiver of events. `secret` is where its secret is, `derived` for one that the controller made."""

    id: str
    url: str
    owner: Annotated[str | None, "only events of this owner's reservations; null for all events"]
    secret: str
    signing_secret: Annotated[str | None, "said once, by the answer that added it, where it is `derived`"]
    kinds: list[str]
    created_at: Time
    created_by: str
    waiting: Annotated[int, "events that are to be delivered still"]
    dead: Annotated[int, "events that were given up"]
    delivered_at: Time | None
    last_error: Annotated[str, "empty once something was delivered"]


class Webhooks(TypedDict):
    items: list[Webhook]


class Tested(TypedDict):
    delivered: bool
    status: int | None
    message: str


class DeadLetter(TypedDict):
    event: Event
    attempts: int
    queued_at: Time
    dead_at: Time
    last_error: str


class DeadLetters(TypedDict):
    items: list[DeadLetter]
    next: Annotated[str | None, "`after` of the following page; null on the last"]


class Redelivered(TypedDict):
    waiting: Annotated[int, "how many wait again"]


# What a caller is, what it may ask for, and how much of it.


class Caller(TypedDict):
    name: str
    role: Literal["requester", "operator", "auditor"]
    owner: Annotated[str | None, "whose reservations a requester's are; null for an open API's caller"]
    expires_at: Time | None
    proof: Annotated[str, "by what it is known: a token's name, a subject and its issuer, a certificate, an account"]
    scopes: Annotated[list[str], "the verbs, rights and families that its token is for alone; empty for all"]
    delegations: Annotated[list[Delegated], "what was handed to it on others' reservations, of the first 100 of these"]


class Host(TypedDict):
    name: str
    address: str
    domain: str


class Network(TypedDict):
    prefix: str
    domain: str


class Endpoints(TypedDict):
    hosts: list[Host]
    networks: Annotated[list[Network], "of these an address may be said instead of a name"]


class Service(TypedDict):
    service: str
    reserved: Annotated[bool, "whether it is promised a rate"]
    phb: str
    dscps: list[int]
    treatment: str


class Services(TypedDict):
    items: list[Service]


class QuotaUse(TypedDict):
    what: QuotaName
    limit: Annotated[int | None, "null for none; a volume is in bits"]
    in_use: int


class Limits(TypedDict):
    """Seconds, bits per second, bits."""

    owner: str
    horizon_s: Annotated[int, "how far from now a reservation may end"]
    hold_s: Annotated[int, "how long a hold usually lasts"]
    longest_hold_s: int | None
    approval_rate_bps: Annotated[int | None, "above it an operator approves; null for no such gate"]
    approval_duration_s: int | None
    max_windows: Annotated[int, "windows of one request"]
    max_body_bytes: int
    webhook_hosts: Annotated[list[str], "where a requester's webhooks may go"]
    quotas: list[QuotaUse]


# Slot boundaries, past and to come, and what was reserved in a month.

PhaseName = Literal["planned", "staged", "armed", "active", "failed", "withheld", "unrecorded", "nothing to do"]


class DeviceAtBoundary(TypedDict):
    device: str
    phase: PhaseName
    lag_us: Annotated[int | None, "how long after the boundary it acted, where that was measured"]
    message: Annotated[str, "why it failed, or that it came late"]


class SlotAtBoundary(TypedDict):
    """Which slot of a reservation that has several, counted from 1."""

    name: str
    what: Literal["starting", "ending", "changing"]
    number: int
    of: int


class StateAtBoundary(TypedDict):
    """What is on the devices of a slot that starts or ends there, where it is the reservation's present slot."""

    name: str
    what: Literal["starting", "ending"]
    state: Annotated[str, SlotState]
    since: Time | None
    why: Annotated[str, "by what and by whom, where it is not as it should be"]


class TimelineItem(TypedDict):
    at: Time
    starting: list[str]
    ending: list[str]
    changing: Annotated[list[str], "those whose rate changes"]
    slots: Annotated[list[SlotAtBoundary], "which slot it is, of those of them that have several"]
    active: Annotated[int, "reservations with an open slot from this instant on, by the ledger"]
    states: Annotated[list[StateAtBoundary], "what was verified of their slots"]
    phase: Annotated[PhaseName, "of the device that is furthest behind"]
    lag_us: Annotated[int | None, "of the last device, as far as lags are known"]
    skew_us: Annotated[int | None, "from the first device to the last one"]
    devices: Annotated[list[DeviceAtBoundary], "those that it concerns"]


class Timeline(TypedDict):
    items: list[TimelineItem]
    next: Annotated[Time | None, "ask again with `from` at this for the page after; null on the last"]


class BoundaryCount(TypedDict):
    """How many slots of reservations start, end or change their rate at an instant."""

    at: Time
    starting: int
    ending: int
    changing: int


class BoundaryCounts(TypedDict):
    items: list[BoundaryCount]
    next: Annotated[Time | None, "`from` of the following page, null on the last"]


class Hunk(TypedDict):
    first_line: int
    lines: Annotated[list[str], "each with a space, a plus or a minus before it"]


class DiffGroup(TypedDict):
    """Devices that change by the same lines."""

    devices: list[str]
    added: int
    removed: int
    lines: int
    notes: Annotated[list[str], "what the platform does otherwise than it should"]
    hunks: Annotated[list[Hunk], "with three lines of context"]


class BoundaryView(TypedDict):
    at: Time
    item: Annotated[TimelineItem | None, "as in the timeline; null where nothing happens then"]
    groups: Annotated[list[DiffGroup] | None, "null for who may not see configurations"]


class Usage(TypedDict):
    """Rate times time that was and is reserved in `[start, end)`, of payload; of an SLS of layer 3."""

    month: str
    start: Time
    end: Time
    name: str
    bits: int
    reservations: int


class Usages(TypedDict):
    by: SummedBy
    items: list[Usage]


# What devices counted. Bytes are those of IP packets.


class Counted(TypedDict):
    """What was counted in `counted_s` seconds; of the rest of the time nothing is known."""

    counted_s: int
    reserved_bits: Annotated[int, "of IP packets, in the time that was counted"]
    in_profile_bytes: int
    out_of_profile_bytes: int
    dropped_bytes: int


class CountedPart(Counted, Window):
    """A step of time: minutes, for what is days old hours, for what is weeks old days."""

    dropped_packets: int
    remarks: list[CounterRemark]


class CountedFlow(TypedDict):
    """One direction, where its packets are policed."""

    direction: Way
    device: str | None
    interface: str | None
    open_s: Annotated[int, "for so long its slots were open in the window, and are over by now"]
    unknown: Annotated[str, "why nothing is known of it; empty where something is"]
    total: Counted
    items: list[CountedPart]


class ReservationUsage(TypedDict):
    handle: str
    owner: str
    name: str
    service: str
    since: Time
    until: Time
    flows: list[CountedFlow]


class PolicyTotal(TypedDict):
    """What live reservations have together, the one that is asked about included."""

    of: Annotated[str, "whose: `owner`, or its `community` or `domain`"]
    reservations: int
    peak_bps: int
    volume_bits: int


class DecidingPolicy(TypedDict):
    name: str
    effect: Literal["permit", "forbid"]
    file: str
    line: int
    says: Annotated[str, "its annotation, as it is written; empty where it has none"]


class NearPermit(TypedDict):
    name: str
    failed: Annotated[list[str], "the conditions that do not hold, as Cedar writes them"]


class PolicyAnswer(TypedDict):
    action: str
    permitted: bool
    policies: list[DecidingPolicy]
    nearest: list[NearPermit]
    sentence: str


class PolicyDecision(TypedDict):
    at: Time
    permitted: bool
    answers: list[PolicyAnswer]
    totals: list[PolicyTotal]
    largest_bps: Annotated[int | None, "the largest rate that is permitted in its place"]


class PolicyWhy(TypedDict):
    handle: str
    owner: str
    name: str
    actor: str
    delegated_by: Annotated[str, "on whose delegation the actor asked; empty where on its own right"]
    event: Annotated[int, "of the request, in the log"]
    is_change: bool
    permitted: Annotated[bool, "what came of it"]
    recorded: Annotated[list[str], "the site's policies that decided it, by name; none where they were not asked"]
    then: PolicyDecision
    now: PolicyDecision


class ExplainedNumber(TypedDict):
    """A number of a reservation's configuration, and how it came about."""

    place: Annotated[str, "an interface, or another place; empty where it is of none"]
    what: Annotated[str, "payload, policer, peak, burst, link, or what a resource manager gives"]
    value: int
    unit: str
    formula: Annotated[str, "with its source; empty where it is as asked"]


class ExplainedDevice(TypedDict):
    device: str
    diff: Annotated[list[str], "what the reservation changes there, as a unified diff"]


class Explanation(TypedDict):
    handle: str
    name: Annotated[str, "OWNER/NAME"]
    at: Annotated[Time, "the instant that it is about: now while a slot is open, else the next slot's start"]
    numbers: Annotated[list[ExplainedNumber], "in the order of the path, each way"]
    devices: Annotated[list[ExplainedDevice], "empty for whoever may not see the devices' configurations"]
    notes: Annotated[list[str], "what each platform does with the numbers"]


class PolicyDifference(TypedDict):
    """A request of the past that other policies would have decided otherwise."""

    event: int
    at: Time
    handle: str
    owner: str
    name: str
    actor: str
    is_change: bool
    rate_bps: int
    was_permitted: bool
    would_be_permitted: bool
    policies: list[str]
    sentence: str
    totals: list[PolicyTotal]


class CountedUsage(Counted):
    """Of the flows of one name in `[start, end)`."""

    month: str
    start: Time
    end: Time
    name: str
    reservations: int


class CountedUsages(TypedDict):
    by: CountedBy
    items: list[CountedUsage]


class FreedAmount(TypedDict):
    resource: str
    unit: Annotated[str, UNIT]
    amount: int


class UnusedReservation(Counted):
    """`until`: the end of its last slot. `frees_bits`: payload rate times time of what is left of its slots."""

    handle: str
    owner: str
    name: str
    service: str
    until: Time
    forward_bps: int
    reverse_bps: int
    frees_bits: int
    frees: list[FreedAmount]


class UnusedReservations(TypedDict):
    since: Time
    below_percent: int
    items: list[UnusedReservation]


class LinkPart(Window):
    """A step of time. `reserved_bits` are of frames, `sent_bytes` of IP packets; `free_bits`: what the line could have
    carried beside them in the time that was counted."""

    counted_s: int
    reserved_bits: int
    sent_bytes: int
    free_bits: int
    dropped_packets: int
    remarks: list[CounterRemark]


class LinkService(TypedDict):
    service: str
    items: list[LinkPart]


class LinkUsage(TypedDict):
    device: str
    interface: str
    capacity_bps: int
    since: Time
    until: Time
    unknown: Annotated[str, "why nothing is known of it; empty where something is"]
    items: list[LinkPart]
    services: list[LinkService]


# Whether SLSs were kept, as probes and counters have it.

AuditVerdict = Literal["kept", "broken", "unknown"]


class AuditFigure(TypedDict):
    """One figure of an SLS, beside what was agreed of it: it lies from `low` to `high`, and may be off by `error`. Null is
    said of what is not known, and `reason` says why.

    Kept: with all that it may be off by it is within the bound. Broken: without all of that it is beyond it.
    """

    verdict: AuditVerdict
    unit: Literal["us", "ppm", "packets"]
    bound: int
    low: int | None
    high: int | None
    error: int | None
    reason: str


class AuditItem(Window):
    """An hour or a day of a way, from a probe to a probe; their names are empty where nobody measured it.

    `due_s`: for so long the SLS promised something in it. `unanswered_packets`: of these nothing is known. Loss periods and
    the distance between losses are RFC 3357's, in packets. Null stands for a figure of which nothing was agreed.
    """

    source: str
    destination: str
    verdict: AuditVerdict
    due_s: int
    measured_s: int
    sent_packets: int
    lost_packets: int
    unanswered_packets: int
    loss_periods: int
    longest_loss: int
    shortest_distance: int | None
    delay: AuditFigure | None
    variation: AuditFigure | None
    loss: AuditFigure | None
    rate: Annotated[
        AuditFigure, "packets of the class that were dropped where it leaves the domain, as devices counted"
    ]


class SlsAudit(TypedDict):
    """`kept`, `broken` and `unknown`: how many of the items are."""

    sls: str
    upstream: str
    downstream: str
    service: str
    rate_bps: int
    delay_us: int | None
    variation_us: int | None
    loss_ppm: int | None
    quantile_ppm: int
    schedule: Annotated[str, "when the figures hold; empty for always"]
    nothing: Annotated[str, "why there is nothing to audit; empty where there is something"]
    kept: int
    broken: int
    unknown: int
    items: list[AuditItem]


class Audits(TypedDict):
    since: Time
    until: Time
    step: Literal["hour", "day"]
    items: list[SlsAudit]


class AuditedStream(TypedDict):
    """`is_new`: false of one that had been handed in before, or lies before another; then it counts nothing."""

    sls: str
    source: str
    destination: str
    is_new: bool
    items: Annotated[list[AuditItem], "the hours that it lies in, as they stand now"]


# Plans of reservation files, and what applying one did.


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
    paths: Annotated[list[Path] | None, "those that an apply takes, and no others; null where it takes none"]
    differences: list[Difference]
    refusal: Refusal | None
    seen: Annotated[str, "stands for what the reservation was when the plan was made; an apply compares it"]
    waits: Annotated[bool, "it comes into force only once an operator has approved it"]
    note: str
    notes: Annotated[list[str], "what whoever asks for it should know, such as that it can never get what it says"]


class DeviceDiff(TypedDict):
    device: str
    diff: Annotated[list[str], "unified diff of the part of the configuration that Slotcar owns"]
    first_line: Annotated[int, "how many lines of this diff stood on the pages before"]
    lines_left_out: Annotated[int, "how many lines of this diff come on the pages after"]
    approximations: Annotated[
        list[str],
        "what the platform does otherwise than it should, each at the first boundary that changes the device",
    ]


class Boundary(TypedDict):
    at: Time
    devices: list[DeviceDiff]


class Approximation(TypedDict):
    devices: list[str]
    words: str


class InTheWay(TypedDict):
    device: str
    at: Annotated[Time, "from which boundary of the plan on"]
    words: str
    certain: Annotated[bool, "a push would be refused by it; where false, it may take packets, and a push goes ahead"]
    read_at: Annotated[Time, "when the router was read"]


class Summary(TypedDict):
    create: int
    change: int
    cancel: int
    unchanged: int
    refused: int


class Plan(TypedDict):
    format: str
    made_at: Time
    ledger_sequence: int | None
    network: str
    set_name: str
    owners: Annotated[list[str], "of whom it speaks: what they have in the set and not in the file is cancelled"]
    moves: Annotated[
        list[str], "handles of deadline transfers that move to make room; for a requester, marks that stand for them"
    ]
    steps: list[Step]
    boundaries: Annotated[list[Boundary], "none for a requester, who sees no device"]
    approximations: Annotated[
        list[Approximation],
        "what devices on the paths do otherwise than they should, whether their lines change or not: each "
        "once, with the numbers of the first boundary that has it, at the boundaries from the page's "
        "beginning on; none for a requester, who sees no device",
    ]
    in_the_way: Annotated[
        list[InTheWay],
        "what of others' on the routers of the paths, as they were last read, would refuse the lines of the "
        "boundaries from the page's beginning on, or leave them without effect; none for a requester, who "
        "sees no device",
    ]
    not_looked_at: Annotated[list[str], "routers of the paths of which the controller has no reading"]
    looked_at: Annotated[Time | None, "when the others were read, the earliest; null where there are none"]
    boundaries_left_out: Annotated[int, "boundaries that come after those of this page"]
    next: Annotated[str | None, "plan the same again with `from` at this for the page after; null on the last"]
    summary: Summary


class Applied(TypedDict):
    created: int
    changed: int
    cancelled: int
    entries: list[Entry]


# The network, and how much of each of its resources is reserved.


class CourseStep(TypedDict):
    """From `at` to the next step, in the resource's `unit`; of a rounded one, the highest and the least in it."""

    at: Time
    reserved_bps: int
    least_reserved_bps: int
    free_bps: int


class Resource(TypedDict):
    """A service's share of one way through an interface (layer 2), an SLS (layer 3), or what a resource manager has.

    All amounts are in `unit`: bits per second of a line only.
    """

    resource: str
    place: Annotated[str, "the resource in words"]
    device: Annotated[str, "whose interface it is, or where the SLS is policed"]
    unit: Annotated[str, UNIT]
    capacity_bps: Annotated[int, "in `unit`, as the other amounts are"]
    window: Annotated[Window, "what was asked about, without what is past: nothing is kept of that"]
    reserved_bps: Annotated[int, "the highest in the window; of background reservations what is promised"]
    free_bps: Annotated[int, "what is free over the whole window"]
    tightest: Annotated[Window | None, "when least is free; null where nothing is reserved"]
    rounded: Annotated[bool, "whether `steps` are fewer than the levels that there are"]
    steps: list[CourseStep]


class Resources(TypedDict):
    items: list[Resource]
    next: Annotated[str | None, "`after` of the following page, null on the last"]


class AssuredClass(TypedDict):
    name: str
    code_points: Annotated[list[int], "by drop precedence, the conforming one first"]


class Domain(TypedDict):
    name: str
    over_provisioned: bool
    description: Annotated[str, "the operator's own words, empty where there are none"]
    assured_classes: NotRequired[
        Annotated[list[AssuredClass], "its classes of the assured rate, where it has several"]
    ]


class Position(TypedDict):
    x: int
    y: int


class Interface(TypedDict):
    name: str
    role: str
    capacity_bps: int
    address: str | None
    neighbour: str | None
    reserved_shares: Annotated[dict[str, int], "by service, what may be reserved of it, bit/s"]
    description: str


class Device(TypedDict):
    name: str
    domain: str
    platform: str
    position: Annotated[Position | None, "where a map draws it, as the inventory says"]
    interfaces: list[Interface]


class Link(TypedDict):
    ends: list[str]
    capacity_bps: int


class Sls(TypedDict):
    name: str
    upstream: str
    downstream: str
    service: str
    assured_class: NotRequired[Annotated[str, "the downstream domain's class, where the assured rate has several"]]
    code_points: NotRequired[Annotated[list[int], "what was agreed on for what comes in, by drop precedence"]]
    rate_bps: int
    peak_bps: Annotated[int | None, "the highest rate for an instant; null where nothing was agreed"]
    ingress: str
    egress: Annotated[list[str], "its scope: where its figures end; none: anywhere in the downstream domain"]
    validity: Window | None
    schedule: Annotated[str | None, "days and hours in which its figures hold; null: always"]
    delay_us: Annotated[int | None, "one-way delay that is tolerated; null where nothing was agreed"]
    variation_us: Annotated[int | None, "variation between consecutive packets that is tolerated"]
    loss_ppm: Annotated[int | None, "lost packets of a million that are tolerated"]
    quantile_ppm: Annotated[int, "of so many packets of a million delay and variation hold"]
    excess: str
    description: str


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


# Devices: what they are to have, what they have, who holds them, and what was pushed to them.


class Configuration(TypedDict):
    device: str
    platform: Annotated[str, "as `slotcar_platform` of the inventory names it", Keyword("examples", ("linux-tc",))]
    at: Time
    lines: list[str]


class Configurations(TypedDict):
    items: list[Configuration]


class DifferenceOfDevice(TypedDict):
    device: str
    state: Literal["equal", "different", "failed"]
    diff: Annotated[list[str], "unified diff from what the device has to what is wanted"]
    message: Annotated[str, "why the device could not be read"]


class DifferentDevice(TypedDict):
    device: str
    diff: Annotated[list[str], "unified diff from what the device has to what is wanted"]


class UnreadDevice(TypedDict):
    device: str
    message: Annotated[str, "why the device could not be read"]


class Comparison(TypedDict):
    different: list[DifferentDevice]
    equal: Annotated[list[str], "the devices that have what is wanted"]
    failed: list[UnreadDevice]


class DeviceState(TypedDict):
    device: str
    domain: str
    platform: str
    state: Literal["equal", "drifted", "failed", "waiting", "held", "unknown"]
    message: str
    since: Annotated[Time | None, "of the event that told it"]
    read_at: Annotated[Time | None, "when the controller that leads read it last"]
    phase: str
    managed: Annotated[bool, "whether Slotcar may push to it; else it waits for an operator to adopt it"]


class DeviceStates(TypedDict):
    items: list[DeviceState]


class Adoption(TypedDict):
    device: str
    is_new: Annotated[bool, "false where the device was managed already"]


class Hold(TypedDict):
    """A router that is left alone: nothing is pushed to it, and no slot is ended on it."""

    device: str
    reason: str
    actor: Annotated[str, "who holds it"]
    since: Time
    until: Annotated[Time | None, "when the controller manages it again; null: once it is released"]


class Holds(TypedDict):
    items: list[Hold]


class Revision(TypedDict):
    """One push: the names of the reservations that came on its devices, and that went."""

    revision: str
    at: Time
    devices: list[str]
    came: list[str]
    went: list[str]
    rollback_of: str


class Revisions(TypedDict):
    items: list[Revision]
    next: Annotated[str | None, "`before` of the following page, null on the last"]


# The controller itself: what it is about, and whether it is well.


class Watch(TypedDict):
    """How a device tells of changes by itself; what it tells, the controller that leads checks at once."""

    device: str
    state: Literal["connecting", "watching", "listening", "broken", "unwatched"]
    how: str
    since: Time
    message: Annotated[str, "why it is broken or unwatched"]
    changes: Annotated[int, "how often it reported a change, also of the controller's own"]
    checks: Annotated[int, "how often it was checked for that"]


class Controller(TypedDict):
    """What this controller is about; all but `leading` is empty where another one leads."""

    now: Time
    started_at: Time
    reconciles: Annotated[bool, "False for a controller that only answers"]
    leading: bool
    settled: Annotated[bool, "every device had what is wanted when it was last read"]
    checked_at: Annotated[Time | None, "when the device was read whose last reading is oldest"]
    next_boundary: Time | None
    phases: Annotated[dict[str, str], "how far each device is with the next or last boundary"]
    troubles: Annotated[dict[str, str], "devices that take no push, and why"]
    pushes: int
    failed_pushes: int
    last_push_at: Time | None
    last_revision: str
    error: str
    watches: Annotated[
        list[Watch], "how devices tell of changes; empty where none is to (SLOTCAR_WATCH, SLOTCAR_SYSLOG_LISTEN)"
    ]


class Check(TypedDict):
    name: str
    ok: bool
    message: str


class Health(TypedDict):
    status: Literal["ok", "failing"]
    checks: list[Check]


# Problem details (RFC 9457), with the numbers that stand beside the sentence.


class Mistake(TypedDict):
    """One wrong value, in the sentence that the CLI prints."""

    key: str
    message: str
    value: str
    hint: str


class QuotaOfOwner(TypedDict):
    """What an owner may have at once, has, and asks for beside it; volumes are in bits."""

    owner: str
    what: QuotaName
    limit: int
    in_use: int
    asked: int


class Problem(TypedDict):
    """RFC 9457 problem details. `errors` lists every wrong value; `refusal` the numbers of a refused request."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: NotRequired[list[Mistake] | None]
    refusal: NotRequired[Refusal | None]
    current_version: NotRequired[int | None]
    quota: NotRequired[QuotaOfOwner | None]


class PeerAnswers(TypedDict):
    """What a domain's controller answers to its neighbour at once, signed; more comes as messages of its own."""

    answers: list[str]


class ConnectionSegment(TypedDict):
    """What a domain of a connection says of its segment; the neighbours bring it along the row."""

    domain: str
    phase: Annotated[str, "of the connection in that domain"]
    committed: Annotated[int, "the version in force there; 0 for none"]
    not_ready: Annotated[bool, "its devices cannot be made ready for its slot: the others wait, as `if_unready` says"]
    slot: Annotated[str, "what its devices have of the slot that is open; empty where none is, or none was told"]
    why: str
    stated_at: Annotated[Time, "by that domain's clock"]


class KeptTicket(TypedDict):
    """What a segment rests on: what the next domain has signed."""

    issuer: str
    number: Annotated[str, "its issuer's for it"]
    ends: Time
    sls: Annotated[list[str], "by which agreements the traffic crosses the border"]
    ticket: Annotated[str, "the JWS"]


class ConnectionVolume(TypedDict):
    """What a connection is to move by a deadline, as its first domain knows it."""

    volume_bytes: int
    by: Time
    remaining_bytes: Annotated[int, "as it was at `at`"]
    at: Time
    missing_bytes: Annotated[int, "what its slots do not move by the deadline"]


class ConnectionDelay(TypedDict):
    """A domain's part of a bound of delay or jitter; null where none is promised."""

    domain: str
    delay_us: int | None
    jitter_us: int | None


class Connection(TypedDict):
    """A reservation over several domains, as one of them knows it."""

    connection: str
    domain: str
    previous: Annotated[str | None, "the domain that asks; null of the first"]
    next: Annotated[str | None, "the domain that is asked; null of the last"]
    name: str
    owner: Annotated[str, "with its domain, `hep@anl`"]
    phase: Annotated[str, "NSI CS 2.1's states; `reserve-start`: nothing is under way"]
    version: Annotated[int, "the last attempt"]
    committed: Annotated[int, "the attempt that is in force; 0 for none"]
    condition: Annotated[str, "of an agent's: the domain whose ticket it waits for"]
    in_doubt: Annotated[bool, "this domain gave its word, and asks what was decided"]
    why: Annotated[str, "why the last attempt failed, or it is over"]
    hold_until: Time
    slots: list[Slot]
    volume: Annotated[ConnectionVolume | None, "what the slots are to move; null of fixed rates, and in other domains"]
    delays: Annotated[list[ConnectionDelay], "what each domain promises; empty where no bound is"]
    members: Annotated[
        list[str], "in the first domain, the connections that are reserved together, this one among them"
    ]
    ticket: Annotated[str, "for an agent to show to the previous domain"]
    request_for_next: Annotated[str, "what an agent asks the next domain for"]
    rests_on: Annotated[KeptTicket | None, "the next domain's ticket; null where none is kept"]
    segments: Annotated[list[ConnectionSegment], "in the row's order, of the domains that were heard of so far"]


class Connections(TypedDict):
    items: list[Connection]


class PromisedRate(TypedDict):
    start: Time
    end: Time
    rate_bps: int


class SlsForm(TypedDict):
    """Terms of an SLS that may change."""

    rate_bps: int
    start: Annotated[Time | None, "null: always"]
    end: Annotated[Time | None, "null: always"]


class NeighbourSls(TypedDict):
    """An SLS between this domain and a neighbour."""

    name: str
    upstream: str
    downstream: str
    service: str
    ingress: Annotated[str, "where the traffic comes in, as this domain calls it"]
    egress: Annotated[
        list[str], "up to where it holds: interfaces, or addresses of those that this domain does not know"
    ]
    rate_bps: Annotated[int, "of layer 3"]
    burst_bytes: int
    excess: Annotated[str, "`drop` or `remark`"]
    pscheduler: Annotated[list[str], "this domain's tasks of pSchedulers that measure it"]
    start: Annotated[Time | None, "null: always"]
    end: Annotated[Time | None, "null: always"]
    agreed: Annotated[bool, "the two controllers agreed on it; false: it stands in the inventory"]
    state: Annotated[str, "`is being opened`, `to come`, `in force`, `is being changed` or `over`"]
    connection: Annotated[str, "of the attempt that made it so; empty of the inventory's"]
    proposed: Annotated[SlsForm | None, "the form that is held beside it; null where none is"]
    promised: Annotated[list[PromisedRate], "what is promised of it from now on, the first 100 steps"]
    why: Annotated[str, "why it was ended without the neighbour's word; empty where it was not"]


class NeighbourSlss(TypedDict):
    items: list[NeighbourSls]


class Neighbour(TypedDict):
    domain: str
    controller: str
    fingerprint: Annotated[str, "of its certificate, SHA-256"]
    clock_ahead_ms: Annotated[int | None, "its clock before this one's, the way included; null: not heard yet"]
    trouble: Annotated[str, "why it was not reached, or not believed, last"]


class Domains(TypedDict):
    domain: Annotated[str | None, "this controller's; null: all of its inventory"]
    neighbours: list[Neighbour]


# What transfers cost, and from where to where they are best done (D7.3 §5, §10).


class TimeEstimate(TypedDict):
    """Without a reservation: bytes times 8, over the throughput that was measured."""

    cost_ms: int
    low_ms: Annotated[int, "of the middle 68 % of the samples; of one sample, by the tool's accuracy"]
    high_ms: int
    error_ms: Annotated[int, "how far the farther of the two is"]
    least_ms: Annotated[int | None, "nine transfers in ten take this to `most_ms`; null from fewer samples than 3"]
    most_ms: int | None
    throughput_bps: int
    source: Annotated[Literal["transfers", "probes"], "what was measured"]
    between: Annotated[Literal["hosts", "domains"], "the two hosts, or their monitoring domains"]
    samples: int
    tools: list[str]
    newest_at: Time
    by_tool: Annotated[bool, "the error is the accuracy of the tool, since there is one sample"]


class ReservedEstimate(TypedDict):
    """With a reservation that is made now."""

    service: str
    cost_ms: Annotated[int, "from now until the last byte"]
    low_ms: int
    high_ms: int
    rate_bps: Annotated[int, "the mean payload rate meanwhile"]
    kept_ppm: Annotated[int | None, "what part of the promised rate reserved transfers had; null where there was none"]


class Nearness(TypedDict):
    """Closeness, in parts per million: 0 for what is not reached, a million for the same host or LAN."""

    closeness_ppm: int
    error_ppm: int
    unmeasured: Annotated[list[str], "of `rtt`, `throughput` and `loss`, what is left out since nobody measured it"]


class Costs(TypedDict):
    source: str
    destination: str
    volume_bytes: int
    best_effort: Annotated[TimeEstimate | None, "null where nobody measured the way"]
    reserved: Annotated[ReservedEstimate | None, "null where that cannot be reserved now"]
    closeness: Annotated[Nearness | None, "with half of the weight on throughput"]
    unknown: Annotated[list[str], "why something is null"]


class FileSource(TypedDict):
    file: str
    source: Annotated[str | None, "the best storage element; null where of none that has it a way is measured"]
    closeness: Nearness | None


class ComputingElement(TypedDict):
    ce: str
    score_ppm: Annotated[int | None, "null where of some file no way is measured"]
    error_ppm: int
    files: list[FileSource]


class Closest(TypedDict):
    best: Annotated[str | None, "null where of none everything is known"]
    items: Annotated[list[ComputingElement], "the best first, those last of which something is not known"]


class Gathering(TypedDict):
    se: str
    moved_bytes: int
    gather_ms: Annotated[int | None, "until all is there; null where a way is not measured"]
    ce: Annotated[str | None, "the computing element that has all of it soonest"]
    read_ms: Annotated[int | None, "until it has"]


class Gatherings(TypedDict):
    best: str | None
    items: Annotated[list[Gathering], "the soonest first, those last of which a way is not measured"]


class Accuracy(TypedDict):
    """Of transfers without a reservation, as they were handed in."""

    estimated: Annotated[int, "of so many something would have been said when they began"]
    unknown: Annotated[int, "of so many nothing"]
    within_68: Annotated[int, "so many of the first took what the 68 % interval said"]
    bounded: Annotated[int, "of so many the interval of nine in ten was said"]
    within_nine_in_ten: Annotated[int, "so many of these took what it said"]
    off_ppm: Annotated[int | None, "the median of how far the estimates were off; null of none"]


class MeasuredTransfer(TypedDict):
    source: str
    destination: str
    volume_bytes: int
    started_at: Time
    ended_at: Time
    tool: str
    throughput_bps: int
    estimated_ms: Annotated[int | None, "what would have been said when it began; null where nothing was known"]
    low_ms: int | None
    high_ms: int | None


class MeasuredProbe(TypedDict):
    source: str
    destination: str
    tool: str
    at: Time
    rtt_us: int | None
    throughput_bps: int | None
    loss_ppm: int | None
