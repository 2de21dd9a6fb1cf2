"""What this machine's clock may be off by, as its kernel says (`ntp_adjtime`), or as whoever runs the probe does."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

from slotcar_probe.packet import ErrorEstimate

#: `TIME_ERROR` of timex.h: nothing keeps the clock right.
_NOT_SYNCHRONIZED = 5
_MICROSECOND_NS = 1_000


class _Timex(ctypes.Structure):
    """`struct timex` as far as it is read, with room for the rest."""

    _fields_ = [
        ("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long), ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long), ("status", ctypes.c_int), ("rest", ctypes.c_byte * 256),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalClock:
    """
    Attributes:
        error_ns: what is known of the clock otherwise, such as of one that GPS keeps; None to ask the kernel.
    """

    error_ns: int | None = None

    def estimate(self) -> ErrorEstimate:
        """What the clock may be off by now. The kernel's greatest error grows for as long as nothing corrects it."""
        if self.error_ns is not None:
            return ErrorEstimate(max(self.error_ns, 1), True)
        timex = _Timex()
        state = _libc().ntp_adjtime(ctypes.byref(timex))
        is_synchronized = state not in (-1, _NOT_SYNCHRONIZED)
        return ErrorEstimate(max(timex.maxerror * _MICROSECOND_NS, 1), is_synchronized)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
