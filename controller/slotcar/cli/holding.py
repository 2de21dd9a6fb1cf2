"""`slotcar hold` and `slotcar release`: routers that an operator has left alone (ADR 34, ADR 49), here or over HTTP."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.base.timebase import iso
from slotcar.cli.confirmation import confirm
from slotcar.cli.options import Inventory, Yes, complete_device, time_of
from slotcar.cli.output import stdout
from slotcar.cli.session import AnyDesk, NearDesk, now, sender

if TYPE_CHECKING:
    from slotcar_client.wire import documents


def register(app: typer.Typer) -> None:
    app.command()(hold)
    app.command()(release)


def hold(
    device: Annotated[list[str], typer.Argument(autocompletion=complete_device, show_default=False)],
    inventory: Inventory = None,
    until: Annotated[
        str | None, typer.Option(help="when the controller manages them again, such as now + 2 h")
    ] = None,
    reason: Annotated[str, typer.Option(help="one line, for the audit log")] = "",
    yes: Yes = False,
) -> None:
    """Hold routers as they are: nothing is pushed to them, and no slot is ended on them. Asks first.

    The hold lasts until `--until`, or until `slotcar release`.
    """
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        names = _named(controller, device)
        end = time_of("--until", until, now())
        confirm(yes, f"Hold {', '.join(names)}?")
        for name in names:
            _print(controller.send(verbs.Hold(name, reason, iso(end) if end else None)))


def release(
    device: Annotated[list[str], typer.Argument(autocompletion=complete_device, show_default=False)],
    inventory: Inventory = None,
    yes: Yes = False,
) -> None:
    """End the hold of routers (`slotcar hold`, or a rollback on a controller's page). Asks first.

    The leading controller then reads them, and pushes what the ledger wants.
    """
    from slotcar.planning.errors import NotPossible
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        names = _named(controller, device)
        held = {hold["device"]: hold for hold in controller.send(verbs.Holds())["items"]}
        if others := [name for name in names if name not in held]:
            raise NotPossible(f"{', '.join(others)} {'are' if len(others) > 1 else 'is'} not held; nothing was done")
        for name in names:
            _print(held[name])
        confirm(yes, f"Release {', '.join(names)}?")
        for name in names:
            controller.send(verbs.Release(name))
    stdout().print(f"Released: {', '.join(names)}.")


def _named(controller: AnyDesk, devices: Collection[str]) -> tuple[str, ...]:
    """The devices, each once, sorted.

    Raises:
        NoSuchDevice, or SlotcarError of `slotcar_client`: the inventory lacks one of them.
    """
    from slotcar_client.wire import verbs

    if not isinstance(controller, NearDesk):
        listed = controller.send(verbs.Configurations(device=list(devices)))["items"]
        return tuple(sorted({configuration["device"] for configuration in listed}))
    from slotcar.rollout.archive import Archive
    from slotcar.rollout.unrecorded import record_kept
    from slotcar.views.devices import named_devices

    opened = controller.desk
    record_kept(Archive(opened.settings.state_dir), opened.ledger)  # a rollback may have held them without it
    return named_devices(opened.network, devices)


def _print(hold: documents.Hold) -> None:
    from slotcar.rollout.holding import hold_words

    words = hold_words(hold["reason"], hold["actor"], hold["until"])
    stdout().print(f"{hold['device']}: {words}", soft_wrap=True)
