"""A vector's connection with a real controller: what is reserved, and when the network is asked again."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from slotcar_client import NoContext, Slotcar, connect
from slotcar_client.vectors import Connection, Listener, NotPossible, Option, Vector
from tests.support.patience import PATIENCE_S

#: A picture of 1,400 bytes 250 times a second.
VIDEO = Vector(
    coptions=Option.MBP | Option.UNI, max_alloc=8, max_data_t=1_400, max_data_outrate=350_000, max_data_outburst=14_000
)
WATCHED = replace(VIDEO, max_data_t=0, max_data_r=1_400, max_data_outrate=0, max_data_outburst=0)
ENDS: dict[str, Any] = {"source": "anl-premium", "destination": "lbnl-premium", "owner": "hep", "wait_s": 0}


@pytest.fixture
def requests(api: httpx.Client) -> list[httpx.Request]:
    """Those that `slotcar` sent."""
    return []


@pytest.fixture
def slotcar(api: httpx.Client, requests: list[httpx.Request]) -> Iterator[Slotcar]:
    with Slotcar(str(api.base_url), event_hooks={"request": [requests.append]}) as opened:
        yield opened


@pytest.fixture
def name() -> str:
    """Of this test's reservation."""
    return f"video-{uuid.uuid4().hex}"


@contextmanager
def connected(slotcar: Slotcar, name: str, vector: Vector = VIDEO, **options: Any) -> Iterator[Connection]:
    accepted: list[Connection] = []
    with Listener(WATCHED, ("127.0.0.1", 0)) as listener:
        waiting = threading.Thread(target=lambda: accepted.append(listener.accept(PATIENCE_S)))
        waiting.start()
        try:
            with connect(vector, listener.address, slotcar, name=name, **(ENDS | options)) as connection:
                yield connection
        finally:
            waiting.join()
            accepted[0].close()


def states(slotcar: Slotcar, name: str) -> list[str]:
    """Of this test's, the latest first."""
    return [one["state"] for one in slotcar.reservations(owner="hep", name=name, newest=True)]


def entry_of(slotcar: Slotcar, name: str) -> Any:
    (entry,) = slotcar.reservations(owner="hep", name=name, state=["committed"])
    return entry


def test_a_vector_is_reserved_for_the_ports_of_its_socket_and_given_back(name: str, slotcar: Slotcar) -> None:
    with connected(slotcar, name) as connection:
        own = entry_of(slotcar, name)["reservation"]
        assert own["source"] == {"host": "anl-premium", "port": connection.socket.getsockname()[1]}
        assert own["destination"] == {"host": "lbnl-premium", "port": connection.socket.getpeername()[1]}
        assert (own["protocol"], own["service"], own["packet_size_bytes"]) == ("udp", "ip-premium", 1_436)
        assert own["slots"][0]["forward_bps"] == 2_816_000
        assert own["slots"][0]["reverse_bps"] == 0
        connection.send(bytes(1_400))
    assert states(slotcar, name) == ["cancelled"]


def test_only_a_change_above_the_agreed_maximum_asks_the_network(
    name: str, slotcar: Slotcar, requests: list[httpx.Request], api: httpx.Client
) -> None:
    """Counted at the client, which sends nothing, and in the audit log, to which nothing comes."""
    with connected(slotcar, name) as connection:
        events = len(slotcar.events(limit=1000))
        agreed = len(requests)
        for rate in (175_000, 10_000, 350_000):
            assert not connection.change(replace(VIDEO, max_data_outrate=rate, sort=200))
        assert len(requests) == agreed
        with Slotcar(str(api.base_url)) as other:
            assert len(other.events(limit=1000)) == events
            assert connection.change(replace(VIDEO, max_data_outrate=700_000))
            assert len(requests) > agreed
            assert entry_of(other, name)["reservation"]["slots"][-1]["forward_bps"] == 5_632_000
        assert (connection.counts.changes, connection.counts.asked_network) == (4, 1)


