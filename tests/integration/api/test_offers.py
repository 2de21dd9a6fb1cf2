"""Who asks, and what it may ask for."""

from __future__ import annotations

from datetime import timedelta

import httpx

from slotcar.base.vocabulary import RESERVED_SERVICES, Service
from slotcar.book.rules.endpoints import endpoint_owners
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.views.offers import endpoints_document, services_document
from tests.integration.api.conftest import As, Serve, created, problem


def test_a_token_is_told_whose_it_is_and_until_when(as_: As) -> None:
    hep = as_("cms", Role.REQUESTER, valid=timedelta(days=1)).get("/v1/whoami").json()
    assert (hep["name"], hep["role"], hep["owner"]) == ("cms", "requester", "hep")
    assert hep["expires_at"].endswith("Z")
    assert as_("ops", Role.OPERATOR).get("/v1/whoami").json()["expires_at"] is None


def test_without_a_token_an_open_api_says_that_it_is_an_operators(api: httpx.Client) -> None:
    assert api.get("/v1/whoami").json() == {
        "name": "local",
        "role": "operator",
        "owner": None,
        "expires_at": None,
        "proof": "none: the controller is open to its machine",
        "delegations": [],
        "scopes": [],
    }


def test_endpoints_are_those_of_the_inventory(api: httpx.Client, network: Network) -> None:
    document = api.get("/v1/endpoints").json()
    assert [one["name"] for one in document["hosts"]] == sorted(network.hosts)
    assert {"prefix": "10.20.11.0/24", "domain": "anl"} in document["networks"]


def test_endpoints_of_others_are_not_offered(network: Network) -> None:
    host = network.hosts["lbnl-competing"].model_copy(update={"owners": ("hep",)})
    owned = network.model_copy(update={"hosts": {**network.hosts, "lbnl-competing": host}})
    names = {
        owner: {one["name"] for one in endpoints_document(owned, endpoint_owners(owned), owner)["hosts"]}
        for owner in ("hep", "astro", None)
    }
    assert names["hep"] - names["astro"] == {"lbnl-competing"}
    assert names[None] == names["hep"]


def test_all_services_are_listed() -> None:
    items = {one["service"]: one for one in services_document()["items"]}
    assert set(items) == set(Service)
    assert {name for name, one in items.items() if one["reserved"]} == set(RESERVED_SERVICES)


def test_limits_say_what_is_in_use_of_the_quotas(serve: Serve) -> None:
    api = serve(owner_quotas={"hep": {"reservations": 3, "volume": "100 GB"}}, approval_rate_bps="20 Mbit/s")
    created(api)
    created(api, "held", hold="PT5M", destination="lbnl-premium:5009", rate="1 Mbit/s")
    document = api.get("/v1/limits", params={"owner": "hep"}).json()
    assert (document["owner"], document["approval_rate_bps"], document["hold_s"]) == ("hep", 20_000_000, 900)
    assert {one["what"]: (one["limit"], one["in_use"]) for one in document["quotas"]} == {
        "reservations": (3, 2), "windows": (None, 2), "holds": (None, 1), "volume": (800 * 10**9, 79_200_000_000),
    }  # fmt: skip


def test_a_requester_asks_for_its_own_limits_alone(as_: As) -> None:
    hep = as_("cms", Role.REQUESTER)
    assert hep.get("/v1/limits").json()["owner"] == "hep"
    problem(hep.get("/v1/limits", params={"owner": "astro"}), 403, "not-allowed")
