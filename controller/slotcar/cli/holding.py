"""`slotcar hold` and `slotcar release`: routers that an operator has left alone (ADR 34, ADR 49), here or over HTTP."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.options import Inventory, Yes, complete_device, time_of
from slotcar.cli.output import stdout
from slotcar.cli.session import caller, now, verbs

if TYPE_CHECKING:
    from slotcar.broker import Broker
    from slotcar.cli.over_http import OverHttp
    from slotcar.rollout.holding import Hold


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
    with verbs(inventory) as opened:
        holder = _holder(opened)
        names = holder.named(device)
        end = time_of("--until", until, now())
        confirm(yes, f"Hold {', '.join(names)}?")
        for name in names:
            one = holder.hold(name, end, reason)
            stdout().print(f"{name}: {one.words}", markup=False, soft_wrap=True)


def release(
    device: Annotated[list[str], typer.Argument(autocompletion=complete_device, show_default=False)],
    inventory: Inventory = None,
    yes: Yes = False,
) -> None:
    """End the hold of routers (`slotcar hold`, or a rollback on a controller's page). Asks first.

    The leading controller then reads them, and pushes what the ledger wants.
    """
    from slotcar.planning.errors import NotPossible

    with verbs(inventory) as opened:
        holder = _holder(opened)
        names = holder.named(device)
        held = holder.held()
        if others := [name for name in names if name not in held]:
            raise NotPossible(f"{', '.join(others)} {'are' if len(others) > 1 else 'is'} not held; nothing was done")
        for name in names:
            stdout().print(f"{name}: {held[name].words}", markup=False, soft_wrap=True)
        confirm(yes, f"Release {', '.join(names)}?")
        for name in names:
            holder.release(name)
    stdout().print(f"Released: {', '.join(names)}.", markup=False)


class _Holder(Protocol):
    """What holds and releases routers; each call is of the present instant and of the caller."""

    def named(self, devices: Collection[str]) -> tuple[str, ...]:
        """The devices, each once, sorted.

        Raises:
            NoSuchDevice, or SlotcarError of `slotcar_client`: the inventory lacks one of them.
        """

    def held(self) -> dict[str, Hold]: ...

    def hold(self, device: str, until: datetime | None, reason: str) -> Hold: ...

    def release(self, device: str) -> Hold: ...


def _holder(opened: Broker | OverHttp) -> _Holder:
    from slotcar.broker import Broker

    return _LocalHolds(opened) if isinstance(opened, Broker) else _RemoteHolds(opened)


class _LocalHolds:
    """Holds in this machine's ledger."""

    def __init__(self, opened: Broker) -> None:
        from slotcar.rollout.archive import Archive
        from slotcar.rollout.unrecorded import record_kept

        record_kept(Archive(opened.settings.state_dir), opened.ledger)  # a rollback may have held them without it
        self._opened = opened

    def named(self, devices: Collection[str]) -> tuple[str, ...]:
        from slotcar.views.devices import named_devices

        return named_devices(self._opened.network, devices)

    def held(self) -> dict[str, Hold]:
        return {one.device: one for one in self._opened.held_routers.holds(caller(), now())}

    def hold(self, device: str, until: datetime | None, reason: str) -> Hold:
        return self._opened.held_routers.hold(device, caller(), now(), until, reason)

    def release(self, device: str) -> Hold:
        return self._opened.held_routers.release(device, caller(), now())


class _RemoteHolds:
    """Holds in the ledger of the named controller, with the caller's own rights."""

    def __init__(self, opened: OverHttp) -> None:
        self._slotcar = opened.slotcar

    def named(self, devices: Collection[str]) -> tuple[str, ...]:
        return tuple(sorted({one["device"] for one in self._slotcar.configurations(None, devices)}))

    def held(self) -> dict[str, Hold]:
        from slotcar.cli.from_documents import hold_of

        return {one["device"]: hold_of(one) for one in self._slotcar.holds()}

    def hold(self, device: str, until: datetime | None, reason: str) -> Hold:
        from slotcar.cli.from_documents import hold_of

        return hold_of(self._slotcar.hold(device, reason, until=until))

    def release(self, device: str) -> Hold:
        from slotcar.cli.from_documents import hold_of

        return hold_of(self._slotcar.release(device))
