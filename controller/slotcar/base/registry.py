"""The platforms that Slotcar knows. One line of `FOLDERS` registers one; all else about it is in its folder.

Rooms below `controller/slotcar/platforms/` ask a platform's `Facts` here and import no platform: a folder is loaded when it
is asked for. `docs/howto/new-platform.md` says what a folder holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, create_model

from slotcar.base.vocabulary import Marking, Scheduler, Service

#: By the name that `slotcar_platform` gives it, the package of each platform: `facts.FACTS` and `renderer.RENDERER` in it.
FOLDERS: dict[str, str] = {
    "linux-tc": "slotcar.platforms.linux_tc",
    "cisco-car": "slotcar.platforms.cisco_car",
    "cisco-mqc": "slotcar.platforms.cisco_mqc",
    "cisco-gsr": "slotcar.platforms.cisco_gsr",
    "cisco-cat6500": "slotcar.platforms.cisco_cat6500",
    "cisco-iosxe-netconf": "slotcar.platforms.cisco_iosxe_netconf",
    "juniper-junos": "slotcar.platforms.juniper_junos",
}
#: Likewise the platforms of places of resource managers. An inventory does not name them: they follow from its variables.
OF_PLACES: dict[str, str] = {
    "linux-host": "slotcar.platforms.linux_host",
    "resource-manager": "slotcar.platforms.resource_manager",
}


class TransportKind(StrEnum):
    """How a device is reached: a Linux shell, IOS's command line, NETCONF, or a resource manager's call-outs
    (`controller/slotcar/rollout/`)."""

    LINUX = "linux"
    IOS = "ios"
    NETCONF = "netconf"
    CALL_OUTS = "call-outs"


class Watch(StrEnum):
    """What reports changes of a device's configuration (`controller/slotcar/watching/`)."""

    TC_MONITOR = "tc monitor"
    NETCONF = "NETCONF notifications"
    SYSLOG = "syslog"


class DeviceOptions(BaseModel):
    """`slotcar_options` of a device; as it stands, of one that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    #: Options that one interface may have of its own, written `OPTION:INTERFACE`.
    PER_INTERFACE: ClassVar[tuple[str, ...]] = ()
    #: Options whose text names interfaces of the device, apart by blanks or commas.
    NAME_INTERFACES: ClassVar[tuple[str, ...]] = ()

    def of_interface(self, option: str, interface: str) -> Any:
        """The interface's own value of an option; else the router's."""
        own = getattr(self, f"{option}:{interface}", None)
        return getattr(self, option) if own is None else own


class PlatformOptions(DeviceOptions):
    """`slotcar_options` of a router; each platform adds its own.

    Attributes:
        marking: what it marks and matches by, where its platform has a choice (`Facts.markings`).
        eem: the router has an event manager and acts at boundaries by itself; only where `Facts.acts_with` says so.
    """

    marking: str | None = None


class RouterWithHardware(PlatformOptions):
    """Options of a router whose schedulers hand packets to hardware, which sends them in the order in which it got them.

    Attributes:
        transmit_ring: how many packets may stand there on an interface; None: nobody said, and no delay is promised.
            Also written `transmit_ring:INTERFACE`.
    """

    PER_INTERFACE: ClassVar[tuple[str, ...]] = ("transmit_ring",)

    transmit_ring: Annotated[StrictInt, Field(ge=0, le=100_000)] | None = None


class RouterWithEventManager(PlatformOptions):
    """Options of a router with IOS's command line (EEM 3.1: IOS 15.0(1)M, IOS-XE)."""

    eem: StrictBool = False


Options = TypeVar("Options", bound=DeviceOptions)


def names_in(text: str) -> tuple[str, ...]:
    """The names of an option that lists some, apart by blanks or commas."""
    return tuple(text.replace(",", " ").split())


@dataclass(frozen=True, slots=True)
class ShellNeeds:
    """What a device with a shell must have, beside what the program of a revision runs (`rollout/linux/scripts.py`).

    Attributes:
        programs: to be found in PATH there.
        modules: of its kernel. scheduler_modules: those of the schedulers that its interfaces have.
        only_root_may: what an account without root cannot do, in words.
        without_root: kinds of resources that such an account can give all the same.
    """

    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    scheduler_modules: Mapping[Scheduler, str] = field(default_factory=dict)
    only_root_may: str = "change its configuration"
    without_root: frozenset[str] = frozenset()

    def root(self, kinds: Iterable[str]) -> bool:
        """Whether a device with these kinds of resources, or with none, is configured by root only."""
        kinds = set(kinds)
        return not kinds or not kinds <= self.without_root


