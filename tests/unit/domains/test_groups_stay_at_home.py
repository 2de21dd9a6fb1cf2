"""What is sent to a multicast group is reserved in one domain alone: others are told so, in words."""

from __future__ import annotations

import pytest

from slotcar.domains.way import NotThatWay, plain
from slotcar.network.path import find_paths
from slotcar.reservation.model import Endpoint
from tests.support.networks import line_network
from tests.support.requests import reservation


def test_a_tree_does_not_cross_domains_that_have_a_controller_each() -> None:
    network = line_network()
    to_many = reservation(destination=Endpoint(host="239.1.2.3"), receivers=("dst",))
    paths = find_paths(to_many, network)
    with pytest.raises(NotThatWay, match="what is sent to a multicast group cannot cross domains"):
        plain(to_many, paths)
