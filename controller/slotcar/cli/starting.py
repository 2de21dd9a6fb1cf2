"""`slotcar init`: a first inventory, by options or by answers at a terminal."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.base.problems import InvalidInput
from slotcar.cli.output import complain, stdout

if TYPE_CHECKING:
    from slotcar.network.new_inventory import NewInventory

NOTHING_MORE = ""


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(
    folder: Annotated[Path, typer.Argument(help="where to write it; must not exist, or be empty")] = Path("inventory"),
    device: Annotated[
        list[str] | None, typer.Option("--device", help="NAME=PLATFORM[@ADDRESS[:PORT]]; repeated", show_default=False)
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            "--link", help="'DEVICE:INTERFACE ADDRESS/LENGTH, DEVICE:INTERFACE ADDRESS/LENGTH, RATE'; repeated"
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="'NAME ADDRESS, DEVICE:INTERFACE ADDRESS/LENGTH, RATE'; repeated"),
    ] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(
            "--share", help="SERVICE=PERCENT of each link; repeated. Without one: premium 40, assured 30, qbss 1"
        ),
    ] = None,
    domain: Annotated[str, typer.Option("--domain", help="name of the administrative domain")] = "site",
    user: Annotated[str, typer.Option("--user", help="the account that Ansible logs in as")] = "",
    ansible: Annotated[
        list[str] | None,
        typer.Option("--ansible", help="KEY=VALUE, a variable of Ansible's for all routers; repeated"),
    ] = None,
) -> None:
    """Write an inventory to start from, with comments: devices, links, end systems and shares.

    Without --device it asks, at a terminal. What it writes has been read back and checked; where it is wrong, nothing is
    written.
    """
    from slotcar.network.new_inventory import SHARES, NewInventory, parse_device, parse_host, parse_link, parse_pair

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise typer.BadParameter(f"{folder} is there already; name a folder that is not", param_hint="FOLDER")
    if not device:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise typer.BadParameter("say at least one, or answer at a terminal", param_hint="--device")
        device, link, host, user = _ask(parse_device, parse_link, parse_host, user)
    new = NewInventory(
        domain=domain,
        devices=[parse_device(one) for one in device],
        links=[parse_link(one) for one in link or ()],
        hosts=[parse_host(one) for one in host or ()],
        shares=dict(parse_pair("--share", one, "ip-premium=40 %") for one in share or ()) or dict(SHARES),
        user=user,
        ansible=dict(parse_pair("--ansible", one, "ansible_port=2222") for one in ansible or ()),
    )
    _write(new, folder)
    stdout().print(f"Wrote {folder}. Next: export SLOTCAR_INVENTORY={folder.absolute()}; slotcar check --devices")


def _write(new: NewInventory, folder: Path) -> None:
    """
    Raises:
        InvalidInput: the network would not be one; nothing was written.
    """
    from slotcar.network import load_network
    from slotcar.network.new_inventory import files_of

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".slotcar-init-") as scratch:
        inventory = Path(scratch) / "inventory"
        for name, text in files_of(new).items():
            (inventory / name).parent.mkdir(parents=True, exist_ok=True)
            (inventory / name).write_text(text, encoding="utf-8")
        try:
            load_network(inventory)
        except InvalidInput as error:
            # As if it had been written: the folder that was read is gone in a moment.
            scratch_path = f"{Path(scratch).name}/{inventory.name}"
            named = [replace(one, file=f"{folder}{one.file.rpartition(scratch_path)[2]}") for one in error.problems]
            raise InvalidInput(named) from error
        inventory.rename(folder)


def _ask(
    device: Callable[[str], object], link: Callable[[str], object], host: Callable[[str], object], user: str
) -> tuple[list[str], list[str], list[str], str]:
    """What a person at the terminal says; an empty line ends each list."""
    from slotcar.network.new_inventory import HOST, LINK

    devices = list(_answers("Router, as NAME=PLATFORM@ADDRESS (edge-a=linux-tc@192.0.2.1)", device, least=1))
    user = user or typer.prompt("Whom Ansible logs in as there", default="root", err=True)
    links = list(_answers(f"Link, as {LINK}", link))
    hosts = list(_answers(f"End system, as {HOST}", host))
    return devices, links, hosts, user


def _answers(question: str, check: Callable[[str], object], least: int = 0) -> Iterator[str]:
    count = 0
    while True:
        first = question if least else f"{question}; empty for none"
        words = first if not count else "The next; empty when done"
        answer = str(typer.prompt(words, default=NOTHING_MORE, show_default=False, err=True)).strip()
        if answer == NOTHING_MORE:
            if count >= least:
                return
            continue
        try:
            check(answer)
        except InvalidInput as error:
            complain(str(error))
            continue
        count += 1
        yield answer
