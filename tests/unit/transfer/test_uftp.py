"""What uftp is started with, and what its status file says, as uftp 4.10.2 wrote it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from slotcar_transfer.errors import TransferError
from slotcar_transfer.places import GROUP_PORT, group_of
from slotcar_transfer.uftp import Outcome, Session, not_there, number_of, number_text, outcomes

NEAR, LOSSY, AWAY = 0x0A4D0002, 0x0A4D0004, 0x0A4D0009
STATUS = """\
CONNECT;success;0x0A4D0002
CONNECT;success;0x0A4D0004
CONNECT;failed;0x0A4D0009
RESULT;0x0A4D0002;big.bin;19531KB;copy;3603.89KB/s
RESULT;0x0A4D0004;big.bin;19531KB;aborted;
RESULT;0x0A4D0009;big.bin;19531KB;mute;
HSTATS;target;copy;overwrite;skip;totalMB;time;speedKB/s
STATS;0x0A4D0002;1;0;0;19MB;5.419;3603.89KB/s
RESULT;0x0A4D0002;small.bin;2929KB;co"""


def session(restart: Path | None = None) -> Session:
    return Session([Path("/data/raw")], [NEAR, LOSSY], "239.1.2.3", 1044, 5005, 20_000_999, 15, 46, restart=restart)


def test_one_group_has_announcements_and_blocks() -> None:
    words = session().arguments(Path("status"))
    options = dict(pairwise(words))
    assert (options["-M"], options["-P"], options["-p"], options["-u"], options["-Q"]) == (
        "239.1.2.3",
        "239.1.2.3",
        "1044",
        "5005",
        "46",
    )
    assert (options["-R"], options["-N"], options["-m"]) == ("20000", "15", "1")
    assert words[-3:] == ["-H", "0x0A4D0002,0x0A4D0004", "/data/raw"]


def test_gone_on_with_files_and_receivers_are_those_of_the_restart_file() -> None:
    """Then a receiver's first reports are of what it has not yet."""
    words = session(Path("/state/_group_1_restart")).arguments(Path("status"))
    assert words[-2:] == ["-F", "/state/_group_1_restart"]
    assert "-H" not in words
    assert words[words.index("-m") + 1] == "10"


def test_a_status_is_read_as_far_as_it_was_written() -> None:
    assert list(outcomes(STATUS)) == [
        Outcome(NEAR, "big.bin", "copy"), Outcome(LOSSY, "big.bin", "aborted"), Outcome(AWAY, "big.bin", "mute"),
    ]  # fmt: skip
    assert [one.is_in_place for one in outcomes(STATUS)] == [True, False, False]
    assert not_there(STATUS) == (AWAY,)


def test_a_receiver_is_known_by_its_address() -> None:
    assert number_text(number_of("10.77.0.2")) == "0x0A4D0002"


@pytest.mark.parametrize("text", ["10.0.0.1", "infn-se", "239.1.2.3:0", "[ff15::7]:1044"])
def test_what_is_no_group_is_refused(text: str) -> None:
    with pytest.raises(TransferError):
        group_of(text)
    assert group_of("239.1.2.3") == ("239.1.2.3", GROUP_PORT)
