"""What devices do otherwise than wanted, each once, and devices of which the same holds together. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.platforms.model import Approximation


def first_of_each(approximations: Iterable[Approximation]) -> tuple[Approximation, ...]:
    """Of those of one aspect of one device the first."""
    first: dict[tuple[str, str], Approximation] = {}
    for one in approximations:
        first.setdefault((one.device, one.aspect), one)
    return tuple(first.values())


def devices_by_words(approximations: Iterable[Approximation]) -> dict[str, tuple[str, ...]]:
    """Each sentence once, in the order in which they come, with the devices of which it is."""
    devices: dict[str, dict[str, None]] = {}
    for one in approximations:
        devices.setdefault(one.words, {})[one.device] = None
    return {words: tuple(names) for words, names in devices.items()}


def sentences(approximations: Iterable[Approximation]) -> tuple[str, ...]:
    """For people: each sentence behind its devices."""
    return tuple(f"{', '.join(names)}: {words}" for words, names in devices_by_words(approximations).items())
