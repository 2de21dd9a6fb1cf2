"""`python -m slotcar_lab.ios --platform cisco-car --config FILE --port N`: one router, until Control-C."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer

from slotcar_lab.ios.fleet import PASSWORD, USER, Router
from slotcar_lab.ios.grammar import PLATFORMS


def main(
    platform: Annotated[str, typer.Option(help=f"One of {', '.join(PLATFORMS)}.")] = "cisco-car",
    config: Annotated[
        Path | None, typer.Option(help="Start-up configuration; its interfaces are the hardware.")
    ] = None,
    port: Annotated[int, typer.Option(help="TCP port on the loopback address; 0 for a free one.")] = 0,
    name: Annotated[str, typer.Option(help="Host name where the configuration gives none.")] = "router",
    user: Annotated[str, typer.Option(help="Who may log in.")] = USER,
    password: Annotated[str, typer.Option(help="With which password.")] = PASSWORD,
    known_hosts: Annotated[Path | None, typer.Option(help="Write the host key's line there.")] = None,
) -> None:
    """Run one Cisco router in software."""
    try:
        text = config.read_text() if config else ""
        router = Router(name, platform, text, port=port, user=user, password=password)
        with router:
            if known_hosts:
                known_hosts.write_text(router.known_hosts)
            typer.echo(f"ssh -p {router.port} {user}@{router.address}   password: {password}", err=True)
            threading.Event().wait()
    except (OSError, ValueError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("", err=True)


if __name__ == "__main__":
    typer.run(main)
