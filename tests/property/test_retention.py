"""What was forgotten of the archive nobody misses: every question has the answer that it had before."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from slotcar.recovery.history import History
from slotcar.rollout.model import ConfiguredReservation
from slotcar.rollout.retention import dispensable

DEVICES = ("a", "b", "c")
HANDLES = ("r-1", "r-2", "r-3")
#: A push: what each of the devices that it concerned was configured for after it.
PUSHES = st.lists(
    st.dictionaries(st.sampled_from(DEVICES), st.frozensets(st.sampled_from(HANDLES)), min_size=1), max_size=14
)
Pushes = Mapping[str, Mapping[str, frozenset[str]]]


def history_of(pushes: Pushes) -> History:
    revisions_of: dict[str, list[tuple[str, Mapping[str, ConfiguredReservation]]]] = {}
    for revision, by_device in pushes.items():
        for device, handles in by_device.items():
            configured = {handle: ConfiguredReservation(handle, f"hep/{handle}", 1, DEVICES) for handle in handles}
            revisions_of.setdefault(device, []).append((revision, configured))
    return History(revisions_of)


def revision_at(pushes: Pushes, device: str, until: str) -> str:
    """The revision that a device had at a time."""
    return max((revision for revision, parts in pushes.items() if device in parts and revision <= until), default="")


@given(PUSHES, st.integers(0, 14))
def test_what_is_left_answers_as_all_of_it_did(drawn: list[Mapping[str, frozenset[str]]], old: int) -> None:
    pushes = {f"{number:02}": parts for number, parts in enumerate(drawn)}
    aged = {revision: parts for revision, parts in pushes.items() if int(revision) < old}
    by_device: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for revision, parts in aged.items():
        for device, handles in parts.items():
            by_device.setdefault(device, []).append((revision, handles))

    removed = dispensable(by_device)
    assert set(removed) <= set(aged)
    left = {revision: parts for revision, parts in pushes.items() if revision not in removed}

    before, after = history_of(pushes), history_of(left)
    for device in DEVICES:
        assert after.now(device) == before.now(device)
        for until in [revision for revision in pushes if int(revision) >= old - 1]:
            assert revision_at(left, device, until) == revision_at(pushes, device, until)
    latest = {handle: one for device in DEVICES for handle, one in before.now(device).items()}
    for configured in latest.values():
        assert after.before(configured) == before.before(configured)


@given(PUSHES)
def test_what_is_left_once_is_left_for_good(drawn: list[Mapping[str, frozenset[str]]]) -> None:
    by_device: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for number, parts in enumerate(drawn):
        for device, handles in parts.items():
            by_device.setdefault(device, []).append((f"{number:02}", handles))
    removed = set(dispensable(by_device))
    left = {device: [one for one in drawn if one[0] not in removed] for device, drawn in by_device.items()}
    assert not dispensable({device: drawn for device, drawn in left.items() if drawn})
