"""Names by the time that they are about, found by any part of it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator


class InTime:
    """Names, each with a half-open time. To find those of a time costs what is found, and not what there is: times of a
    like length are kept together by their starts, so that none is far from where it is looked for.
    """

    def __init__(self) -> None:
        #: By how many bits their length has.
        self._by_length: dict[int, list[tuple[int, int, str]]] = {}

    def add(self, start_us: int, end_us: int, name: str) -> None:
        insort(self._by_length.setdefault((end_us - start_us).bit_length(), []), (start_us, end_us, name))

    def overlapping(self, start_us: int, end_us: int) -> Iterator[str]:
        """Names of times that have a part of `[start_us, end_us)`; one that was added twice may come twice."""
        for bits, times in self._by_length.items():
            for place in range(bisect_left(times, (start_us - (1 << bits),)), len(times)):
                start, end, name = times[place]
                if start >= end_us:
                    break
                if end > start_us:
                    yield name
