"""A verb has the same answer at the desk and over HTTP, and holds that ran out end before those that mind them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.api.context import LOCAL, OPEN
from slotcar.base.settings import Settings
from slotcar.book.model import State
from slotcar.book.rules.verb_rules import rule_of
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Options, Requests
from slotcar.network.model import Network
from slotcar.reservation import from_mapping
from slotcar.store import Ledger
from slotcar_client import Slotcar
from slotcar_client.wire import verbs
from slotcar_client.wire.errors import SlotcarError
from slotcar_client.wire.verbs import VERBS, Verb
from tests.integration.api.conftest import GARNET, START, Serve, body

DEVICE = "anl-7507-1"
GROUP = {
    "name": "both", "owner": "hep", "start": START.isoformat(), "duration": "PT1H",
    "members": [{"name": "line", "network": {"source": "anl-premium", "destination": "lbnl-premium:5009",
                                             "protocol": "udp", "service": "ip-premium", "rate": "1 Mbit/s"}}],
}  # fmt: skip


def sample(verb: type[Verb[Any]], handle: str, group: str) -> Verb[Any]:
    """The verb with what it needs, where it can be done to no more than is there."""
    values: dict[str, Any] = {
        "handle": group if verb.family == "groups" else handle,
        "version": 1,
        "reservation": body("other"),
        "group": GROUP,
        "together": [GROUP],
        "plan": {},
        "by": "10 min",
        "remaining": "1 GB",
        "source_port": 4000,
        "rate": "1 Mbit/s",
        "device": DEVICE,
        "url": "http://127.0.0.1:9/",
        "webhook": "wh-1",
        "at": START.isoformat(),
        "instant": START.isoformat(),
    }
    listed = [field.name for field in verb.fields if field.name in values]
    optional = {"reservation", "device", "by"} if verb.family == "views" else set()
    return verb(**{name: values[name] for name in listed if name not in optional})


@pytest.fixture
def desk(ledger: Ledger, network: Network, tmp_path: Path) -> Desk:
    return Desk(ledger, network, Settings(state_dir=tmp_path, inventory=GARNET, open=True))


READING = [
    verbs.Status, verbs.List, verbs.Group, verbs.GroupList, verbs.Addable, verbs.Enquire, verbs.Whoami, verbs.Endpoints,
    verbs.Services, verbs.Limits, verbs.Timeline, verbs.Configurations, verbs.Network, verbs.Boundaries, verbs.Boundary,
    verbs.DeviceStates, verbs.Revisions, verbs.Usage, verbs.Holds, verbs.WebhookList,
]  # fmt: skip


@pytest.mark.parametrize("verb", READING, ids=[verb.operation for verb in READING])
def test_the_desk_answers_as_the_controller_does_over_http(verb: type[Verb[Any]], desk: Desk, serve: Serve) -> None:
    with Slotcar(str(serve().base_url)) as slotcar:
        handle = slotcar.create(body())["handle"]
        group = slotcar.group_create(GROUP)["handle"]
        sent = sample(verb, handle, group)
        assert desk.send(sent, replace(LOCAL, proof=OPEN)) == slotcar.send(sent)


#: What connects through other domains needs a peer, and has tests of its own.
ALONE = ("reservations", "groups", "offers", "views", "webhooks", "devices")
MINDING = [verb for verb in VERBS.values() if verb.family in ALONE and verb is not verbs.Difference]


@pytest.mark.parametrize("verb", MINDING, ids=[verb.operation for verb in MINDING])
def test_a_hold_that_ran_out_ends_before_a_verb_that_minds_it(verb: type[Verb[Any]], desk: Desk) -> None:
    desk, before = desk, desk.clocks.now() - timedelta(hours=1)
    options = Options(timedelta(hours=2)) if verb is verbs.Extend else Options()
    entry = Requests(desk).create(from_mapping(body("there"), before), LOCAL, before, options)
    group = desk.send(verbs.GroupCreate(GROUP), LOCAL)["handle"]
    held = Requests(desk).create(
        from_mapping(body("held", destination="lbnl-premium:5002"), before),
        LOCAL,
        before,
        Options(timedelta(minutes=1)),
    )
    with suppress(SlotcarError):
        desk.send(sample(verb, entry.handle, group), LOCAL)
    after = desk.ledger.get(held.handle)
    assert after is not None
    assert (after.state is State.TIMED_OUT) == rule_of(verb).minds_holds
