"""What is rendered means what DataGRID printed (D7.3 §8.2, "Policing and WRR: configuration syntax and examples").

Rate: the hardware's next multiple, where the printed one would have been programmed as some multiple too. Mark: premium's
code point, where D7.3 told its two classes apart by precedence. Everything else is equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from slotcar.platforms.cisco_cat6500.limits import grain_bps

#: D7.3 §8.2: class-maps and policy-map with their long lines joined, then the lists.
PRINTED = """\
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
"""
#: D7.3 §8.2, GigabitEthernet3/16: 1p2q2t, because 80 and twice 10 are the whole.
PRINTED_PORT = """\
wrr-queue bandwidth 91 9
wrr-queue queue-limit 80 10
wrr-queue random-detect max-threshold 2 100 100
wrr-queue cos-map 1 1 0 4 5 6 7
wrr-queue cos-map 1 2 3
wrr-queue cos-map 2 1 1
wrr-queue cos-map 2 2 2
"""
GOLDEN = Path(__file__).parents[2] / "golden" / "render"


@dataclass(frozen=True, slots=True)
class Policed:
    """What happens to a flow: its packets, the policer, and what becomes of what conforms and what exceeds."""

    packets: str
    rate_bps: int
    bursts: tuple[int, int]
    conform: str
    exceed: str


def policed(text: str) -> dict[str, Policed]:
    """The policers of a configuration by the packets that they police, whatever the names of its objects."""
    lists: dict[str, str] = {}
    matches: dict[str, str] = {}
    policed: dict[str, Policed] = {}
    head = ""
    for line in (line.strip() for line in text.splitlines()):
        words = line.split()
        if words[0] in ("class-map", "class", "ip", "policy-map", "interface"):
            head = words[-1]
        elif words[0] == "access-list":
            lists[words[1]] = " ".join(words[2:])
        elif words[0] == "permit":
            lists[head] = line
        elif words[:2] == ["match", "access-group"]:
            matches[head] = words[-1]
    for name, police in re.findall(r"class (\S+)\n +police (.*)", text):
        rate, normal, most, _, *conform, _, exceed = police.split()
        packets = lists[matches[name]]
        policed[packets] = Policed(packets, int(rate), (int(normal), int(most)), " ".join(conform), exceed)
    return policed


def test_the_printed_policers_are_rendered() -> None:
    printed = policed(PRINTED)
    rendered = policed((GOLDEN / "cisco-cat6500-d73-policing" / "infn-lan.configuration").read_text(encoding="utf-8"))
    assert len(printed) == 2
    assert set(rendered) == set(printed)
    for packets, theirs in printed.items():
        ours = rendered[packets]
        assert theirs.rate_bps <= ours.rate_bps < theirs.rate_bps + grain_bps(ours.rate_bps)
        assert ours.bursts == theirs.bursts
        assert ours.exceed == theirs.exceed == "drop"
        assert theirs.conform.startswith("set-prec-transmit")
        assert ours.conform == "set-dscp-transmit 46"


def test_the_printed_port_has_the_lines_that_are_rendered() -> None:
    """The same commands with as many values each; the values are those of other shares."""

    def shapes(lines: list[str]) -> set[tuple[str, ...]]:
        return {tuple(re.sub(r"\d+", "N", word) for word in line.split()[:4]) for line in lines if line.strip()}

    configuration = (GOLDEN / "cisco-cat6500-standing" / "cern-lan.configuration").read_text(encoding="utf-8")
    port = configuration.split("interface GigabitEthernet1/1\n")[1].split("interface ")[0]
    assert shapes(PRINTED_PORT.splitlines()) <= shapes([line.strip() for line in port.splitlines()])
