"""`slotcar connections HANDLE`: what the kernel knows of a reservation's TCP connections on this host, again and again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar_transfer.errors import TransferError
from slotcar_transfer.kept_looks import add, look_of, read
from slotcar_transfer.tcp_state import Ends, TcpState, ends_of, lines_of, of_user

if TYPE_CHECKING:
    from slotcar_transfer.own_sockets import Buffer

app = typer.Typer(
    name="connections",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
#: Of a picture: the figure, by what it is multiplied, and its axis.
PANELS = (
    ("window_segments", 1, "cwnd (ssthresh dashed)"),
    ("rtt_us", 1e-3, "round trip, ms"),
    ("sent_again_segments", 1, "sent again, segments"),
    ("send_window_bytes", 1e-3, "other end's window, kB"),
)
NONE = "no such connection of yours on this host"
Read = Callable[[], list[TcpState]]


@app.command()
def show(
    handle: Annotated[
        str | None, typer.Argument(metavar="[HANDLE]", help="a handle, or OWNER/NAME; without it every connection")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="only with this port at either end")] = None,
    every: Annotated[float, typer.Option("--every", help="seconds between two looks", min=0.05)] = 1.0,
    times: Annotated[int | None, typer.Option("--times", help="end after so many looks", min=1)] = None,
    keep: Annotated[Path | None, typer.Option("--keep", help="add each look to this file, as JSON lines")] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="at the end draw what was seen (.svg, .png); needs matplotlib")
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option("--kept", help="show what is in this file, of --keep or of a transfer, and look at nothing"),
    ] = None,
    send_buffer: Annotated[
        int | None, typer.Option("--send-buffer", help="bytes: give them this send buffer while they run", min=1)
    ] = None,
    receive_buffer: Annotated[
        int | None, typer.Option("--receive-buffer", help="bytes: give them this receive buffer while they run", min=1)
    ] = None,
    output: Annotated[str, typer.Option("--format", help="text or json")] = "text",
    context: Annotated[
        str | None, typer.Option("--context", help="the controller to use: a name from `slotcar context list`")
    ] = None,
) -> None:
    """Show TCP connections of this host: segments sent and again, ECN, SACK, RTO, ssthresh, cwnd, windows, pace.

    Needs no root for connections of your own; root sees everybody's.
    """
    from slotcar_client.wire.errors import SlotcarError
    from slotcar_transfer import own_sockets

    try:
        ends = [Ends(None, port, None, None)] if port is not None else []
        ends += [] if handle is None else [_reserved(handle, context)]
        if output not in ("text", "json"):
            raise TransferError(f"--format is text or json (got {output})")
        say = _to_screen(output == "json")
        sizes = {own_sockets.Buffer.SEND: send_buffer, own_sockets.Buffer.RECEIVE: receive_buffer}
        buffers = {buffer: size for buffer, size in sizes.items() if size is not None}
        if kept is not None:
            if buffers or keep is not None or times is not None:
                raise TransferError("--kept looks at no connection: leave out --keep, --times and the buffers")
            looks = _shown_again(kept, ends, say)
        else:
            looks = watch(own_sockets.connections, ends, every, times, say, keep, buffers)
        if picture is not None:
            draw(looks, picture)
    except (SlotcarError, TransferError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def watch(
    read: Read, ends: Sequence[Ends], every_s: float, times: int | None, say: Callable[[Any, list[str]], None],
    keep: Path | None = None, buffers: Mapping[Buffer, int] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Looks again and again, until it is interrupted or has looked so often; all that it saw, as documents.

    Raises:
        TransferError: a buffer cannot be set.
    """
    looks: list[dict[str, Any]] = []
    before: dict[int, TcpState] = {}
    last_s = time.monotonic()
    try:
        while True:
            now_s = time.monotonic()
            states = [one for one in of_user(read(), os.getuid()) if all(end.has(one) for end in ends)]
            look = look_of(states, datetime.now(UTC))
            lines = [line for one in states for line in lines_of(one, before.get(one.inode), now_s - last_s)]
            say(look, lines or [NONE])
            looks.append(look)
            if keep is not None:
                add(look, keep)
            _set_buffers([one for one in states if one.inode not in before], buffers or {})
            before, last_s = {one.inode: one for one in states}, now_s
            if times is not None and len(looks) >= times:
                return looks
            time.sleep(every_s)
    except KeyboardInterrupt:
        return looks


