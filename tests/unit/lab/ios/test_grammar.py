"""The tables of what a router takes: the goldens of the renderers pass, and what is wrong is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar_lab.ios.grammar import PLATFORMS, check, load, refused

GOLDENS = sorted(
    path
    for platform in PLATFORMS
    for path in (Path(__file__).parents[3] / "golden" / "render").glob(f"{platform}-*/*")
    if path.suffix in (".change", ".undo", ".configuration")
)
#: DataGRID D7.3 §8.2 and §8.3, without the comments of the print.
D73_6500 = """\
class-map match-all B1high
 match access-group 151
class-map match-all B2high
 match access-group 150
policy-map Bbandwidth
 class B2high
  police 300000000 2500000 2500000 conform-action set-prec-transmit 2 exceed-action drop
 class B1high
  police 50000000 2500000 2500000 conform-action set-prec-transmit 1 exceed-action drop
access-list 150 permit tcp host 131.154.100.3 host 131.154.100.2 eq 50150
access-list 151 permit tcp host 131.154.100.3 host 131.154.100.2 eq 50151
interface GigabitEthernet3/16
 wrr-queue bandwidth 91 9
 wrr-queue queue-limit 80 10
 wrr-queue random-detect min-threshold 2 50 100
 wrr-queue random-detect max-threshold 2 100 100
 wrr-queue cos-map 1 1 0 4 5 6 7
 wrr-queue cos-map 1 2 3
 wrr-queue cos-map 2 1 1
 wrr-queue cos-map 2 2 2
interface GigabitEthernet4/6
 wrr-queue threshold 1 100 100
 wrr-queue threshold 2 50 100
"""
D73_GSR = """\
class-map match-all prec1
 match ip precedence 1
class-map match-all dscp7
 match ip dscp 7
policy-map 5classes
 class prec1
  bandwidth percent 4
  random-detect
  random-detect precedence 1 2000 3000 1
 class class-default
  bandwidth percent 75
  random-detect
  random-detect precedence 0 500 1000 1
"""


def platform_of(path: Path) -> str:
    """The platform of a golden file, by the name of its case."""
    return next(platform for platform in PLATFORMS if path.parent.name.startswith(f"{platform}-"))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_rendered_line_is_in_its_platforms_table(path: Path) -> None:
    assert not check(platform_of(path), path.read_text())


def test_there_are_goldens_of_every_platform() -> None:
    assert {platform_of(path) for path in GOLDENS} == set(PLATFORMS)


@pytest.mark.parametrize(("platform", "text"), [("cisco-cat6500", D73_6500), ("cisco-gsr", D73_GSR)])
def test_the_lines_that_the_references_print_are_in_the_tables(platform: str, text: str) -> None:
    assert not check(platform, text)


@pytest.mark.parametrize(
    ("platform", "text", "column"),
    [
        (
            "cisco-car",
            "interface ATM1/0/0\n rate-limit input 8001 1500 1500 conform-action drop exceed-action drop",
            19,
        ),
        ("cisco-car", "interface ATM1/0/0\n rate-limit input 8000 1500", 28),
        ("cisco-car", "interface ATM1/0/0\n rate-lim input 8000 1500 1500 conform-action drop exceed-action drop", 2),
        ("cisco-car", "interface ATM1/0/0\n fair-queue tos 4 weight 10", 17),
        ("cisco-car", "class-map match-any A", 1),
        ("cisco-car", "access-list 2602 permit udp host 10.0.0.1 host 10.0.0.256", 48),
        ("cisco-car", f"access-list 2602 remark {'r' * 101}", 25),
        ("cisco-car", "hostname mine", 1),
        ("cisco-mqc", "policy-map P\n class C\n  police cir 7999 bc 1500 conform-action drop exceed-action drop", 14),
        ("cisco-mqc", "policy-map P\n class C\n  shape average 100000 100 x y z", 24),
        ("cisco-gsr", "cos-queue-group G\n queue 7 10", 8),
        ("cisco-gsr", "cos-queue-group G\n queue low-latency alternate-priority", 38),
        ("cisco-cat6500", "interface GigabitEthernet1/1\n wrr-queue bandwidth 91 256", 25),
    ],
)
def test_a_line_that_no_router_would_take_is_told_with_its_column(platform: str, text: str, column: int) -> None:
    (problem,) = check(platform, text)
    assert (problem.number, problem.column) == (len(text.splitlines()), column)
    assert str(problem).startswith(f"line {problem.number}, column {column}: ")


def test_a_burst_must_fit_the_rate() -> None:
    line = "rate-limit input 64000000 31999 31999 conform-action transmit exceed-action drop"
    assert refused("cisco-car", ("interface", "global"), [line]) == [line]
    assert not refused("cisco-car", ("interface", "global"), [line.replace("31999", "32000")])


def test_an_operators_line_is_no_line_of_slotcars() -> None:
    text = (
        "interface ATM1/0/0\n ip address 10.0.0.1 255.255.255.0\nrouter ospf 1\n network 10.0.0.0 0.0.0.255 area 0\n"
    )
    assert len(check("cisco-mqc", text)) == 3
    assert not check("cisco-mqc", text, operators=True)


def test_an_exit_leaves_the_section() -> None:
    text = "interface ATM1/0/0\n exit\n fair-queue tos\n"
    assert [problem.number for problem in check("cisco-car", text)] == [3]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_entry_stands_in_a_mode_and_every_line_of_slotcars_names_its_command(platform: str) -> None:
    grammar = load(platform)
    rules = [entry.rule for entries in grammar.entries.values() for entry in entries]
    assert {rule.mode for rule in rules} | {rule.enters for rule in rules if rule.enters} <= set(grammar.modes)
    assert not [rule.line for rule in rules if not rule.kept and not rule.source]


def test_an_unknown_platform_is_told() -> None:
    with pytest.raises(ValueError, match="no grammar for 'cisco-nx': there are cisco-car"):
        check("cisco-nx", "")
