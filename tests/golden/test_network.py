"""What a broken inventory is told, word for word: one folder a case, its inventory and the expected text.

After a wanted change of words: `UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden/test_network.py`, then read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.network import load_network

#: Ansible reads each of them in a process of its own, for a second: `make test` takes every so many.
EVERY = 5
CASES = sorted(path.parent for path in (Path(__file__).parent / "network").glob("*/hosts.yml"))


@pytest.mark.parametrize(
    "case",
    [pytest.param(one, marks=[pytest.mark.slow] if number % EVERY else []) for number, one in enumerate(CASES)],
    ids=[path.name for path in CASES],
)
def test_a_broken_inventory_is_refused_in_words(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    with pytest.raises(InvalidInput) as refusal:
        load_network(Path("hosts.yml"))
    expected = case / "expected.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(f"{refusal.value}\n", encoding="utf-8")
    assert f"{refusal.value}\n" == expected.read_text(encoding="utf-8")
    assert all(problem.file == "hosts.yml" for problem in refusal.value.problems)


def test_there_are_cases() -> None:
    assert len(CASES) > 20
