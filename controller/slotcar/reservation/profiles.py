"""Kinds of applications by name (D7.3 §3.1): what each asks of the network where a reservation does not say it. Pure.

The reference groups applications in four, names the PHB of each, and gives no numbers. Where it is silent:

- The bounds of `interactive` are those of class 0 of ITU-T Y.1541, for traffic in real time that feels jitter: 100 ms of
  delay, 50 ms of variation. Its `rtt` is short, since bursts are what others' bounds wait for.
- `transactions` have a burst of 100 ms of their rate, `bulk` of 400 ms: so much one TCP connection needs behind a policer
  that drops (D7.3 Figure 2), and short ones do not come to fill it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from slotcar.base.vocabulary import Profile, Service

#: Keys that ask for a volume by a deadline.
_VOLUME = ("volume", "by", "at_most", "at_least", "shape")


@dataclass(frozen=True, slots=True)
class ApplicationKind:
    """A kind of applications.

    Attributes:
        applications: which they are, in the reference's words.
        service: what it needs; another does not go with it. phb: which the reference names.
        usual: keys of a reservation, as they are written, that it has where the reservation does not say them.
        refused: keys that do not go with it, and why; a value after `=` is refused alone.
    """

    applications: str
    service: Service
    phb: str
    usual: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


KINDS: Mapping[Profile, ApplicationKind] = MappingProxyType(
    {
        Profile.INTERACTIVE: ApplicationKind(
            "audio, video and images: conferences, remote visualization, remote analysis in real time",
            Service.IP_PREMIUM,
            "EF",
            {"rtt": "100 ms", "delay": "100 ms", "jitter": "50 ms"},
            dict.fromkeys(_VOLUME, "what is shown now cannot come later: say a rate")
            | {"share": "its rate would go down when others come: say a rate of its own"},
        ),
        Profile.TRANSACTIONS: ApplicationKind(
            "short-lived, reliable transactions: remote file analysis, requests to servers, middleware",
            Service.ASSURED_RATE,
            "AF",
            {"rtt": "100 ms"},
            dict.fromkeys(_VOLUME, "a transaction is no volume that is waited for: say a rate, or take `bulk`")
            | {"protocol=udp": "what is lost is not sent again by udp, and a transaction is to be reliable: say tcp"},
        ),
        Profile.BULK: ApplicationKind(
            "bulk transfers: replicas, jobs over large collections; by a deadline, by a rate, or by what others leave",
            Service.ASSURED_RATE,
            "AF",
            {"rtt": "400 ms"},
            dict.fromkeys(("delay", "jitter"), "single packets have no urgency in a bulk transfer: leave it out"),
        ),
        Profile.TEST: ApplicationKind(
            "tests that compete with production: theirs is what nobody else wants, and a minimum",
            Service.QBSS,
            "LBE",
            {},
            dict.fromkeys(
                ("rate", "delay", "jitter", "share", *_VOLUME),
                "qbss promises nothing but what others leave: leave it out",
            ),
        ),
    }
)


def with_profile(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys of a reservation with those of its profile that it does not say itself; `null` says that it wants none.

    What is no profile, or goes with none, is left as it is: `refused_keys` tells it.
    """
    kind = _kind_of(data)
    if kind is None:
        return data
    usual = {key: value for key, value in kind.usual.items() if key not in data}
    service = {} if data.get("service") is not None else {"service": kind.service.value}
    return {**data, **usual, **service}


def service_of(profile: str) -> str:
    """The service of a profile; empty where it is none."""
    return KINDS[Profile(profile)].service.value if profile in set(Profile) else ""


def refused_keys(data: Mapping[str, Any]) -> Iterator[tuple[str, str, object, str]]:
    """Key, message, value and hint of each key that does not go with the profile of these keys as they were written."""
    kind = _kind_of(data)
    if kind is None:
        return
    name = data["profile"]
    service = data.get("service")
    if service is not None and service != kind.service.value:
        yield (
            "service",
            f"does not go with the profile {name}, which is {kind.service.value}",
            service,
            f"leave one of them out{_others_of(service)}",
        )
    for refused, why in kind.refused.items():
        key, _, value = refused.partition("=")
        if data.get(key) is not None and (not value or data[key] == value):
            yield key, f"does not go with the profile {name}", data[key], why


def _others_of(service: object) -> str:
    names = [profile.value for profile, kind in KINDS.items() if kind.service.value == service]
    return f"; of {service} are {', '.join(names)}" if names else ""


def _kind_of(data: Mapping[str, Any]) -> ApplicationKind | None:
    name = data.get("profile")
    return KINDS[Profile(name)] if isinstance(name, str) and name in set(Profile) else None
