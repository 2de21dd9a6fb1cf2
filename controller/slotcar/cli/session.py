"""What a command works on: settings, network, and the ledger where it needs one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from slotcar.base.problems import printable
from slotcar.base.timebase import SYSTEM
from slotcar.cli.answering import ask_state_folder
from slotcar.cli.output import complain, long_work_reported, progress, under_way

if TYPE_CHECKING:
    from slotcar.base.settings import Settings
    from slotcar.book.rules.roles import Caller
    from slotcar.desk.desk import Desk
    from slotcar.network.model import Network
    from slotcar.policy.site import Site
    from slotcar_client import Slotcar
    from slotcar_client.wire.actor import Actor
    from slotcar_client.wire.verbs import Verb

T = TypeVar("T")
#: Reservations among which a near name is looked for.
MOST_NAMES = 1_000
#: That of the inventory with which the ledger was opened.
_site: ContextVar[Site | None] = ContextVar("site", default=None)
HERE = "or use --context local for this machine's ledger"


def now() -> datetime:
    return SYSTEM.now()


def settings(**overrides: Any) -> Settings:
    from slotcar.base.settings import load_settings

    return load_settings(**overrides)


def network_of(chosen: Settings) -> Network:
    from slotcar.network import load_network

    progress(f"reading the inventory {chosen.need_inventory()}")
    with long_work_reported():
        return load_network(chosen.need_inventory(), chosen.vault_password_file, chosen.domain)


def actor() -> Actor:
    """Who is at the terminal, for the audit log: the account that the kernel says this process runs as.

    What `sudo` says of who asked for that is the word of an environment variable, which whoever may become that account may
    set: it goes along as a note, and is marked as one.
    """
    from slotcar.base.accounts import account_of
    from slotcar_client.wire.actor import Actor

    account, says = account_of(os.geteuid()), os.environ.get("SUDO_USER")
    note = f"; SUDO_USER says {printable(says)[:100]}, which nobody checked" if says else ""
    return Actor(account.caller_name, f"{account.proof}{note}")


def caller() -> Caller:
    """Whoever may open the ledger's database is an operator: the database is what is protected."""
    from slotcar.book.rules.roles import Role
    from slotcar.policy.site import site_of

    who = actor()
    return (_site.get() or site_of(settings().inventory)).caller(who, Role.OPERATOR, proof=who.proof)


class AnyDesk(Protocol):
    """Sends verbs, to a controller or to the desk of this machine."""

    def send(self, verb: Verb[T]) -> T: ...

    def items(self, verb: Verb[Any], limit: int, cursor: str = "after") -> list[Any]:
        """The first `limit` items of a list that goes on page by page; `cursor`: the field by which it goes on."""

    def handle_of(self, which: str) -> str:
        """The handle of a reservation that is named by it, or as OWNER/NAME."""


class NearDesk:
    """The desk over this machine's ledger; whoever is at the terminal asks it."""

    def __init__(self, opened: Desk) -> None:
        self.desk = opened

    def send(self, verb: Verb[T]) -> T:
        from slotcar_client.wire.errors import NotFound, problem_of

        try:
            return self.desk.send(verb, caller())
        except NotFound as problem:
            near = _near_unknown(self.desk, problem.__cause__)
            raise problem_of(404, {**problem.document, "detail": f"{problem.detail}{near}"}) from problem

    def items(self, verb: Verb[Any], limit: int, _cursor: str = "") -> list[Any]:
        """In one page, which may be as long as it likes."""
        sized: Any = verb
        items: list[Any] = self.send(replace(sized, limit=limit))["items"]
        return items

    def handle_of(self, which: str) -> str:
        from slotcar_client.wire.verbs import Status

        return self.send(Status(which))["handle"]


class FarDesk:
    """A controller, over HTTP."""

    def __init__(self, slotcar: Slotcar) -> None:
        self.slotcar = slotcar

    def send(self, verb: Verb[T]) -> T:
        with self._near_names(getattr(verb, "handle", "")):
            return self.slotcar.send(verb)

    def items(self, verb: Verb[Any], limit: int, cursor: str = "after") -> list[Any]:
        from slotcar_client.calls.requests import pages

        items: list[Any] = self.slotcar.perform(pages(verb, limit, cursor))
        return items

    def handle_of(self, which: str) -> str:
        from slotcar_client.calls.reservation_verbs import handle_of

        with self._near_names(which):
            return self.slotcar.perform(handle_of(which))

    @contextmanager
    def _near_names(self, which: str) -> Iterator[None]:
        """Where there is no reservation of that name, those that may be meant are named behind the error's words."""
        from slotcar_client.wire.errors import NotFound, problem_of

        try:
            yield
        except NotFound as problem:
            if not which or problem.kind != "unknown-reservation":
                raise
            words = f"{problem.detail}; {near(self, which)}"
            raise problem_of(404, {**problem.document, "detail": words}) from problem