@dataclass(frozen=True, slots=True)
class ShaperFacts:
    """How a platform shapes an aggregate, which is one queue of an interface.

    Attributes:
        grain_bps: the step in which its shaper takes rates of a size.
        overhead_bytes: what the shaper counts of each packet beside IP, at least; None: what the interface says.
        not_with: schedulers that cannot shape.
    """

    grain_bps: Callable[[int], int]
    overhead_bytes: int | None = None
    not_with: frozenset[Scheduler] = frozenset()


@dataclass(frozen=True, slots=True)
class Facts:
    """What other rooms ask of a platform.

    Attributes:
        options: the model of `slotcar_options`; a key that it lacks is refused when the inventory is read.
        markings: what it can mark and match by, its own way first.
        acts_with: the option with which a router acts at coming instants by itself; empty: it always does; None: never.
        acts_words: how that is said to an operator who asks which routers do.
        schedulers: what may serve an interface's queues; empty where there is no choice.
        served_as: precedences that its queues serve as another service than the marking says.
        resets: services whose code points it resets at a border although they are open to everybody.
        counts: its folder has `counters.py`, which says what it counts of flows and queues.
        bounds_delay: its folder has `delays.py`, which says what its queues are surely given.
        number_words: in sentences, what it does with rates and bursts beyond rounding them up by one.
        batch_script: of a device with a shell, the text of what takes a change's lines there, in the place of tc.
        needs: of a device with a shell, what it must have there.
        watch: what reports changes of its configuration; None: nothing does, and it is read from time to time only.
        police_floor_bps: the lowest rate that its policers take.
        interface_name: the full name of an interface, where short ones are taken too; raises UnitError where it is none.
        most_assured_classes: how many classes of the assured rate its interfaces can serve apart; 0: it knows one service
            without classes. classes_words: what to do about it, where that is to be said.
        remarks: at a border it gives what comes in the code point of its own domain.
        shaper: how it shapes what leaves towards an SLS; None: it cannot.
        flows_share: flows of one device share lists, classes or policers, which run out.
    """

    transport: TransportKind
    options: type[DeviceOptions]
    markings: tuple[Marking, ...]
    acts_with: str | None = None
    acts_words: str = ""
    schedulers: tuple[Scheduler, ...] = ()
    served_as: Mapping[int, Service] = field(default_factory=dict)
    resets: frozenset[Service] = frozenset()
    bounds_delay: bool = False
    counts: bool = False
    number_words: tuple[str, ...] = ()
    police_floor_bps: int = 8_000
    flows_share: bool = True
    batch_script: Callable[[], str] | None = None
    needs: ShellNeeds = ShellNeeds()
    watch: Watch | None = None
    interface_name: Callable[[str], str] | None = None
    most_assured_classes: int = 0
    classes_words: str = ""
    remarks: bool = False
    shaper: ShaperFacts | None = None

    def acts(self, options: Mapping[str, object]) -> bool:
        """Whether a router with these options acts at coming instants by itself. To the others a controller must be
        there at the instant."""
        return self.acts_with == "" or (self.acts_with is not None and options.get(self.acts_with) is True)


def facts_of(platform: str) -> Facts:
    """
    Raises:
        KeyError: no platform of this name is registered.
    """
    return _facts(folder_of(platform))


def folder_of(platform: str) -> str:
    """The package of a platform.

    Raises:
        KeyError: none of this name is registered.
    """
    return OF_PLACES[platform] if platform in OF_PLACES else FOLDERS[platform]


@cache
def _facts(folder: str) -> Facts:
    facts: Facts = import_module(f"{folder}.facts").FACTS
    return facts


def options_model(model: type[Options], written: Iterable[str], interfaces: Iterable[str]) -> type[Options]:
    """The model, with a field for each option that an interface may have of its own where any is written so.

    >>> from slotcar.platforms.cisco_cat6500.facts import CatalystOptions
    >>> model = options_model(CatalystOptions, ["port_type:Gi1/1"], ["Gi1/1"])
    >>> model.model_validate({"port_type:Gi1/1": "2q2t"}).of_interface("port_type", "Gi1/1")
    '2q2t'
    """
    if not any(":" in key for key in written):
        return model
    return _with_interfaces(model, tuple(sorted(interfaces)))


@cache
def _with_interfaces(model: type[Options], interfaces: tuple[str, ...]) -> type[Options]:
    fields = {
        f"{option}:{name}": (model.model_fields[option].rebuild_annotation() | None, None)
        for option in model.PER_INTERFACE
        for name in interfaces
    }
    return create_model(model.__name__, __base__=model, **fields)  # type: ignore[call-overload,no-any-return]
