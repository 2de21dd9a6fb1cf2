"""What class maps of a domain's several assured classes are called, on all platforms with IOS's policies."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.base.assured import AssuredClass, class_key
from slotcar.base.vocabulary import Service
from slotcar.platforms.intent.model import AggregatePolicer
from slotcar.platforms.ios.objects import PREFIX

#: All code points of a class, and its conforming one alone; the class's name follows.
_ALL, _CONFORMING = f"{PREFIX}AC-", f"{PREFIX}AG-"


def all_of(one: AssuredClass) -> str:
    """The class map of all code points of a class that has a name."""
    return f"{_ALL}{one.name}"


def conforming_of(one: AssuredClass) -> str:
    """The class map of its conforming code point."""
    return all_of(one) if len(one.dscps) == 1 else f"{_CONFORMING}{one.name}"


def arriving_of(aggregate: AggregatePolicer) -> tuple[str, ...]:
    """The class maps of the code points with which an SLS's traffic comes in, where they become others. All interfaces have
    one map for a code point."""
    return tuple(f"{PREFIX}X-{dscp}" for dscp in aggregate.arriving)


def key_of_queue(name: str, services: Mapping[str, Service]) -> str | None:
    """The key of the queue that a class of a policy on the way out is; None of no such class."""
    if name.startswith(_ALL):
        return class_key(Service.ASSURED_RATE, name.removeprefix(_ALL))
    return services.get(name)
