"""The avatars of EMERGE 4 by the server: its rows from streams that are made up, and who hands what on."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
import yaml

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.errors import LabError
from slotcar_lab.experiments import added, emerge_4_legs
from slotcar_lab.experiments.emerge_4_legs import WAYS, Ran, ends
from slotcar_lab.experiments.figures import Phase
from slotcar_lab.experiments.model import Verdict

AS_THE_PAPER, PROMISED, DIFFERS = Verdict.AS_THE_PAPER, Verdict.AS_PROMISED, Verdict.DIFFERS
PHASES = [Phase(name, 10.0 * number, 10.0 * number + 10) for number, name in enumerate(("a", "c", "r", "u"))]


def ran(*delays_ms: float, lost: int = 0) -> Ran:
    """Both ways' delay in each phase, which every second message has a millisecond more of."""
    stream = []
    for phase, delay_ms in zip(PHASES, delays_ms, strict=True):
        for number in range(30):
            at_us, delay_us = phase.start_us + 300_000 * number, round(1_000 * (delay_ms + number % 2))
            is_lost = phase.name == "r" and number < lost
            stream.append(Delay(len(stream), at_us, None if is_lost else delay_us))
    return Ran(dict.fromkeys(WAYS, tuple(stream)), *PHASES)


def verdicts(one: Ran) -> list[Verdict]:
    return [row.verdict for row in emerge_4_legs._rows(one)]


def test_a_round_trip_is_both_ways_figure_together() -> None:
    one = ran(0.2, 60.0, 4.0, 3.0)
    assert one.round_trip_ms(one.alone, added.HIGH) == pytest.approx(2.4)
    assert one.added_ms(added.HIGH) == pytest.approx(2.0)
    assert one.worst_ms(one.reserved, added.HIGH_IPDV) == pytest.approx(1.0)
    assert verdicts(one) == [AS_THE_PAPER, PROMISED, PROMISED, PROMISED, PROMISED]


def test_a_reservation_that_does_nothing_differs() -> None:
    assert verdicts(ran(0.2, 60.0, 60.0, 3.0)) == [AS_THE_PAPER, DIFFERS, DIFFERS, PROMISED, PROMISED]
    assert verdicts(ran(0.2, 10.0, 4.0, 3.0, lost=1)) == [DIFFERS, PROMISED, PROMISED, PROMISED, DIFFERS]


def test_without_a_message_in_the_slot_there_are_no_rows() -> None:
    with pytest.raises(LabError, match="no message"):
        emerge_4_legs._rows(Ran(dict.fromkeys(WAYS, ()), *PHASES))


def test_each_leg_of_each_way_is_reserved() -> None:
    document = yaml.safe_load((Path(emerge_4_legs.__file__).parent / "reservations.yml").read_text())
    reserved = {(one["source"], one["destination"]) for one in document["reservations"]}
    legs = {(way.source, f"{emerge_4_legs.SERVER}:{way.port}") for way in WAYS}
    assert reserved == legs | {(emerge_4_legs.SERVER, f"{way.sink}:{way.port}") for way in WAYS}


def test_the_server_hands_each_message_on_as_it_came() -> None:
    """To the same port of the other client: here another address of this machine's loopback."""
    with ends.bound("127.0.0.3", 0) as taking, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        port = taking.getsockname()[1]
        threading.Thread(target=ends.server, args=("127.0.0.2", {port: "127.0.0.3"}), daemon=True).start()
        taking.settimeout(0.1)
        for _ in range(100):
            sending.sendto(ends.NUMBER.pack(7).ljust(36, b"\0"), ("127.0.0.2", port))
            try:
                message = taking.recv(ends.MOST_BYTES)
                break
            except TimeoutError:
                continue
        assert (ends.NUMBER.unpack_from(message)[0], len(message)) == (7, 36)
