"""What devices counted, as the controller's readings ask it: pushed to, read and understood, without a ledger."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from slotcar.base.settings import load_settings
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.book.model import Entry
from slotcar.book.timeline import active_at
from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.planning.offline import entries_of
from slotcar.platforms.counting import Counts, FlowPlace, counting_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.intent.model import QosIntent
from slotcar.rollout.beside import Answered
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.wanted import wanted_for
from slotcar.wiring import pusher_for
from tests.support.requests import reservation


class Questions:
    """Asks devices for their counters beside their configuration, and keeps what they last answered."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.answered: Mapping[str, Answered] = {}

    def commands(self, device: Device) -> Sequence[str]:
        counting = counting_of(device)
        return counting.commands(device) if counting and self._network.is_configured(device) else ()

    def take(self, answered: Mapping[str, Answered], asked_at: datetime, at: datetime) -> None:
        self.answered = answered


class Counted:
    """A world whose routers are reached by what `variables` says of each; the others of the inventory are left alone."""

    def __init__(self, inventory: Path, folder: Path, variables: Mapping[str, Mapping[str, Any]]) -> None:
        shutil.copytree(inventory, folder / "inventory")
        (folder / "inventory" / "host_vars").mkdir()
        for name, own in variables.items():
            (folder / "inventory" / "host_vars" / f"{name}.yml").write_text(yaml.safe_dump(dict(own)))
        self.names = sorted(variables)
        self.network = load_network(folder / "inventory")
        self.questions = Questions(self.network)
        settings = load_settings(inventory=folder / "inventory", state_dir=folder / "state", adopt_all=True)
        self.pusher: Pusher = pusher_for(self.network, settings, None, beside=self.questions)

    def entries(self, flows: Iterable[Mapping[str, Any]], now: datetime) -> tuple[Entry, ...]:
        window = Window(now - timedelta(hours=1), now + timedelta(hours=1))
        listed = [reservation(rate_bps=2_000_000, **flow).over((window,)) for flow in flows]
        return entries_of(listed, self.network, now)

    def push(self, entries: Sequence[Entry]) -> dict[str, QosIntent]:
        """What the routers were told, by name; what they have is asked first."""
        now = datetime.now(UTC)
        outlook = wanted_for(self.network)(active_at(entries, now), now)
        assert not outlook.unrenderable
        wanted = {name: outlook.wanted[name] for name in self.names}
        result = self.pusher.push(wanted, self.read(), now)
        assert not result.refused, result
        return {name: one for name, one in intents_at(active_at(entries, now), self.network).items() if name in wanted}

    def read(self) -> Any:
        readings = self.pusher.read(self.names)
        assert not readings.failures, readings.failures
        return readings.by_device

    def counts(self, name: str, intent: QosIntent) -> Counts:
        """Of what was last read.

        Raises:
            Unreadable: the router does not tell.
        """
        device, answered = self.network.devices[name], self.questions.answered[name]
        counting = counting_of(device)
        assert counting is not None
        return counting.counts(answered.outputs, device, intent, answered.configuration)


def flow_places(intent: QosIntent) -> dict[Service, FlowPlace]:
    """Where the flow of each service is policed; one of each."""
    return {one.service: FlowPlace(one.interface.name, one.number) for one in intent.flows}
