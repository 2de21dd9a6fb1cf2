"""Labs that begin at a time on a machine without the guest's kernel."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slotcar_lab import kernel


def test_of_labs_that_begin_at_a_time_one_fetches_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Path] = []

    def fetch(kernels: Path, _progress: object) -> None:
        fetched.append(kernels)
        boot = kernels / "6.1.0" / "boot"
        boot.mkdir(parents=True)
        (boot / "vmlinuz-6.1.0").touch()
        (kernels / "6.1.0" / "complete").touch()

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernel, "_fetch", fetch)
    monkeypatch.setattr(kernel, "_initramfs", lambda root, _release: root / "initramfs")
    with ThreadPoolExecutor(8) as pool:
        prepared = list(pool.map(lambda _number: kernel.prepare(lambda _text: None), range(8)))
    assert len(fetched) == 1
    assert {one.release for one in prepared} == {"6.1.0"}