@contextmanager
def sender(inventory: Path | None = None, *, network: bool = True) -> Iterator[AnyDesk]:
    """What verbs are sent with: a controller over HTTP where one is named (`SLOTCAR_API`, a context); else the controller
    that answers at this machine's socket, unless an inventory is named or the settings say otherwise (`SLOTCAR_LOCAL`);
    else the desk over this machine's ledger. `network`: whether the verbs ask anything of it; else no inventory is read
    here.

    Raises:
        Declined: the controller does not do it; or it is named, and so is an inventory.
    """
    from slotcar.cli.local_socket import answering_socket
    from slotcar.cli.place import Declined, chosen_place
    from slotcar.cli.remote import controller_at, remote

    place = chosen_place()
    if place is not None:
        if inventory is not None:
            raise Declined(f"the controller at {place.api} has an inventory of its own: leave --inventory out, {HERE}")
        with remote(None, None) as slotcar:
            yield FarDesk(slotcar)
    elif inventory is None and (path := answering_socket(settings())) is not None:
        with controller_at(path) as slotcar:
            yield FarDesk(slotcar)
    else:
        with desk(inventory, network=network) as opened:
            yield NearDesk(opened)


def require_local_ledger(what: str) -> None:
    """
    Raises:
        Declined: another controller is named, and this can only be done with this machine's ledger.
    """
    from slotcar.cli.place import Declined, chosen_place

    if (place := chosen_place()) is not None:
        where = f"the context {place.name}" if place.name else "SLOTCAR_API"
        raise Declined(
            f"{where} names the controller at {place.api}, but {what} on the controller's own machine only."
            f" Run this command there, {HERE}"
        )


def require_own_state_folder() -> None:
    """For commands that leave files in the state folder: root's would be closed to the controller's account.

    Raises:
        Declined: root says the command, and the folder is another account's.
    """
    import pwd

    from slotcar.cli.place import Declined

    folder = settings().state_dir
    if os.geteuid() != 0 or not folder.exists() or (owner := folder.stat().st_uid) == 0:
        return
    try:
        account = pwd.getpwuid(owner).pw_name
    except KeyError:  # of another machine, such as a volume's
        account = f"#{owner}"
    raise Declined(
        f"{folder} belongs to the account {account}, which could not read what root writes there: say the command as that"
        f" account, with `sudo -u '{account}'`"
    )


def warn_of_other_controller(what: str) -> None:
    """Says on standard error that another controller is named, and that the command does not go there: it works on this
    machine's `what`. A context that cannot be read keeps nobody from that."""
    from slotcar.cli.place import chosen_place
    from slotcar_client.wire.errors import SlotcarError

    with suppress(SlotcarError):
        if (place := chosen_place()) is not None:
            where = f"the context {place.name}" if place.name else "SLOTCAR_API"
            complain(f"note: {where} names the controller at {place.api}; this is done with this machine's {what}")


@contextmanager
def desk(inventory: Path | None = None, *, network: bool = True) -> Iterator[Desk]:
    """The verbs over the ledger that the settings name. `network`: see `sender`."""
    from slotcar.book.errors import UnknownHandle
    from slotcar.desk.desk import Desk
    from slotcar.network.model import Network
    from slotcar.store import open_ledger

    chosen = settings(inventory=inventory)
    ask_state_folder(chosen)
    known = network_of(chosen) if network else Network(domains={}, devices={}, hosts={}, sls={})
    under_way("opening the ledger")
    with long_work_reported(), open_ledger(chosen.ledger_url(), chosen.state_dir) as ledger:
        opened = Desk(ledger, known, chosen)
        _site.set(opened.ledger.terms.policy.reserving.site)
        under_way("at work")
        try:
            yield opened
            under_way("closing the ledger")
        except UnknownHandle as error:
            raise UnknownHandle(error.handle, near(NearDesk(opened), error.handle)) from error


def _near_unknown(opened: Desk, error: BaseException | None) -> str:
    """What may be meant, behind the words of an error that knows no such reservation; empty behind those of others."""
    from slotcar.book.errors import UnknownHandle

    return f"; {near(NearDesk(opened), error.handle)}" if isinstance(error, UnknownHandle) else ""


def near(controller: AnyDesk, which: str) -> str:
    """The reservations that may be meant: by `OWNER/NAME`, name or handle, of those that live, or else of all."""
    from slotcar.views.naming import Named, near_reservations
    from slotcar_client.calls.reservation_verbs import LIVE
    from slotcar_client.wire.verbs import List

    entries = controller.items(List(state=LIVE, newest=True), MOST_NAMES)
    entries = entries or controller.items(List(newest=True), MOST_NAMES)
    known = [Named(one["reservation"]["owner"], one["reservation"]["name"], one["handle"]) for one in entries]
    return near_reservations(which, known)
