"""`Network`: domains, devices, interfaces, links, hosts and SLS chains, validated and frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Annotated

from pydantic import Field

from slotcar.base.assured import AssuredClass
from slotcar.base.frozen import Frozen
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import InterfaceRole, Scheduler, Service
from slotcar.network.schedules import Schedule

#: An operator's own words, which are shown and decide nothing.
Description = Annotated[str, Field(exclude_if=lambda text: not text)]


#: GARA §4.1 gave background "90 % of the premium bandwidth" that was left.
BACKGROUND_PPM = 900_000
NOTICE_US = 5_000_000
#: `slotcar_notice` at most: devices are armed for what is nearer only while nothing else is pushed.
LONGEST_NOTICE = timedelta(minutes=1)


class InterfaceId(Frozen):
    """An interface's name in the network: `device:name`."""

    device: str
    name: str

    def __hash__(self) -> int:
        return hash((self.device, self.name))  # half of pydantic's time: an interface is the key of most sums

    def __str__(self) -> str:
        return f"{self.device}:{self.name}"


class Interface(Frozen):
    """One interface of a device.

    Attributes:
        capacity_bps: layer-2 rate of the link in each direction (the VC's rate where there is one).
        shares_ppm: each service's share of the link, parts per million of `capacity_bps`; at most a million together. Of
            the assured rate what its classes have together, where the domain names some.
        assured_classes: the domain's classes of the assured rate, in its order, each with its share of this link; empty
            where the domain names none.
        neighbour: the interface at the other end of the link; None on an edge interface that faces hosts only.
        prefixes: networks behind an edge interface beside the subnet of its own address.
        overhead_bytes: layer-2 bytes that each IP packet costs on this link
            (Ethernet: header 14, FCS 4, preamble 8, gap 12 = 38; D7.3 counts 60 together with IP and UDP).
        propagation_us: how long the link takes to its other end, one way; None: nobody knows, and no delay over it is
            bounded.
        metric: cost of sending out of this interface, for the shortest path.
        scheduler: what serves its queues; `linux-tc` only, the others have one each.
        background_ppm: what background reservations may have of a service's share that others leave, parts per million.
        notice_us: so long before a new reservation begins, background reservations that must give way are told.
        shapes_to_sls: what leaves here towards a neighbour's SLS is shaped to that (`slotcar.network.shaping`).
        owners: of networks behind an edge interface, the owners that may reserve from and to them; everybody may
            where none is named.
    """

    id: InterfaceId
    role: InterfaceRole
    capacity_bps: int = Field(gt=0)
    shares_ppm: dict[Service, int]
    assured_classes: tuple[AssuredClass, ...] = Field(default=(), exclude_if=lambda classes: not classes)
    address: IPv4Interface | None = None
    prefixes: tuple[IPv4Network, ...] = ()
    neighbour: InterfaceId | None = None
    overhead_bytes: int = Field(default=38, ge=0)
    propagation_us: int | None = Field(default=None, ge=0, exclude_if=lambda time_us: time_us is None)
    metric: int = Field(default=10, ge=1)
    scheduler: Scheduler = Scheduler.HTB
    background_ppm: int = Field(default=BACKGROUND_PPM, ge=0, le=1_000_000)
    notice_us: int = Field(default=NOTICE_US, ge=0)
    shapes_to_sls: bool = Field(default=False, exclude_if=lambda shapes: not shapes)
    owners: dict[IPv4Network, tuple[str, ...]] = Field(default_factory=dict)
    description: Description = ""

    @property
    def behind(self) -> tuple[IPv4Network, ...]:
        """What an edge interface leads to: its subnet, and the prefixes that are routed to it."""
        subnet = (self.address.network,) if self.address else ()
        return tuple(dict.fromkeys((*subnet, *self.prefixes)))

    @property
    def own_address(self) -> str:
        """By which another domain knows the interface; empty where it has none."""
        return str(self.address.ip) if self.address else ""

    def share_bps(self, service: Service, assured_class: str = "") -> int:
        """Capacity of a service on this interface: its configured share of the link (docs/design.md rule 16).

        With a class, that of the class, where the domain has classes; else of all of the service.
        """
        share_ppm = self.shares_ppm.get(service, 0)
        if assured_class and self.assured_classes:
            share_ppm = next((one.share_ppm for one in self.assured_classes if one.name == assured_class), 0)
        return self.capacity_bps * share_ppm // 1_000_000

    def class_of(self, assured_class: str) -> str:
        """What a reservation's class is called here: nothing where the domain has one class alone, without a name."""
        return assured_class if self.assured_classes else ""