def test_a_longer_burst_is_another_reservation_of_the_same_name(name: str, slotcar: Slotcar) -> None:
    with connected(slotcar, name) as connection:
        assert connection.change(replace(VIDEO, max_data_outburst=28_000))
        own = entry_of(slotcar, name)["reservation"]
        assert own["rtt_us"] == 320_000
        assert own["source"]["port"] == connection.socket.getsockname()[1]
    assert "committed" not in states(slotcar, name)


def test_a_raise_without_room_is_refused_and_all_stays(name: str, slotcar: Slotcar) -> None:
    with connected(slotcar, name) as connection:
        with pytest.raises(NotPossible, match=r"the network does not give it: .*bit/s"):
            connection.change(replace(VIDEO, max_data_outrate=350_000_000))
        with pytest.raises(NotPossible, match="the network does not give it: "):
            connection.change(replace(VIDEO, max_data_outrate=350_000_000, max_data_outburst=28_000))
        entry = entry_of(slotcar, name)
        assert (entry["state"], connection.vector) == ("committed", VIDEO)
        assert entry["reservation"]["slots"][0]["forward_bps"] == 2_816_000
        connection.send(b"goes on")


def test_a_vector_that_the_network_refuses_is_a_sentence_and_no_socket(name: str, slotcar: Slotcar) -> None:
    with (
        pytest.raises(NotPossible, match="the network does not give it: "),
        connected(slotcar, name, replace(VIDEO, max_data_outrate=350_000_000)),
    ):
        pass
    assert states(slotcar, name) == []


def test_a_bound_that_the_inventory_cannot_keep_is_a_sentence(name: str, slotcar: Slotcar) -> None:
    """GARNET's links say no propagation, so that no delay over them is promised."""
    with pytest.raises(NotPossible, match="propagation"), connected(slotcar, name, replace(VIDEO, max_latency=20_000)):
        pass


def test_routers_that_do_not_come_to_have_it_are_a_sentence(name: str, slotcar: Slotcar) -> None:
    """Here no controller pushes: the slot never comes to be in place, whether it has begun by then or not."""
    with (
        pytest.raises(NotPossible, match=r"the routers do not have r-\S+ after 0.1 s; it is (?!in-place)"),
        connected(slotcar, name, wait_s=0.1),
    ):
        pass
    assert states(slotcar, name) == ["cancelled"]


def test_files_get_an_assured_rate_where_the_network_has_one(name: str, slotcar: Slotcar) -> None:
    """GARNET has no SLS for it: the sentence says so, and another service may be named."""
    files = replace(VIDEO, coptions=Option.RETRAN)
    with socket.create_server(("127.0.0.1", 0)) as plain:
        with pytest.raises(NotPossible, match="there is no SLS for assured-rate from anl into esnet"):
            connect(files, plain.getsockname(), slotcar, name=name, **ENDS)
        with connect(files, plain.getsockname(), slotcar, name=name, service="ip-premium", **ENDS):
            (entry,) = slotcar.reservations(name=name, state=["committed"])
            assert (entry["reservation"]["protocol"], entry["reservation"]["service"]) == ("tcp", "ip-premium")


def test_the_controller_is_that_of_the_environment_once_it_is_needed(
    name: str, api: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:
        vector = replace(VIDEO, coptions=Option.RETRAN)
        for variable in ("SLOTCAR_API", "SLOTCAR_TOKEN", "SLOTCAR_CONTEXT"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
        connect(replace(vector, max_data_outrate=0, max_data_outburst=0), plain.getsockname()).close()
        with pytest.raises(NoContext):
            connect(vector, plain.getsockname(), **ENDS)
        monkeypatch.setenv("SLOTCAR_API", str(api.base_url))
        connect(vector, plain.getsockname(), name=name, service="ip-premium", **ENDS).close()
    assert [one["state"] for one in api.get("/v1/reservations", params={"name": name}).json()["items"][-1:]] == [
        "cancelled"
    ]
