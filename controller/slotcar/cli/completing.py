"""What a shell completes: reservations of a ledger that answers quickly, devices of the inventory. Silent, and in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from slotcar.cli.place import chosen_place
from slotcar.cli.session import settings

#: Somebody who has pressed the tab key waits no longer than this.
PATIENCE_S = 5.0
#: The script of `slotcar completion` asks by this variable, as click and Typer have it.
VARIABLE = "_SLOTCAR_COMPLETE"
MOST_NAMES = 1000


def reservations(incomplete: str) -> list[tuple[str, str]]:
    """`OWNER/NAME` and handles of those that live, each with what it is beside."""

    def names() -> list[tuple[str, str]]:
        listed = _living()
        named = [(key, f"{state} {handle}") for key, state, handle in listed]
        return named + [(handle, key) for key, _, handle in listed]

    return _beginning(incomplete, names)


def devices(incomplete: str) -> list[tuple[str, str]]:
    def names() -> list[tuple[str, str]]:
        from slotcar.network import load_network

        chosen = settings()
        network = load_network(chosen.need_inventory(), chosen.vault_password_file, chosen.domain)
        return [(name, one.platform) for name, one in sorted(network.devices.items())]

    return _beginning(incomplete, names)


def _living() -> Iterable[tuple[str, str, str]]:
    """The live reservations, each as OWNER/NAME, state and handle; none where the embedded database does not run, as
    completing does not start it."""
    from slotcar.book.model import OCCUPYING
    from slotcar.store import open_ledger
    from slotcar.store.queries import EntryFilter

    if chosen_place() is not None:
        from slotcar.cli.session import sender
        from slotcar_client.wire.verbs import List

        with sender() as controller:
            listed = controller.items(List(state=sorted(OCCUPYING)), MOST_NAMES)
        requests = [one["reservation"] for one in listed]
        keys = [f"{one['owner']}/{one['name']}" for one in requests]
        return [(key, one["state"], one["handle"]) for key, one in zip(keys, listed, strict=True)]
    chosen = settings()
    if chosen.database_url is None and not (chosen.state_dir / "postgres" / "postmaster.pid").exists():
        return ()
    with open_ledger(chosen.ledger_url(), chosen.state_dir, migrate=False) as ledger:
        entries = ledger.list(EntryFilter(states=OCCUPYING, limit=MOST_NAMES))
    return [("/".join(one.reservation.key), one.state.value, one.handle) for one in entries]


def _beginning(incomplete: str, find: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """The names that begin with the incomplete word; none where they cannot be read in time, for whatever reason."""
    choices: list[tuple[str, str]] = []

    def look() -> None:
        try:
            choices.extend(find())
        except Exception:  # a message would land in the line that somebody types
            choices.clear()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return [one for one in list(choices) if one[0].startswith(incomplete)] if not thread.is_alive() else []
