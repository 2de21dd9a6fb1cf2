"""The best computing element of several, and for each file the best of those that store it (D7.3 §5.2.3, §10.1,
`getBestCeSes`; with one computing element and one file it is GARA's choice of the best source). Pure.

While a job runs the same is asked again with the files that are still to be read and where each is read from (D7.3
§5.1.3): a file stays there, unless another place is nearer by more than both errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from slotcar.measuring.costs.closeness import Closeness

#: From a storage element to a computing element.
Near = Callable[[str, str], Closeness | None]


@dataclass(frozen=True, slots=True)
class JobFile:
    """Attributes:
    replicas: the storage elements that have it. in_use: from which of them it is read now; None: from none yet.
    """

    name: str
    replicas: tuple[str, ...]
    volume_bytes: int = 1
    in_use: str | None = None


@dataclass(frozen=True, slots=True)
class ChosenSource:
    """Where a file is best read from; `source` is None where of no replica it is known how near it is."""

    file: str
    source: str | None
    closeness: Closeness | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A computing element with its sources.

    Attributes:
        score_ppm: the closeness of its sources, weighted by the files' volumes; 0 where a file cannot be reached at all;
            None where of some file it is not known.
    """

    ce: str
    sources: tuple[ChosenSource, ...]
    score_ppm: int | None
    error_ppm: int


def best_ces(ces: Sequence[str], files: Sequence[JobFile], near: Near) -> tuple[Candidate, ...]:
    """All computing elements, the best first; those last of which it is not known. Of equal ones the first named."""
    candidates = [_candidate(ce, files, near) for ce in ces]
    return tuple(sorted(candidates, key=lambda one: -1 if one.score_ppm is None else one.score_ppm, reverse=True))


def _candidate(ce: str, files: Sequence[JobFile], near: Near) -> Candidate:
    sources = tuple(_source(ce, one, near) for one in files)
    known = [one.closeness for one in sources if one.closeness is not None]
    if len(known) < len(sources):
        return Candidate(ce, sources, None, 0)
    whole = sum(one.volume_bytes for one in files)
    weighed = list(zip(files, known, strict=True))
    score_ppm = sum(file.volume_bytes * one.ppm for file, one in weighed) // whole
    error_ppm = sum(file.volume_bytes * one.error_ppm for file, one in weighed) // whole
    return Candidate(ce, sources, score_ppm if all(one.ppm for one in known) else 0, error_ppm)


def _source(ce: str, file: JobFile, near: Near) -> ChosenSource:
    known = [(replica, one) for replica in file.replicas if (one := near(replica, ce)) is not None]
    if not known:
        return ChosenSource(file.name, None, None)
    best, its = max(known, key=lambda pair: pair[1].ppm)
    now = dict(known).get(file.in_use or "")
    if file.in_use is not None and now is not None and its.interval.low <= now.interval.high:
        return ChosenSource(file.name, file.in_use, now)
    return ChosenSource(file.name, best, its)


@dataclass(frozen=True, slots=True)
class Gathering:
    """All fragments on one storage element.

    Attributes:
        moved_bytes: what the others send. gather_us: how long that takes, one after the other; read_us: how long the
            nearest computing element then needs for all of it. Both None where some cost is not known.
        ce: the computing element that is meant; None where none was named, or of none it is known.
    """

    se: str
    moved_bytes: int
    gather_us: int | None
    ce: str | None
    read_us: int | None

    @property
    def whole_us(self) -> int | None:
        return None if self.gather_us is None or self.read_us is None else self.gather_us + self.read_us


#: What a volume from a host to a host costs, in microseconds; None where it is not known.
TimeOf = Callable[[str, str, int], int | None]


def gatherings(
    fragments: Mapping[str, int], targets: Sequence[str], ces: Sequence[str], time_of: TimeOf
) -> tuple[Gathering, ...]:
    """On which storage element fragments are gathered (D7.3 §5.1.2): the one from which all of them are soonest at a
    computing element. So the fewest bytes move, and to a place near where they are used. The best first; those last of
    which a cost is not known, by the bytes that move.

    Args:
        fragments: how many bytes each storage element has. ces: those of which one is to read all; none: nothing is read.
    """
    listed = [_gathering(se, fragments, ces, time_of) for se in targets]
    return tuple(sorted(listed, key=lambda one: (one.whole_us is None, one.whole_us or 0, one.moved_bytes)))


def _gathering(se: str, fragments: Mapping[str, int], ces: Sequence[str], time_of: TimeOf) -> Gathering:
    others = {name: size for name, size in fragments.items() if name != se}
    times = [time_of(name, se, size) for name, size in others.items()]
    known = [one for one in times if one is not None]
    gather_us = sum(known) if len(known) == len(times) else None
    whole = sum(fragments.values())
    reading = [(took, ce) for ce in ces if (took := time_of(se, ce, whole)) is not None]
    nearest = min(reading, default=None)
    read_us = 0 if not ces else nearest[0] if nearest else None
    return Gathering(se, sum(others.values()), gather_us, nearest[1] if nearest else None, read_us)
