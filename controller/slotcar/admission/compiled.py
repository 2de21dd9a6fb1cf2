"""Compilation of the slot tables' kernels by numba, with a cache wherever one can be kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function`, compiled at its first call.

    The machine code is cached beside the source, or in the user's cache directory, or under `SLOTCAR_STATE_DIR` where
    the installation is read-only and the account has no home; where none can be written, each process compiles anew
    (some seconds), and nothing else changes.
    """
    try:
        return _cached(function)
    except RuntimeError:  # numba: "no locator available"
        pass
    state = os.environ.get("SLOTCAR_STATE_DIR")
    if state and not numba.config.CACHE_DIR:
        # Never a directory that others can write: cached machine code is loaded without question.
        numba.config.CACHE_DIR = str(Path(state).absolute() / "numba")
        try:
            return _cached(function)
        except (RuntimeError, OSError):
            numba.config.CACHE_DIR = ""
    compiled: Any = numba.njit(function)
    return compiled  # type: ignore[no-any-return]


def _cached(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    compiled: Any = numba.njit(cache=True)(function)
    return compiled  # type: ignore[no-any-return]
