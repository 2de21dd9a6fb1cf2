"""`slotcar transfer SOURCE DESTINATION --by TIME`, `slotcar transfer serve`, and who is known."""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from slotcar_transfer import identity as identities
from slotcar_transfer.errors import NotAdmitted, Stopped, TransferError
from slotcar_transfer.identity import PORT, Identity, folder_of
from slotcar_transfer.profile import Shape

#: A controller that is told what a transfer took has so long to answer.
RECORD_S = 5.0


class ExitCode(IntEnum):
    """As of `slotcar`, where it has them."""

    IN_TIME = 0
    ERROR = 1
    USAGE = 2
    NOT_ADMITTED = 3
    LATE = 9
    INTERRUPTED = 130
    TERMINATED = 143


class WithoutVerb(TyperGroup):
    """What does not begin with a verb is a transfer; with --to, to many at once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            options = {one.partition("=")[0] for one in args}
            args = ["spread" if "--to" in options and "--via" not in options else "copy", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="transfer", cls=WithoutVerb, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Move files by a deadline: SOURCE DESTINATION --by TIME. This is the command `copy`, whose name may be left out."
    " FILE … --to A --to B sends them to several hosts at once: the command `spread`, whose name may be left out, too.",
)  # fmt: skip

Service = Annotated[str, typer.Option("--service", help="ip-premium or assured-rate")]
Owner = Annotated[str | None, typer.Option("--owner", help="the reservation's owner; by default the token's")]
Here = Annotated[
    str | None, typer.Option("--here", envvar="SLOTCAR_TRANSFER_HOST", help="this host's name in Slotcar's inventory")
]
Labels = Annotated[list[str] | None, typer.Option("--label", help="KEY=VALUE, for the reservation")]
Context = Annotated[
    str | None, typer.Option("--context", help="the controller to use: a name from `slotcar context list`")
]
Home = Annotated[
    Path | None,
    typer.Option("--home", envvar="SLOTCAR_TRANSFER_HOME", help="folder of the key and of the known ends"),
]


@app.command()
def copy(
    source: Annotated[str, typer.Argument(help="HOST:PATH, a path of this host, or http(s)://…")],
    destination: Annotated[str, typer.Argument(help="HOST:PATH, or a path of this host")],
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="the deadline: `now + 3 h`, or a time with its zone; without it nothing is reserved"
        ),
    ] = None,
    service: Service = "ip-premium",
    owner: Owner = None,
    here: Here = None,
    at_most: Annotated[
        str | None, typer.Option("--at-most", help="the highest rate to reserve, such as 400 Mbit/s")
    ] = None,
    shape: Annotated[
        Shape, typer.Option("--shape", help="how the reserved rate is spread over time; `latest` reserves the least")
    ] = Shape.STEADY,
    rtt: Annotated[
        str | None, typer.Option("--rtt", help="the longest round-trip time, for the policer's burst")
    ] = None,
    label: Labels = None,
    additional: Annotated[bool, typer.Option(help="the second connection, which takes what is free")] = True,
    stop_at_deadline: Annotated[
        bool, typer.Option("--stop-at-deadline", help="stop at the deadline, and keep what has arrived")
    ] = False,
    give_up: Annotated[
        int, typer.Option("--give-up-after", help="seconds without a byte before it gives up", min=1)
    ] = 3600,
    checksum: Annotated[
        str | None, typer.Option("--checksum", help="ALGORITHM:HEX, the digest of a file from an HTTP server")
    ] = None,
    scitag: Annotated[
        str | None,
        typer.Option("--scitag", help="EXPERIMENT:ACTIVITY, numbers of SciTags that announce the connections by UDP"),
    ] = None,
    firefly_to: Annotated[
        list[str] | None,
        typer.Option("--firefly-to", help="HOST[:PORT] that also gets the announcements; may be repeated"),
    ] = None,
    context: Context = None,
    record: Annotated[
        bool,
        typer.Option(help="tell a known controller what a transfer without --by took; later ones are foretold by it"),
    ] = True,
    keep_connections: Annotated[
        Path | None,
        typer.Option(
            "--keep-connections",
            help="add a look at its connections to this file each second, as `slotcar connections --keep` does",
        ),
    ] = None,
    via: Annotated[
        str | None, typer.Option("--via", help="`rclone`: let rclone move a folder between two of its remotes")
    ] = None,
    sender: Annotated[
        str | None, typer.Option("--from", help="with --via: the sender, HOST[:PORT] of the inventory")
    ] = None,
    receiver: Annotated[str | None, typer.Option("--to", help="with --via: the receiver")] = None,
    home: Home = None,
) -> None:
    """Move a file or a folder, by a deadline where --by says one. Ends with 0 in time, 9 late, 3 not admitted."""
    from slotcar_transfer.fireflies import collector_of, scitag_of
    from slotcar_transfer.places import deadline_of, location_of, rate_of
    from slotcar_transfer.reporting import Display
    from slotcar_transfer.stopping import stopped_by_signals
    from slotcar_transfer.transferring import Options, Transfer

    with ends_in_words(), contextlib.ExitStack() as opened:
        deadline = None if by is None else deadline_of(by, datetime.now(UTC))
        options = Options(
            by=deadline, service=service, owner=owner, here=here, additional=additional, rtt=rtt, checksum=checksum,
            at_most_bps=None if at_most is None else rate_of(at_most), shape=shape, stop_at_deadline=stop_at_deadline,
            give_up_s=give_up, labels=_labels(label or ()), scitag=None if scitag is None else scitag_of(scitag),
            collectors=tuple(map(collector_of, firefly_to or ())),
            slotcar=None if deadline is None else opened.enter_context(_controller(context)),
            keep=keep_connections,
            records=_records(context, opened) if record and deadline is None and via is None else None,
        )  # fmt: skip
        if scitag is None and firefly_to:
            raise TransferError("--firefly-to needs --scitag: whose connections these are")
        if scitag is not None and via is not None:
            raise TransferError(f"--scitag announces no connections of {via}: it makes its own")
        if keep_connections is not None and via is not None:
            raise TransferError(f"--keep-connections sees no connections of {via}: they are another program's")
        if shape is Shape.LATEST and via is not None:
            raise TransferError(f"--shape latest goes with an additional connection, and {via} has none")
        display = Display()
        if via is not None:
            result = _via(via, source, destination, (sender, receiver), options, display)
        else:
            identity = Identity(home or folder_of())
            transfer = Transfer(location_of(source), location_of(destination), identity, options, display)
            with stopped_by_signals(transfer.stop):
                result = transfer.run()
        if result["late"]:
            raise typer.Exit(ExitCode.LATE)


@app.command()
def spread(
    files: Annotated[list[Path], typer.Argument(help="files of this host")],
    to: Annotated[list[str], typer.Option("--to", help="a known end that gets all of them; may be repeated")],
    group: Annotated[
        str, typer.Option("--group", envvar="SLOTCAR_TRANSFER_GROUP", help="the multicast group, ADDRESS[:PORT]")
    ],
    by: Annotated[
        str | None, typer.Option("--by", help="the deadline, as of `copy`; without it nothing is reserved")
    ] = None,
    at_most: Annotated[
        str | None, typer.Option("--at-most", help="the highest rate to reserve; without --by, the rate")
    ] = None,
    loss: Annotated[
        int, typer.Option("--loss", min=1, max=100, help="per cent of a section; who lacks more of it is left behind")
    ] = 20,
    service: Service = "ip-premium",
    owner: Owner = None,
    here: Here = None,
    interface: Annotated[
        str | None, typer.Option("--interface", help="this host's interface or address to send from")
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option("--proxy", help="address of a proxy that answers for receivers; may be repeated"),
    ] = None,
    label: Labels = None,
    context: Context = None,
    home: Home = None,
) -> None:
    """Send files to several hosts at once by multicast, and prove each copy. Ends with 0 when all have all, else 1."""
    from slotcar_transfer import spreading
    from slotcar_transfer.places import address_of, deadline_of, group_of, rate_of
    from slotcar_transfer.reporting import Display
    from slotcar_transfer.stopping import stopped_by_signals

    with ends_in_words(), contextlib.ExitStack() as opened:
        deadline = None if by is None else deadline_of(by, datetime.now(UTC))
        options = spreading.Options(
            *group_of(group), here=here, by=deadline, service=service, owner=owner, loss_percent=loss,
            at_most_bps=None if at_most is None else rate_of(at_most), interface=interface, labels=_labels(label or ()),
            proxies=[address_of(one) for one in proxy or ()],
            slotcar=None if deadline is None else opened.enter_context(_controller(context)),
        )  # fmt: skip
        identity = Identity(home or folder_of())
        peers = [identity.peer(name) for name in dict.fromkeys(to)]
        state = identity.folder / "spread"
        command = spreading.Spread(files, peers, identity, options, Display(), state)
        with stopped_by_signals(command.stop):
            result = command.run()
        if any(one["lacks"] for one in result["receivers"]):
            raise typer.Exit(ExitCode.ERROR)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="the folder to serve; nothing outside of it is read or written")],
    address: Annotated[str, typer.Option("--address", help="HOST or HOST:PORT to listen on; by default all")] = "",
    port: Annotated[int, typer.Option("--port", help="port to listen on; 0 takes a free one")] = PORT,
    read_only: Annotated[bool, typer.Option("--read-only", help="refuse to write")] = False,
    write_only: Annotated[bool, typer.Option("--write-only", help="refuse to read")] = False,
    gather: Annotated[
        str | None,
        typer.Option("--gather", help="ADDRESS[:PORT] of a multicast group: send a file once to all who `ask` for it"),
    ] = None,
    within: Annotated[
        float, typer.Option("--gather-within", min=0, help="seconds from the first request until the file is sent")
    ] = 30.0,
    enough: Annotated[
        int,
        typer.Option("--gather-for", min=0, help="send it as soon as so many have asked; 0 waits for the time alone"),
    ] = 0,
    at_most: Annotated[
        str | None, typer.Option("--gather-at-most", help="the rate, and the highest one to reserve")
    ] = None,
    here: Here = None,
    interface: Annotated[
        str | None, typer.Option("--interface", help="this host's interface or address to send to the group from")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", help="the controller that reserves for those who `ask` with --by")
    ] = None,
    home: Home = None,
) -> None:
    """Let the known ends read and write below a folder of this host, and with --gather send files to many at once."""
    from slotcar_transfer.logs import OneLine
    from slotcar_transfer.places import host_and_port
    from slotcar_transfer.serving import Rights, Server

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(asctime)s %(message)s"))
    logging.basicConfig(level="INFO", handlers=[handler])
    with ends_in_words(), contextlib.ExitStack() as opened:
        if read_only and write_only:
            raise TransferError("--read-only and --write-only together leave nothing to do")
        if address:
            address, port = host_and_port(address, port)
        rights, own = Rights(read=not write_only, write=not read_only), Identity(home or folder_of())
        gathering = None
        if gather is not None:
            if at_most is None:
                raise TransferError("--gather needs --gather-at-most, such as 20 Mbit/s")
            from slotcar_transfer.gathering import Gathering
            from slotcar_transfer.places import group_of, rate_of
            from slotcar_transfer.spreading import Options

            controller = None if context is None else opened.enter_context(_controller(context))
            options = Options(
                *group_of(gather), here=here, slotcar=controller, at_most_bps=rate_of(at_most), interface=interface
            )
            gathering = Gathering(own, options, within, enough)
        server = Server(folder, own, address, port, rights, gathering)
        typer.echo(f"serves {folder.resolve()} on port {server.port}")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: server.close())
        server.serve()


@app.command()
def ask(
    file: Annotated[str, typer.Argument(help="HOST:PATH, a file of an end that serves with --gather")],
    by: Annotated[str | None, typer.Option("--by", help="the deadline, as of `copy`")] = None,
    home: Home = None,
) -> None:
    """Have a file sent here by multicast, with all who ask for it in the same time. Ends with 0 when it is here."""
    from slotcar_transfer.calling import Caller
    from slotcar_transfer.places import location_of

    with ends_in_words():
        location, own = location_of(file), Identity(home or folder_of())
        if not location.peer or location.is_http:
            raise TransferError(f"{file} is not HOST:PATH of a known end")
        request = {"file": location.path} if by is None else {"file": location.path, "by": by}
        became = Caller(own, own.peer(location.peer)).ask(verb="ask", **request)["became"]
        if became["lacks"]:
            raise TransferError(f"{location.path} is not here: this host {became['why']}")
        typer.echo(f"{location.path} is here, as it is at {location.peer}")


@app.command()
def key(
    name: Annotated[
        str | None, typer.Option("--name", help="the name in the certificate; by default the host's")
    ] = None,
    home: Home = None,
) -> None:
    """Print this end's certificate, for the other end's `trust`; makes it the first time. The fingerprint is on stderr."""
    with ends_in_words():
        own = Identity(home or folder_of())
        shown = own.make(name)
        typer.echo(own.certificate.read_text(encoding="ascii"), nl=False)
        typer.echo(shown, err=True)


@app.command()
def trust(
    name: Annotated[str, typer.Argument(help="what this end calls the other one")],
    certificate: Annotated[
        typer.FileText, typer.Argument(help="file with what `key` printed on the other end; - for standard input")
    ],
    address: Annotated[
        str | None, typer.Option("--address", help="HOST or HOST:PORT where it serves; by default its name")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help=f"by default {PORT}")] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="its name in Slotcar's inventory; by default the same name")
    ] = None,
    fingerprint: Annotated[
        str | None, typer.Option("--fingerprint", help="the fingerprint that the certificate must have")
    ] = None,
    home: Home = None,
) -> None:
    """Know another end by its certificate: it may then do here what `serve` lets it, and this end may connect to it."""
    from slotcar_transfer.places import host_and_port

    with ends_in_words():
        pem = certificate.read()
        if fingerprint is not None and "CERTIFICATE" in pem:
            import ssl

            shown = identities.fingerprint(ssl.PEM_cert_to_DER_cert(pem))
            if shown != fingerprint:
                raise TransferError(f"the certificate has {shown}, and not {fingerprint}; nothing was changed")
        where, chosen = host_and_port(address or name, port or PORT)
        if port is not None and chosen != port:
            raise TransferError(f"--address {address} and --port {port} name two ports; say one")
        peer = Identity(home or folder_of()).trust(name, pem, where, chosen, host)
        typer.echo(
            f"{peer.name} is known: {peer.address}:{peer.port}, {peer.host} in the inventory, {peer.fingerprint}"
        )


@app.command()
def peers(home: Home = None) -> None:
    """List the known ends."""
    with ends_in_words():
        for one in Identity(home or folder_of()).peers():
            typer.echo(f"{one.name}\t{one.address}:{one.port}\t{one.host}\t{one.fingerprint}")


def _shown(words: str) -> str:
    """What the other end said steers no terminal."""
    from slotcar_transfer.logs import printable

    return "\n".join(printable(line) for line in words.split("\n"))


@contextlib.contextmanager
def ends_in_words() -> Iterator[None]:
    """An error becomes a sentence on stderr and an exit code."""
    try:
        yield
    except NotAdmitted as error:
        typer.echo(_shown(f"error: {error}"), err=True)
        raise typer.Exit(ExitCode.NOT_ADMITTED) from error
    except Stopped as error:
        typer.echo(_shown(f"error: {error}"), err=True)
        raise typer.Exit(ExitCode.TERMINATED if "SIGTERM" in str(error) else ExitCode.INTERRUPTED) from error
    except TransferError as error:
        typer.echo(_shown(f"error: {error}"), err=True)
        raise typer.Exit(ExitCode.LATE if error.kind == "late" else ExitCode.ERROR) from error


def _controller(context: str | None) -> Any:
    from slotcar_client import Slotcar, SlotcarError
    from slotcar_client.contexts import chosen_place

    try:
        place = chosen_place(context=context)
        if place is None:
            raise TransferError("--by needs a controller: set SLOTCAR_API and SLOTCAR_TOKEN, or say --context")
        return Slotcar(place.api, place.bearer)
    except SlotcarError as error:
        raise TransferError(str(error)) from error


def _records(context: str | None, opened: contextlib.ExitStack) -> Any:
    """The controller that is told what a transfer took; None where none is known. It is not waited for when it is away."""
    from slotcar_client import Retries, Slotcar, SlotcarError
    from slotcar_client.contexts import chosen_place

    try:
        place = chosen_place(context=context)
        if place is None:
            return None
        return opened.enter_context(Slotcar(place.api, place.bearer, retries=Retries(attempts=1), timeout_s=RECORD_S))
    except SlotcarError as error:
        raise TransferError(str(error)) from error


def _via(
    program: str, source: str, destination: str, ends: tuple[str | None, str | None], options: Any, display: Any
) -> dict[str, Any]:
    from slotcar_transfer import rclone

    if program != "rclone":
        raise TransferError(f"--via {program} is not known; there is rclone")
    sender, receiver = ends
    both = (sender, receiver) if sender is not None and receiver is not None else None
    return rclone.run(source, destination, both, options, display)


def _labels(pairs: Sequence[str]) -> dict[str, str]:
    labels = dict(one.partition("=")[::2] for one in pairs)
    if any(not value for value in labels.values()):
        raise TransferError("--label is KEY=VALUE")
    return labels
