"""What a user says of SciTags, and how it is refused."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from slotcar_transfer.cli import ExitCode, app
from slotcar_transfer.errors import TransferError
from slotcar_transfer.fireflies import SciTag, collector_of, scitag_of


def test_a_pair_of_numbers_is_read() -> None:
    assert scitag_of("2:11") == SciTag(2, 11)
    assert scitag_of("511:63") == SciTag(511, 63)
    assert SciTag(2, 11).header == "139"


@pytest.mark.parametrize("text", ["", "2", "atlas:data", "0:1", "2:0", "512:1", "1:64", "-1:1", "2:11:3"])
def test_what_is_no_pair_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(TransferError, match="say their numbers, such as 2:11"):
        scitag_of(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1", ("127.0.0.1", 10514)),
        ("localhost:99", ("localhost", 99)),
        ("[::1]:99", ("::1", 99)),
        ("::1", ("::1", 10514)),
    ],
)
def test_a_collector_is_read(text: str, place: tuple[str, int]) -> None:
    assert collector_of(text) == place


@pytest.mark.parametrize("text", ["", "a b", "127.0.0.1:0", "127.0.0.1:70000", "collector.invalid"])
def test_what_is_no_collector_is_refused(text: str) -> None:
    with pytest.raises(TransferError, match="--firefly-to"):
        collector_of(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--firefly-to", "127.0.0.1"], "--firefly-to needs --scitag"),
        (["--scitag", "2:11", "--via", "rclone"], "--scitag announces no connections of rclone"),
        (["--scitag", "x"], "say their numbers"),
    ],
)
def test_a_mistake_is_said_before_anything_is_moved(options: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["a", "lbnl:b", *options])
    assert result.exit_code == ExitCode.ERROR
    assert words in result.stderr
