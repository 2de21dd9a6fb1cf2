"""Claims against the inventory: what they take, and what is said of those that make no sense."""

from __future__ import annotations

import pytest

from slotcar.admission.resources import UnknownClaimedResource, claimed
from slotcar.network.model import Device
from slotcar.reservation.model import Claim
from slotcar.views.explain import claim_words
from tests.support.networks import line_network

HOST = Device(name="dst", domain="omega", platform="linux-host", interfaces={}, resources={"cpu": {"": 4000}})
LINE = line_network()
NETWORK = LINE.model_copy(update={"devices": LINE.devices | {"dst": HOST}})


def claim(kind: str = "cpu", place: str = "dst", **request: object) -> Claim:
    return Claim(kind=kind, place=place, request=request)


def test_a_claim_takes_what_its_manager_says() -> None:
    (demand,) = claimed(claim(host="dst", percent="25 %"), NETWORK)
    assert (str(demand.resource), demand.peak) == ("cpu:dst", 1000)
    assert claim_words(claim(host="dst", cores=2.5)) == "2.5 cores of dst"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (claim("tape", host="dst"), "no resource manager for tape is installed: there are cpu, storage"),
        (claim(place="src", host="src", cores=1), "src has no cpu to reserve: there are dst"),
        (claim("storage", host="dst", device="vdb", read="1 MB/s"), "dst has no storage to reserve: there is none"),
        (claim(host="dst"), "what is claimed of dst is not a request that cpu takes"),
        (claim(host="src", cores=1), "what is claimed of dst is not a request that cpu takes"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused_in_words(wrong: Claim, words: str) -> None:
    """Also one that somebody wrote into a plan by hand."""
    with pytest.raises(UnknownClaimedResource) as refusal:
        claimed(wrong, NETWORK)
    assert str(refusal.value) == words
    assert claim_words(wrong)
