"""A1's vector as it is written, in JSON and YAML, and what is wrong with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_client.vectors import InvalidVector, Option, Vector, read

VIDEO = {
    "sort": 200, "coptions": ["MBP", "RJ"], "max_alloc": 8, "max_data_t": 1400, "max_data_outrate": "4 Mbit/s",
    "max_data_outburst": "14 kB", "max_latency": "20 ms", "max_jitter": 5000,
}  # fmt: skip


def test_a_vector_has_the_reference_s_fields_in_its_order() -> None:
    assert Vector.__match_args__ == (
        "sort", "coptions", "max_alloc", "max_data_r", "max_data_t", "max_data_inrate", "max_data_inburst",
        "max_data_outrate", "max_data_outburst", "max_latency", "max_jitter",
    )  # fmt: skip
    assert [(one.name, one.value) for one in Option] == [
        ("DATA_CHECK", 1), ("RETRAN", 2), ("MBP", 4), ("RJ", 8), ("FASTCLOSE", 16), ("UNI", 32)
    ]  # fmt: skip


def test_texts_say_their_units() -> None:
    vector = Vector.from_mapping(VIDEO)
    assert vector.coptions == Option.MBP | Option.RJ
    assert (vector.max_data_outrate, vector.max_data_outburst) == (500_000, 14_000)
    assert (vector.max_latency, vector.max_jitter) == (20_000, 5_000)
    assert Vector.from_mapping({"max_data_t": "0.3 KiB", "max_data_outrate": "1 bit/s"}).max_data_outrate == 1
    assert Vector.from_mapping({"max_data_t": "0.3 KiB"}).max_data_t == 308


@pytest.mark.parametrize("suffix", ["json", "yml"])
def test_a_file_is_json_or_yaml(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"video.{suffix}"
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in VIDEO.items())
    file.write_text(json.dumps(VIDEO) if suffix == "json" else lines)
    assert read(file) == Vector.from_mapping(VIDEO)


def test_without_pyyaml_a_yaml_file_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "video.yml").write_text("max_data_t: 1400\n")
    with pytest.raises(InvalidVector, match=r"install slotcar-client\[yaml\]"):
        read(tmp_path / "video.yml")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "is not JSON"),
        ("a.json", "[1]", "has no fields"),
        ("a.json", "[" * 100_000, "is not JSON"),
        ("a.yml", "{", "is not YAML"),
        ("a.yml", "", "has no fields"),
    ],
)
def test_a_file_that_is_no_vector_is_refused(name: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidVector, match=words):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"max_alloc_t": 9}, "max_alloc_t: the struct of the reference calls it max_data_t; say that"),
        ({"rate": 9}, "rate: a vector has no such field; they are sort, coptions"),
        ({"sort": 256}, "sort: is 0 to 255 (got 256)"),
        ({"sort": "high"}, "sort: is a whole number (got 'high')"),
        ({"sort": True}, "sort: is a whole number (got 'True')"),
        ({"max_alloc": 0}, "max_alloc: is 1 to 65535 (got 0)"),
        ({"max_data_t": -1}, "max_data_t: is 0 to 65000 (got -1)"),
        ({"max_data_t": "9 Mbit/s"}, "max_data_t: is a whole number, or a text with one of the units B, kB"),
        ({"max_data_outrate": 2**32}, "max_data_outrate: is 0 to 4294967295 (got 4294967296)"),
        ({"max_data_outrate": "4 MB"}, "max_data_outrate: is a whole number, or a text with one of the units B/s"),
        (
            {"max_latency": 1.5},
            "max_latency: is a whole number, or a text with one of the units us, ms, s (got '1.5')",
        ),
        ({"coptions": ["FAST"]}, "coptions: there is no option 'FAST'; they are DATA_CHECK, RETRAN"),
        ({"coptions": 64}, "coptions: the bits are those of DATA_CHECK"),
        ({"coptions": "MBP"}, "coptions: is a list of DATA_CHECK"),
        ({"max_data_t": 0}, "max_data_t: it and max_data_r are 0"),
        ({"max_data_r": 9, "coptions": ["UNI"]}, "coptions: UNI is data one way"),
        ({"max_data_inrate": 9}, "max_data_inrate: there are no messages that way, as max_data_r is 0"),
        ({"max_data_outburst": 1400}, "max_data_outburst: a burst goes with a rate, and max_data_outrate is 0"),
        ({"max_data_outrate": 9, "max_data_outburst": 9}, "max_data_outburst: is smaller than a single message"),
        ({"max_latency": 9}, "max_latency: a time is promised to a rate only"),
    ],
)
def test_a_mistake_is_a_sentence_that_begins_with_its_field(document: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidVector) as refused:
        Vector.from_mapping({"max_data_t": 1400, **document})
    assert [one for one in refused.value.mistakes if one.startswith(sentence)], refused.value


def test_all_mistakes_are_stated_at_once() -> None:
    with pytest.raises(InvalidVector) as refused:
        Vector.from_mapping({"sort": 999, "max_jitter": "soon", "colour": 1, "max_data_t": 1})
    assert [one.partition(":")[0] for one in refused.value.mistakes] == ["max_jitter", "colour", "sort"]


@given(
    st.integers(0, 255), st.integers(0, 31), st.integers(1, 65_535), st.integers(1, 65_000), st.integers(1, 2**32 - 1)
)
def test_a_document_is_read_back(sort: int, bits: int, alloc: int, size: int, rate: int) -> None:
    vector = Vector(sort, Option(bits), alloc, size, size, rate, 0, rate, 2**32 - 1, 1, 2)
    assert Vector.from_mapping(json.loads(json.dumps(vector.document()))) == vector
