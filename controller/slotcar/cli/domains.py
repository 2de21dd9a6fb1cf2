"""`slotcar domains`: a domain's key, its neighbours, and reservations over several domains (ADR 78)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.options import Yes
from slotcar.cli.output import print_table, stdout
from slotcar.cli.remote import Api, TokenFile, remote
from slotcar.cli.slss import slss
from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar_client.wire import documents


def register(app: typer.Typer) -> None:
    app.add_typer(domains, name="domains")


domains = typer.Typer(
    help="Domains with a controller each: keys, neighbours, and reservations over several of them.",
    no_args_is_help=True,
)
domains.add_typer(slss, name="sls")
ConnectionArgument = Annotated[str, typer.Argument(metavar="CONNECTION", show_default=False)]
File = Annotated[
    Path, typer.Argument(metavar="FILE", help="a reservation file with one reservation", show_default=False)
]


@domains.command()
def key() -> None:
    """Make this domain's key and its certificate, which the neighbours' operators get.

    The domain is SLOTCAR_DOMAIN; the files are SLOTCAR_DOMAIN_KEY_FILE and SLOTCAR_DOMAIN_CERTIFICATE_FILE.
    """
    from slotcar.base.settings import MissingSetting, load_settings
    from slotcar.cli.session import now
    from slotcar.domains.keys import make_key

    settings = load_settings()
    if settings.domain is None:
        raise MissingSetting("no domain: set SLOTCAR_DOMAIN to the name of this controller's domain in the inventory")
    signed = make_key(settings.domain, settings.domain_key_path, settings.domain_certificate_path, now())
    lines = (
        f"key          {settings.domain_key_path}",
        f"certificate  {settings.domain_certificate_path}",
        f"SHA-256      {signed.fingerprint}",
    )
    stdout().print("\n".join(lines), highlight=False, soft_wrap=True)


@domains.command()
def status(api: Api = None, token_file: TokenFile = None) -> None:
    """Show the domain of a controller, its neighbours, and what was last heard of them."""
    from slotcar_client.wire.verbs import Domains

    with remote(api, token_file) as slotcar:
        document = slotcar.send(Domains())
    if document["domain"] is None:
        stdout().print("This controller has all domains of its inventory.")
        return
    rows = [
        (one["domain"], one["controller"], _clock(one["clock_ahead_ms"]), one["trouble"] or "-")
        for one in document["neighbours"]
    ]
    stdout().print(f"Domain {document['domain']}")
    print_table(_columns("neighbour", "controller", "clock", "trouble"), rows, "No neighbours with a controller.")


@domains.command("list")
def list_(api: Api = None, token_file: TokenFile = None) -> None:
    """List reservations over several domains, as a controller knows them."""
    from slotcar_client.wire.verbs import Connections

    with remote(api, token_file) as slotcar:
        listed = slotcar.send(Connections())["items"]
    rows = [(one["connection"], f"{one['owner']}/{one['name']}", _way(one), _state(one)) for one in listed]
    print_table(_columns("connection", "reservation", "way", "state"), rows, "None.")


@domains.command()
def reserve(file: File, api: Api = None, token_file: TokenFile = None) -> None:
    """Reserve over several domains: this controller asks the next one, and so on. All commit, or none (exit code 3).

    Where a domain has not answered in time it may still come about (exit code 1): `slotcar domains show` says it.

    Of a group (`together:`) all members are committed in all domains, or none is.
    """
    from slotcar_client.wire.verbs import Connect, ConnectTogether

    group = _group_of(file)
    with remote(api, token_file) as slotcar:
        if group is None:
            _show(slotcar.send(Connect(_reservation_of(file))))
            return
        for one in slotcar.send(ConnectTogether(group))["items"]:
            _show(one)


@domains.command()
def modify(connection: ConnectionArgument, file: File, api: Api = None, token_file: TokenFile = None) -> None:
    """Change a reservation in all domains, to what the file says; or in none."""
    from slotcar_client.wire.verbs import ModifyConnection

    with remote(api, token_file) as slotcar:
        _show(slotcar.send(ModifyConnection(connection, _reservation_of(file))))


@domains.command()
def progress(
    connection: ConnectionArgument,
    remaining: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="what of the volume remains, such as `15 GB`; `0 B` ends it", show_default=False
        ),
    ],
    api: Api = None,
    token_file: TokenFile = None,
) -> None:
    """Say what remains of a volume by a deadline. Its rates change in all domains, or in none."""
    from slotcar_client.wire.verbs import ReportConnection

    with remote(api, token_file) as slotcar:
        _show(slotcar.send(ReportConnection(connection, remaining)))


@domains.command()
def end(
    connection: ConnectionArgument,
    reason: Annotated[str, typer.Option(help="one line, for the audit logs of all domains")] = "",
    api: Api = None,
    token_file: TokenFile = None,
    yes: Yes = False,
) -> None:
    """End a reservation in all domains. Asks first."""
    from slotcar_client.wire.verbs import EndConnection

    confirm(yes, f"End {connection} in all domains?")
    with remote(api, token_file) as slotcar:
        _show(slotcar.send(EndConnection(connection, reason)))


@domains.command()
def settle(
    connection: Annotated[str | None, typer.Argument(metavar="[CONNECTION]", show_default=False)] = None,
    api: Api = None,
    token_file: TokenFile = None,
) -> None:
    """Ask the neighbours about what is under way or in force, or about one connection, and follow what they say.

    A controller does so itself when it begins, and every hour.
    """
    from slotcar_client.wire.verbs import SettleConnections

    with remote(api, token_file) as slotcar:
        listed = slotcar.send(SettleConnections(connection))["items"]
    if not listed:
        stdout().print("Nothing is under way or in force.")
    for one in listed:
        _show(one)


@domains.command()
def show(connection: ConnectionArgument, api: Api = None, token_file: TokenFile = None) -> None:
    """Show a reservation over several domains, and what each domain says of its segment."""
    from slotcar_client.wire.verbs import ConnectionStatus

    with remote(api, token_file) as slotcar:
        _show(slotcar.send(ConnectionStatus(connection)))


def _group_of(file: Path) -> dict[str, Any] | None:
    """The group of a file that has one alone; None where it has none.

    Raises:
        InvalidInput: anything in the file is wrong, or it has more than that group.
    """
    from slotcar.base.located_yaml import load, read_text
    from slotcar.base.problems import InvalidInput, Problem
    from slotcar.cli.session import now
    from slotcar.reservation.loading import load_text

    text = read_text(file)
    data = load(text, str(file)).data
    if not isinstance(data, dict) or "together" not in data:
        return None
    load_text(text, str(file), now())
    groups = data["together"]
    if len(groups) != 1 or data.get("reservations"):
        raise InvalidInput([Problem(str(file), 0, "", "is to say one group and nothing beside it", str(len(groups)))])
    return {**(data.get("defaults") or {}), **groups[0]}


def _reservation_of(file: Path) -> dict[str, Any]:
    """
    Raises:
        InvalidInput: it is no file of one reservation.
    """
    from slotcar.base.located_yaml import load, read_text
    from slotcar.base.problems import InvalidInput, Problem
    from slotcar.cli.session import now
    from slotcar.reservation.loading import load_text

    text = read_text(file)
    count = len(load_text(text, str(file), now()))
    data = load(text, str(file)).data
    listed = data.get("reservations", [data]) if isinstance(data, dict) else []
    if count != 1 or len(listed) != 1:
        raise InvalidInput([Problem(str(file), 0, "", "is to say one reservation, of a flow", str(count))])
    defaults = data.get("defaults") or {}
    return {**defaults, **listed[0]}


def _columns(*titles: str) -> list[Column]:
    return [Column(title, wraps=title == titles[-1]) for title in titles]


def _show(connection: documents.Connection) -> None:
    lines = [
        f"{connection['connection']}  {connection['owner']}/{connection['name']}",
        f"way    {_way(connection)}",
        f"state  {_state(connection)}",
        *_volume(connection),
        *(f"slot   {_slot(slot)}" for slot in connection["slots"]),
        *(f"group  with {other}" for other in connection["members"] if other != connection["connection"]),
        *(f"delay  {_delay(part)}" for part in connection["delays"]),
        *(f"  {_segment(segment)}" for segment in connection["segments"]),
    ]
    stdout().print("\n".join(lines), highlight=False, soft_wrap=True)


def _volume(connection: documents.Connection) -> list[str]:
    """What is to be moved, and by when."""
    from slotcar.base.units import format_bytes, format_bytes_about

    volume = connection["volume"]
    if volume is None:
        return []
    missing_bytes = volume["missing_bytes"]
    missing = f"; {format_bytes_about(missing_bytes, up=True)} of it cannot be moved by then" if missing_bytes else ""
    remaining = f"{format_bytes(volume['remaining_bytes'])} of {format_bytes(volume['volume_bytes'])}"
    return [f"volume {remaining} remained at {volume['at']}, to be moved by {volume['by']}{missing}"]


def _slot(slot: documents.Slot) -> str:
    """Its window, and its rate; both rates where the ways have a rate of their own, and none of a claim."""
    from slotcar.base.units import format_rate_about

    forward, reverse = (format_rate_about(slot[way]) if slot[way] else "" for way in ("forward_bps", "reverse_bps"))
    words = forward or reverse
    if forward and reverse and forward != reverse:
        words = f"{forward} forward, {reverse} reverse"
    return f"{slot['start']} .. {slot['end']}  {words}".rstrip()


def _delay(part: documents.ConnectionDelay) -> str:
    from slotcar.base.units import format_latency

    named = (("delay", part["delay_us"]), ("jitter", part["jitter_us"]))
    words = ", ".join(
        f"{what} of {format_latency(bound_us)} at most" for what, bound_us in named if bound_us is not None
    )
    return f"{part['domain']} promises a {words}"


def _way(connection: documents.Connection) -> str:
    before = f"{connection['previous']} → " if connection["previous"] else ""
    return f"{before}{connection['domain']}{' → ' + connection['next'] if connection['next'] else ''}"


def _state(connection: documents.Connection) -> str:
    doubt = ", in doubt" if connection["in_doubt"] else ""
    why = f": {connection['why']}" if connection["why"] else ""
    in_force = f", version {connection['committed']} in force" if connection["committed"] else ""
    return f"{connection['phase']}{in_force}{doubt}{why}"


def _segment(segment: documents.ConnectionSegment) -> str:
    in_force = f", version {segment['committed']} in force" if segment["committed"] else ""
    slot = f"; {segment['slot']}" if segment["slot"] else "; its devices are not ready" if segment["not_ready"] else ""
    why = f": {segment['why']}" if segment["why"] else ""
    return f"{segment['domain']}: {segment['phase']}{in_force}{slot}, at {segment['stated_at']}{why}"


def _clock(ahead_ms: int | None) -> str:
    return "not heard yet" if ahead_ms is None else f"{ahead_ms:+d} ms"
