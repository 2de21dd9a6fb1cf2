"""`slotcar domains sls`: SLSs that are opened, changed and ended with neighbours while controllers run (ADR 93)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.options import Yes
from slotcar.cli.output import print_table, stdout
from slotcar.cli.remote import Api, TokenFile, remote
from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar_client.wire import documents

slss = typer.Typer(help="SLSs with neighbours: opened, changed and ended while controllers run.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="SLS", show_default=False)]


@slss.command("list")
def list_(api: Api = None, token_file: TokenFile = None) -> None:
    """List the SLSs with neighbours, of the inventory and agreed on, and the most that is promised of each."""
    from slotcar_client.wire.verbs import Slss

    with remote(api, token_file) as slotcar:
        listed = slotcar.send(Slss())["items"]
    titles = ("sls", "way", "service", "rate", "promised", "holds", "state")
    print_table(
        [Column(title, wraps=title == "holds") for title in titles],
        [_row(one) for one in listed],
        "No SLS with a neighbour that has a controller of its own.",
    )


@slss.command("open")
def open_(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="one SLS in an inventory's words, with its `name`", show_default=False),
    ],
    api: Api = None,
    token_file: TokenFile = None,
) -> None:
    """Open an SLS with a neighbour. Both domains have it from now on, or none."""
    from slotcar_client.wire.verbs import OpenSls

    with remote(api, token_file) as slotcar:
        _show(slotcar.send(OpenSls(_terms_of(file))))


@slss.command()
def change(
    name: Name,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="what is to change, in an inventory's words", show_default=False),
    ] = None,
    rate: Annotated[str | None, typer.Option(help="such as `60 Mbit/s`", show_default=False)] = None,
    start: Annotated[str | None, typer.Option(help="from when it holds", show_default=False)] = None,
    end: Annotated[str | None, typer.Option(help="until when it holds", show_default=False)] = None,
    api: Api = None,
    token_file: TokenFile = None,
) -> None:
    """Change an SLS with a neighbour; what is left out stays. It keeps what is promised of it."""
    from slotcar_client.wire.verbs import ChangeSls

    terms = dict(_terms_of(file)) if file is not None else {}
    times = {key: text for key, text in (("start", start), ("end", end)) if text is not None}
    terms |= {"rate": rate} if rate is not None else {}
    terms |= {"validity": times} if times else {}
    with remote(api, token_file) as slotcar:
        _show(slotcar.send(ChangeSls(name, terms)))


@slss.command()
def end(
    name: Name,
    at: Annotated[str | None, typer.Option(help="when; now where nothing is said", show_default=False)] = None,
    reason: Annotated[str, typer.Option(help="one line, for the audit logs of both domains")] = "",
    api: Api = None,
    token_file: TokenFile = None,
    yes: Yes = False,
) -> None:
    """End an SLS with a neighbour before its time. Asks first; refused while something is promised of it."""
    from slotcar_client.wire.verbs import EndSls

    confirm(yes, f"End the SLS {name} in both domains, {at or 'now'}?")
    with remote(api, token_file) as slotcar:
        _show(slotcar.send(EndSls(name, at, reason)))


def _terms_of(file: Path) -> dict[str, Any]:
    """
    Raises:
        InvalidInput: it is no mapping.
    """
    from slotcar.base.located_yaml import load, read_text
    from slotcar.base.problems import InvalidInput, Problem

    data = load(read_text(file), str(file)).data
    if not isinstance(data, dict):
        raise InvalidInput([Problem(str(file), 0, "", "is no mapping", "", "say what the SLS is, key by key")])
    return {str(key): _plain(value) for key, value in data.items()}


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value


def _row(one: documents.NeighbourSls) -> tuple[str, ...]:
    from slotcar.base.units import format_rate

    promised_bps = max((each["rate_bps"] for each in one["promised"]), default=0)
    way = f"{one['upstream']} → {one['downstream']}"
    holds = "always" if one["start"] is None else f"{one['start']} .. {one['end']}"
    state = one["state"] if one["agreed"] else f"{one['state']}, of the inventory"
    return one["name"], way, one["service"], format_rate(one["rate_bps"]), format_rate(promised_bps), holds, state


def _show(one: documents.NeighbourSls) -> None:
    name, way, service, rate, promised, holds, state = _row(one)
    lines = (
        f"{name}  {way}, {service}",
        f"rate      {rate}, promised at most {promised}",
        f"holds     {holds}",
        f"state     {state}",
    )
    stdout().print("\n".join(lines), highlight=False, soft_wrap=True)
