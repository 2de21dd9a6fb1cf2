"""Images of a medical database to two nodes: rows from times that are made up, and both ends on this machine."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from slotcar_lab.experiments import medical_images
from slotcar_lab.experiments.medical_images import BEST_EFFORT, PREMIUM, SMALL, VOLUME, Images, ends
from slotcar_lab.experiments.model import Verdict

PROMISED, DIFFERS = Verdict.AS_PROMISED, Verdict.DIFFERS


def took(premium: float, best_effort: float) -> dict[tuple[str, Images], float]:
    """Both cases by so many times their time at the reserved rate."""
    return {
        (how, images): part * images.reserved_s
        for how, part in ((PREMIUM, premium), (BEST_EFFORT, best_effort))
        for images in (SMALL, VOLUME)
    }


def test_images_that_come_at_the_reserved_rate_are_as_promised() -> None:
    rows = medical_images._rows(took(1.05, 3.0))
    assert [row.verdict for row in rows] == [PROMISED] * 2
    assert [row.ours for row in rows] == pytest.approx([105, 3 / 1.05])


def test_a_reservation_that_does_nothing_differs() -> None:
    assert [row.verdict for row in medical_images._rows(took(2.0, 2.1))] == [DIFFERS, DIFFERS]


def test_volumes_are_the_reference_s() -> None:
    """§8.1.2: 124 images of 140 kB, at a quarter, over two nodes; a three-dimensional image is 14 MB."""
    assert SMALL.octets * len(medical_images.NODES) * 4 == 124 * 140_000
    assert VOLUME.octets * 4 == 14_000_000


def test_the_receiver_says_how_much_came_and_when(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    before = time.time()
    receiving = threading.Thread(target=ends.receive, args=("127.0.0.1", port))
    receiving.start()
    for _ in range(100):
        try:
            ends.send("127.0.0.1", port, before, 200_001)
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    receiving.join()
    octets, last = capsys.readouterr().out.splitlines()[-1].split()
    assert (int(octets), float(last) >= before) == (200_001, True)
