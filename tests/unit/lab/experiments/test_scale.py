"""Rates of files and figures by one factor, and what stays as it is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from slotcar_lab.experiments.__main__ import main
from slotcar_lab.experiments.catalogue import NAMES, find
from slotcar_lab.experiments.scale import AS_WRITTEN, REPORT, TESTS, Scale, part_of

QUARTER, EIGHTH = Fraction(1, 4), Fraction(1, 8)
HALVED = Scale(EIGHTH, QUARTER)
FILE = """\
emerge_second_pipe: 10.5 Mbit/s  # a quarter of 42 Mb/s
slotcar_sls:
  premium: {rate: 625 kbit/s, burst: 62.5 kB}
slotcar_burst_floor: 2 kB
  - {name: mix, rate: 1 Gbit/s, rtt: 5 ms, packet_size: 1428 B}
    rate: 1 kbit/s  # not scaled
"""


def test_rates_and_bursts_of_a_file_are_scaled_and_nothing_else() -> None:
    assert HALVED.text(FILE) == FILE.replace("10.5 Mbit/s", "5250000 bit/s").replace(
        "625 kbit/s", "312500 bit/s"
    ).replace("62.5 kB", "31250 B").replace("1 Gbit/s", "500000000 bit/s")


def test_figures_are_told_as_the_experiment_is_written() -> None:
    assert HALVED.lab(6_100_000) == 3_050_000
    assert HALVED.own(3_050_000) == 6_100_000
    assert HALVED.own_ms(7.0) == 3.5, "a frame takes twice as long on a link of half the rate"
    assert HALVED.own_ms(None) is None
    assert str(HALVED).startswith("Measured at 1/8 of the paper's rates; figures in Mb/s and kB")
    assert str(Scale(QUARTER, QUARTER)) == "Measured at 1/4 of the paper's rates."


def test_what_is_run_as_it_is_written_is_not_changed() -> None:
    assert AS_WRITTEN.lab(1_234_567) == 1_234_567
    assert AS_WRITTEN.own(1_234_567) == 1_234_567


@pytest.mark.parametrize("part", [TESTS, REPORT, Fraction(1)])
def test_an_experiment_runs_at_no_less_than_what_shows_something(part: Fraction) -> None:
    for experiment in map(find, NAMES):
        scale = experiment.scale_at(part)
        assert scale.written == experiment.written
        assert scale.part == (max(part, experiment.least) if experiment.scaled else experiment.written), (
            experiment.name
        )


@pytest.mark.parametrize("text", ["0", "-1/8", "2", "1/0", "an eighth"])
def test_what_is_no_part_of_the_papers_rates_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text} is not a number above 0 and at most 1, such as 1/8$"):
        part_of(text)


def test_a_part_is_read_as_people_write_it() -> None:
    assert [part_of(text) for text in ("1/8", "0.125", "1")] == [EIGHTH, EIGHTH, Fraction(1)]


def test_a_command_with_a_wrong_part_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["emerge-1", "--scale", "an eighth"])
    words = capsys.readouterr().err
    assert "--scale: an eighth is not a number above 0 and at most 1, such as 1/8" in words


@pytest.mark.parametrize("short", ["--smo", "--re"])
def test_an_abbreviated_option_is_refused(short: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The report keeps the command, and what is shortened is known in it by the option's name."""
    with pytest.raises(SystemExit) as refused:
        main([short, "no-such-experiment"])
    assert refused.value.code == 2
    assert f"unrecognized arguments: {short}" in capsys.readouterr().err