class Device(Frozen):
    """A router or switch that Slotcar configures.

    Attributes:
        burst_ceiling_bytes: the largest policer burst (GARA §5.1: 2 MB; D7.3 §8.1.1 needed 2.5 MB).
        dead_man_s: without a word from a controller for so long, or half of that, it ends all that is reserved; None: each
            slot ends at its own end alone.
        platform: its name in `slotcar.base.registry`.
        position: where a map draws it, from the left and from the top; of the same measure for all devices.
        options: `slotcar_options` as the operator wrote them; `slotcar.platforms.options` makes the platform's own
            type of them.
        resources: of a place of resource managers, its capacities by kind and then by part, in the managers' units; the
            part is empty where the kind has none.
    """

    name: str
    domain: str
    platform: str
    interfaces: dict[str, Interface]
    burst_ceiling_bytes: int = Field(default=2_000_000, ge=8_000)
    burst_floor_bytes: int = Field(default=8_000, ge=1_500)
    dead_man_s: int | None = Field(default=None, ge=120)
    position: tuple[int, int] | None = None
    options: dict[str, int | str | bool] = Field(default_factory=dict)
    resources: dict[str, dict[str, int]] = Field(default_factory=dict, exclude_if=lambda resources: not resources)

    def capacities_of(self, kind: str) -> dict[str, int]:
        """The capacities of one kind of resource, by part; none where the device has nothing of the kind."""
        return self.resources.get(kind, {})


class Host(Frozen):
    """An end system: an address behind an edge interface.

    Attributes:
        owners: who may reserve from and to it; None leaves it to the networks that it is in.
        accounts: by owner, the accounts of the host whose processes the owner may bind to what it reserves there.
        roles: of `computing` and `storage`, what it is for; none where nobody said.
        monitoring_domain: whose measurements stand for its own where it has none; None: its domain's (D7.3 §5.2.3).
    """

    name: str
    domain: str
    address: IPv4Address
    attached_to: InterfaceId
    owners: tuple[str, ...] | None = None
    accounts: dict[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=lambda accounts: not accounts)
    roles: tuple[str, ...] = Field(default=(), exclude_if=lambda roles: not roles)
    monitoring_domain: str | None = Field(default=None, exclude_if=lambda name: name is None)

    @property
    def measured_in(self) -> str:
        return self.monitoring_domain or self.domain


class NsiSide(Frozen):
    """A domain as NSI CS 2.1 knows it.

    Attributes:
        nsa: its agent's identifier. network: of its topology.
        provider: of a neighbour that is asked by NSI, the address of its provider.
        stps: of such a neighbour, the identifiers of its termination points, by the interfaces as this inventory has them.
    """

    nsa: str
    network: str
    provider: str = ""
    stps: dict[str, str] = Field(default_factory=dict)


class Domain(Frozen):
    """An administrative domain.

    Attributes:
        over_provisioned: it has no QoS and needs none (D7.3 §3.2.1).
        elsewhere: another controller has it. controller: where that is asked by its neighbours, an address of https.
        certificate: the file with that controller's certificate.
        nsi: as NSI knows it; None where it does not.
        at_most_bps: the highest rate of one reservation that it may ask for; None for any. services: for which it may ask;
            empty for those that there are SLSs for. tells_free: as a neighbour, it is told what is free here.
        sls_at_most_bps: the highest rate of an SLS that it may open or change by itself; None for none.
        sls_with_reservations: as a neighbour, the services whose SLSs with it are opened, changed and ended with the
            reservations that need them, and the bucket of each.
        assured_classes: its classes of the assured rate by name, in its order; empty where it has one alone.
    """

    name: str
    over_provisioned: bool = False
    description: Description = ""
    elsewhere: bool = Field(default=False, exclude_if=lambda elsewhere: not elsewhere)
    controller: Description = ""
    certificate: Description = ""
    nsi: NsiSide | None = Field(default=None, exclude_if=lambda nsi: nsi is None)
    tells_free: bool = Field(default=True, exclude_if=lambda tells: tells)
    at_most_bps: int | None = Field(default=None, exclude_if=lambda rate_bps: rate_bps is None)
    sls_at_most_bps: int | None = Field(default=None, exclude_if=lambda rate_bps: rate_bps is None)
    sls_with_reservations: dict[Service, int] = Field(default_factory=dict, exclude_if=lambda services: not services)
    services: tuple[Service, ...] = Field(default=(), exclude_if=lambda services: not services)
    assured_classes: dict[str, AssuredClass] = Field(default_factory=dict, exclude_if=lambda classes: not classes)

    @property
    def is_unreserved(self) -> bool:
        """Whether nothing is reserved or configured in it by this controller."""
        return self.over_provisioned or self.elsewhere


class PSchedulerTask(Frozen):
    """A task of a site's pScheduler that measures an SLS.

    Attributes:
        task: its address. source, destination: where the probes are, as audits name them.
        in_class: the site vouches that its packets are in the SLS's class on all of their way; pScheduler does not say.
        clock_error_us: what both clocks may be off by together, as the site knows; None where only packets say it.
        ca_file: who vouches for the pScheduler; empty for the system's.
    """

    task: str
    source: str
    destination: str
    in_class: bool = False
    clock_error_us: int | None = None
    ca_file: str = ""


