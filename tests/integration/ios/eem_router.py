"""A router in software with an event manager, and revisions for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slotcar.network import load_network
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration
from slotcar.rollout.archive import Archive, revision_id
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout import Order, Outcome, PushStep, fan_out, fan_out_push, job_of
from slotcar.rollout.ios import eem
from slotcar.rollout.ios.applets import PREFIX
from slotcar.rollout.model import DeviceRevision, Program, Revision
from slotcar.rollout.staging import commands
from slotcar_lab.ios import Router, Routers
from tests.golden.test_render import change_of
from tests.support.cisco import startup

RENDER = Path(__file__).parents[2] / "golden" / "render"


NAME = "north-edge"


SHOW = "show running-config"


OPERATORS = 'event manager applet OPERATORS\n event timer countdown time 86400\n action 1 cli command "show clock"\n'


class Managed:
    """A router with an event manager, and revisions for it."""

    def __init__(self, routers: Routers, folder: Path) -> None:
        device = load_network(RENDER / "inventories" / "cisco-mqc").devices[NAME]
        self.device = device.model_copy(update={"options": {**device.options, eem.EEM: True}})
        self.router: Router = routers.add(NAME, "cisco-mqc", startup(self.device) + OPERATORS)
        self.archive = Archive(folder / "state")
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_text(routers.known_hosts)
        self.base = change_of(RENDER / "cisco-mqc-standing", NAME)
        self.premium = change_of(RENDER / "cisco-mqc-premium", NAME)

    @property
    def variables(self) -> Mapping[str, Any]:
        return {
            "slotcar_platform": "cisco-mqc",
            "slotcar_options": {"eem": True},
            "slotcar_flash": "disk0:",
            "slotcar_known_hosts": str(self.known_hosts),
            "ansible_host": self.router.address,
            "ansible_port": self.router.port,
            "ansible_user": self.router.user,
            "ansible_password": self.router.password,
        }

    def revision(
        self,
        after: Configuration,
        *steps: tuple[datetime, Configuration],
        fence: int | None = None,
        good: bool = False,
    ) -> tuple[Order, Program]:
        """One that brings `after` from what the router has, and what it is to do by itself from then on.

        Args:
            good: the archive takes it for what was verified.
        """
        change = renderer_of(self.device).change(self.owned(), after, self.device)
        program = Program(tuple(at for at, _ in steps), tuple(later for _, later in steps), after.lines)
        part = DeviceRevision(self.device, change, program, tuple(commands(self.device)), self.armed())
        now = datetime.now(UTC)
        revision = Revision(revision_id(now, {NAME: part}), now, {NAME: part}, fence)
        folder = self.archive.write(revision)
        if good:
            self.archive.keep_as_good(revision)
        return Order(DeviceFolder(folder / NAME), unknown_ends=True), program  # as a controller takes back what failed

    def push(self, order: Order) -> Outcome:
        return fan_out_push([job_of(NAME, self.variables, order)])[NAME]

    def take(self, step: PushStep, order: Order, **more: Any) -> Outcome:
        return fan_out(step, [job_of(NAME, self.variables, replace(order, **more))])[NAME]

    def due(self) -> list[float | None]:
        """When each armed step is due, as the router's configuration says."""
        return [one.at for one in eem.Registered.of(self.router.running_text()).applets]

    def owned(self) -> Configuration:
        return renderer_of(self.device).running({SHOW: self.router.running_text()}, self.device)

    def armed(self) -> str:
        return eem.armed_id(self.router.running_text())

    def own_files(self) -> list[str]:
        return sorted(name for name in self.router.files() if name.startswith(PREFIX))


def later(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)
