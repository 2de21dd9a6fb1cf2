"""Who asks for a file in the time of gathering is of one session."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from slotcar_transfer.errors import TransferError
from slotcar_transfer.gathering import Gathering
from slotcar_transfer.identity import Identity, Peer
from slotcar_transfer.spreading import Options
from tests.support.patience import PATIENCE_S, wait_for


def test_all_who_ask_meanwhile_are_of_one_session_and_are_told_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closing = Event()
    gathering = Gathering(Identity(tmp_path), Options("239.1.2.3", 1044), PATIENCE_S, closing)
    peers = [Peer(name, "", 0, "", "") for name in ("near", "lossy")]
    with ThreadPoolExecutor(2) as threads, caplog.at_level("INFO", "slotcar_transfer"):
        answers = [threads.submit(gathering.ask, tmp_path / "raw", peer, None) for peer in peers]
        wait_for(lambda: sum(len(one.peers) for one in gathering._sessions.values()) == 2, "both to have asked")
        assert len(gathering._sessions) == 1
        closing.set()
        errors = [each.exception() for each in answers]
    assert isinstance(errors[0], TransferError)
    assert errors[0] is errors[1]
    assert sum(f"multicast: {tmp_path / 'raw'} for" in text for text in caplog.messages) == 1