class Sls(Frozen):
    """A service level specification between two neighbouring domains, one direction (TEQUILA).

    Attributes:
        upstream, downstream: traffic goes from the customer `upstream` into the provider `downstream`.
        ingress: the downstream interface where the aggregate is policed.
        assured_class: the downstream domain's class of the assured rate, where it has several; the customer's class of
            this name is what comes in.
        code_points: those that were agreed on for what comes in, by drop precedence; empty: those of the downstream domain,
            or of the upstream one's class.
        rate_bps: agreed layer-3 rate; `burst_bytes` its token bucket.
        peak_bps: the highest rate at which the aggregate may send for an instant; None where nothing was agreed.
        egresses: its scope: the downstream interfaces up to which its figures hold; none named: all of the domain's.
        scope: of one that controllers agreed on, the addresses of these interfaces; `egresses` are those that this
            domain's inventory has.
        validity: when it holds; None for always. schedule: when its figures hold meanwhile; None for always.
        delay_us, variation_us, loss_ppm: the one-way delay d that is tolerated, its variation j between consecutive packets
            (RFC 3393), and the lost packets l of a million (D7.3 §3.2.1); None where nothing was agreed.
        quantile_ppm: of so many packets of a million delay and variation hold (TEQUILA's quantile).
        pscheduler: what measures it beside probes of Slotcar's own.
        excess: `drop` or `remark` (to best effort).
        agreed: the two domains' controllers agreed on it (`slotcar.book.slss`); no inventory has it.
    """

    name: str
    upstream: str
    downstream: str
    service: Service
    rate_bps: int = Field(gt=0)
    burst_bytes: int = Field(ge=1_500)
    ingress: InterfaceId
    peak_bps: int | None = Field(default=None, exclude_if=lambda rate_bps: rate_bps is None)
    egresses: tuple[InterfaceId, ...] = Field(default=(), exclude_if=lambda egresses: not egresses)
    scope: tuple[str, ...] = Field(default=(), exclude_if=lambda addresses: not addresses)
    assured_class: str = Field(default="", exclude_if=lambda name: not name)
    code_points: tuple[int, ...] = Field(default=(), exclude_if=lambda dscps: not dscps)
    validity: Window | None = None
    schedule: Schedule | None = Field(default=None, exclude_if=lambda schedule: schedule is None)
    delay_us: int | None = Field(default=None, gt=0, exclude_if=lambda delay_us: delay_us is None)
    variation_us: int | None = Field(default=None, gt=0, exclude_if=lambda variation_us: variation_us is None)
    loss_ppm: int | None = Field(default=None, ge=0, le=1_000_000, exclude_if=lambda loss_ppm: loss_ppm is None)
    quantile_ppm: int = Field(default=1_000_000, gt=0, le=1_000_000, exclude_if=lambda part_ppm: part_ppm == 1_000_000)
    pscheduler: tuple[PSchedulerTask, ...] = Field(default=(), exclude_if=lambda tasks: not tasks)
    excess: str = Field(default="drop", pattern="^(drop|remark)$")
    description: Description = ""
    agreed: bool = Field(default=False, exclude_if=lambda agreed: not agreed)

    @property
    def has_figures(self) -> bool:
        """Whether delay, variation or loss was agreed: what an audit can tell of."""
        return (self.delay_us, self.variation_us, self.loss_ppm) != (None, None, None)

    def valid_over(self, window: Window) -> bool:
        return self.validity is None or (self.validity.start <= window.start and window.end <= self.validity.end)


class Network(Frozen):
    """The whole network, as the inventory says. Keys are names; interfaces are found through their device."""

    domains: dict[str, Domain]
    devices: dict[str, Device]
    hosts: dict[str, Host]
    sls: dict[str, Sls]
    source: str = ""
    loaded_at: datetime | None = None

    def agree(self, agreed: Mapping[str, Sls]) -> None:
        """Takes what domains have agreed on by now in the place of what they had: all that changes of a network in use.

        The mapping is replaced whole, so that whoever reads meanwhile finds the one or the other. The inventory's stay.
        """
        written = {name: sls for name, sls in self.sls.items() if not sls.agreed}
        object.__setattr__(self, "sls", dict(sorted({**agreed, **written}.items())))

    def interface(self, interface_id: InterfaceId) -> Interface:
        """The interface of that name.

        Raises:
            KeyError: no such device or interface.
        """
        return self.devices[interface_id.device].interfaces[interface_id.name]

    def has(self, interface_ids: Iterable[InterfaceId]) -> bool:
        """Whether it has all of these interfaces."""
        return all(
            one.device in self.devices and one.name in self.devices[one.device].interfaces for one in interface_ids
        )

    def is_configured(self, device: Device) -> bool:
        """Whether Slotcar configures it: not in an over-provisioned domain, which has no QoS and needs none (D7.3
        §3.2.1), nor in one that another controller has; a place of resource managers of this one's domains always."""
        domain = self.domains[device.domain]
        return not domain.elsewhere and (bool(device.resources) or not domain.over_provisioned)

    def domain_of(self, interface_id: InterfaceId) -> Domain:
        return self.domains[self.devices[interface_id.device].domain]
