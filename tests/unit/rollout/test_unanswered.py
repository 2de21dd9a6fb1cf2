"""What is said of a device that has no reading, though no task failed on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotcar.rollout.model import Failure
from slotcar.rollout.playbook import BUNDLE, PlaybookResult, _note
from slotcar.rollout.pusher import _unanswered

ROOT = Path(__file__).resolve().parents[3]


def test_only_a_play_that_went_through_without_a_device_says_that_the_inventory_lacks_it() -> None:
    assert "inventory has no host" in _unanswered("r2", PlaybookResult(reached={"r1"}))
    assert "without a reading" in _unanswered("r2", PlaybookResult(reached={"r1", "r2"}))
    failed = PlaybookResult(ok=False, failures={"r1": Failure("r1", "it does not answer", unreachable=True)})
    assert _unanswered("r2", failed) == "the play was ended before this device answered: r1: it does not answer"
    late = PlaybookResult(ok=False, notes=["Ansible did not end in time"])
    assert _unanswered("r2", late).endswith("Ansible did not end in time")


@pytest.mark.parametrize(
    "words",
    [
        'Task failed: Data could not be sent to remote host "192.0.2.1". Make sure this host can be reached over ssh: ssh: '
        "connect to host 192.0.2.1 port 22: Connection timed out",
        "Failed to connect to the host via ssh: ssh: connect to host 192.0.2.1 port 22: Connection timed out",
    ],
)
def test_a_router_that_cannot_be_reached_is_said_in_sshs_words(words: str) -> None:
    result = PlaybookResult()
    _note({"event": "runner_on_unreachable", "event_data": {"host": "r1", "res": {"msg": words}}}, result, None)
    failure = result.failures["r1"]
    assert failure.unreachable
    assert failure.message == (
        "it cannot be reached over ssh: connect to host 192.0.2.1 port 22: Connection timed out"
    )


def test_a_collection_that_is_not_installed_is_named_with_what_brings_it() -> None:
    result = PlaybookResult()
    words = "Task failed: the connection plugin 'ansible.netcommon.network_cli' was not found"
    _note({"event": "runner_on_failed", "event_data": {"host": "r1", "res": {"msg": words}}}, result, None)
    assert result.failures["r1"].message == (
        f"{words}; it comes with the collection ansible.netcommon: pip install 'ansible<13', beside Slotcar"
    )


def test_the_bundle_that_is_named_is_the_one_that_is_pinned() -> None:
    """Of ansible-core's release that Slotcar needs: the next bundle would put another one in its place."""
    pinned = (ROOT / "requirements" / "collections.txt").read_text(encoding="utf-8")
    match = re.search(r"^ansible==(\d+)", pinned, re.MULTILINE)
    assert match is not None
    assert f"ansible<{int(match[1]) + 1}" == BUNDLE
    assert f"pip install '{BUNDLE}'" in (ROOT / "docs" / "howto" / "deploy.md").read_text(encoding="utf-8")


def test_a_device_is_reached_when_a_task_begins_for_it() -> None:
    result = PlaybookResult()
    _note({"event": "runner_on_start", "event_data": {"host": "r1"}}, result, None)
    _note({"event": "playbook_on_task_start", "event_data": {"name": "read"}}, result, None)
    assert result.reached == {"r1"}
