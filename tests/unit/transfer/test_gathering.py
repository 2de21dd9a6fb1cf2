"""Who asks for a file in the time of gathering is of one session."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slotcar_transfer.errors import TransferError
from slotcar_transfer.gathering import Gathering
from slotcar_transfer.identity import Identity, Peer
from slotcar_transfer.spreading import Options
from tests.support.patience import PATIENCE_S, wait_for

PEERS = [Peer(name, "", 0, "", "") for name in ("near", "lossy")]


def test_all_who_ask_meanwhile_are_of_one_session_and_are_told_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gathering = Gathering(Identity(tmp_path), Options("239.1.2.3", 1044), PATIENCE_S)
    with ThreadPoolExecutor(2) as threads, caplog.at_level("INFO", "slotcar_transfer"):
        answers = [threads.submit(gathering.ask, tmp_path / "raw", peer, None) for peer in PEERS]
        wait_for(lambda: sum(len(one.peers) for one in gathering._sessions.values()) == 2, "both to have asked")
        assert len(gathering._sessions) == 1
        gathering.close()
        errors = [each.exception() for each in answers]
    assert isinstance(errors[0], TransferError)
    assert errors[0] is errors[1]
    assert sum(f"multicast: {tmp_path / 'raw'} for" in text for text in caplog.messages) == 1


def test_a_session_begins_as_soon_as_so_many_have_asked_as_are_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its time would come after a day. There is no such file, so nothing is sent."""
    gathering = Gathering(Identity(tmp_path), Options("239.1.2.3", 1044), 86_400, len(PEERS))
    with ThreadPoolExecutor(2) as threads, caplog.at_level("INFO", "slotcar_transfer"):
        answers = [threads.submit(gathering.ask, tmp_path / "raw", peer, None) for peer in PEERS]
        errors = [each.exception(PATIENCE_S) for each in answers]
    assert isinstance(errors[0], TransferError)
    assert errors[0] is errors[1]
    begun = [text for text in caplog.messages if f"multicast: {tmp_path / 'raw'} for" in text]
    assert len(begun) == 1
    assert all(peer.name in begun[0] for peer in PEERS)