def _set_buffers(states: Sequence[TcpState], buffers: Mapping[Buffer, int]) -> None:
    """Of connections that were not seen before."""
    from slotcar_transfer import own_sockets

    for one in states:
        for buffer, size_bytes in buffers.items():
            given = own_sockets.set_buffer(one, buffer, size_bytes)
            less = "" if given >= size_bytes else f"; more is above {buffer.limit} of this host"
            name = buffer.name.lower()
            typer.echo(f"{one.local}:{one.local_port} has a {name} buffer of {given} B{less}", err=True)


def _shown_again(file: Path, ends: Sequence[Ends], say: Callable[[Any, list[str]], None]) -> list[dict[str, Any]]:
    """What was kept, as it was shown when it was seen.

    Raises:
        TransferError: the file holds something else.
    """
    before: dict[int, TcpState] = {}
    looks, last = [], None
    for look in read(file):
        try:
            states = [TcpState(**one) for one in look["connections"]]
        except TypeError as error:
            raise TransferError(f"{file} was kept by another version of slotcar-transfer: {error}") from error
        states = [one for one in states if all(end.has(one) for end in ends)]
        at = datetime.fromisoformat(look["at"])
        since_s = (at - last).total_seconds() if last is not None else 0.0
        shown = {"at": look["at"], "connections": [one.document() for one in states]}
        say(shown, [line for one in states for line in lines_of(one, before.get(one.inode), since_s)] or [NONE])
        looks.append(shown)
        before, last = {one.inode: one for one in states}, at
    return looks


def _reserved(handle: str, context: str | None) -> Ends:
    """
    Raises:
        TransferError: the reservation is of no TCP connection. SlotcarError: the controller does not give it.
    """
    from slotcar_client import connect

    with connect(context) as slotcar:
        reservation = slotcar.reservation(handle)["reservation"]
        if reservation["protocol"] != "tcp":
            raise TransferError(f"{handle} is of {reservation['protocol']}, of which the kernel keeps no such figures")
        addresses = {one["name"]: one["address"] for one in slotcar.endpoints()["hosts"]}
    return ends_of(dict(reservation), addresses)


def _to_screen(as_json: bool) -> Callable[[Any, list[str]], None]:
    def say(look: Any, lines: list[str]) -> None:
        if as_json:
            typer.echo(json.dumps(look))
        else:
            typer.echo(f"{look['at'][:19]}Z\n" + "\n".join(lines))

    return say


def draw(looks: Sequence[dict[str, Any]], to: Path) -> None:
    """Window, threshold, round trip and what was sent again, over time, of the connections that sent anything.

    Raises:
        TransferError: nothing was seen, or there is no matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TransferError("a picture needs matplotlib: install slotcar-transfer[pictures]") from error
    if not any(look["connections"] for look in looks):
        raise TransferError("there is nothing to draw: no connection was seen")
    start = datetime.fromisoformat(looks[0]["at"])
    series: dict[str, list[tuple[float, dict[str, Any]]]] = {}
    for look in looks:
        seconds = (datetime.fromisoformat(look["at"]) - start).total_seconds()
        for one in look["connections"]:
            name = f"{one['local']}:{one['local_port']} - {one['peer']}:{one['peer_port']}"
            series.setdefault(name, []).append((seconds, one))
    sending = {name: points for name, points in series.items() if points[-1][1]["sent_bytes"]} or series
    figure = Figure(figsize=(8, 9), layout="constrained")
    panels = figure.subplots(len(PANELS), 1, sharex=True)
    for number, (name, points) in enumerate(sending.items()):
        times, color = [at for at, _ in points], f"C{number}"
        for panel, (key, factor, _) in zip(panels, PANELS, strict=True):
            panel.plot(times, [one[key] * factor for _, one in points], marker=".", color=color, label=name)
        limits = [float("nan") if (one := point["threshold_segments"]) is None else one for _, point in points]
        panels[0].plot(times, limits, linestyle="--", color=color)
    for panel, (_, _, words) in zip(panels, PANELS, strict=True):
        panel.set_ylabel(words)
        panel.grid(alpha=0.3)
    panels[-1].set_xlabel("seconds")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", fontsize="small")
    figure.savefig(to)
