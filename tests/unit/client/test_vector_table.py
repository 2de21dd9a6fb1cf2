"""docs/howto/vector.md: what each field of a vector became, line by line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from slotcar_client.vectors import Option, Transport, Vector
from slotcar_client.vectors.table import became

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "howto" / "vector.md").read_text()
EXAMPLE = Vector.from_mapping(json.loads(re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)[0]))
ON_UDP = became(EXAMPLE)
ON_TCP = became(replace(EXAMPLE, coptions=EXAMPLE.coptions & ~Option.RJ | Option.RETRAN), Transport.TCP)


def rows(after: str) -> dict[str, str]:
    """Of the first table behind some words."""
    table = re.search(r"\|---\|---\|\n((?:\|.*\n)+)", TEXT.partition(after)[2])
    assert table is not None
    return dict(re.findall(r"^\| `(.+?)` \| (.+?) \|$", table[1], re.MULTILINE))


@pytest.mark.parametrize("field", ON_UDP)
def test_a_line_of_the_table_is_what_the_field_became(field: str) -> None:
    assert rows("it is\n")[field] == ON_UDP[field]


@pytest.mark.parametrize("field", [field for field in ON_TCP if ON_TCP[field] != ON_UDP[field]])
def test_a_line_of_the_table_of_tcp_is_what_the_field_became(field: str) -> None:
    assert rows("on TCP, what differs is")[field] == ON_TCP[field]


def test_the_tables_have_no_other_lines() -> None:
    assert list(rows("it is\n")) == list(ON_UDP)
    assert rows("on TCP, what differs is").items() <= ON_TCP.items()


def test_what_is_not_asked_for_is_said_too() -> None:
    plain = became(Vector(coptions=Option.RETRAN, max_data_t=9))
    assert plain["max_data_r"] == "nothing goes that way"
    assert plain["max_data_outrate"] == plain["max_data_inrate"] == "no rate is asked for"
    assert plain["max_data_outburst"] == "left to the network"
    assert plain["max_latency"] == "no bound is asked for"
    assert plain["coptions: MBP"] == "bytes without boundaries"
    assert plain["coptions: FASTCLOSE"] == "each end closes by itself"
    assert (
        became(Vector(coptions=Option.RETRAN | Option.MBP, max_data_t=9))["coptions: MBP"]
        == "SCTP keeps messages apart"
    )
    assert became(Vector(max_data_t=9))["coptions: DATA_CHECK"] == "SO_NO_CHECK 1: UDP without checksum"
