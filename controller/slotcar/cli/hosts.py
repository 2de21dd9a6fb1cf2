"""Of hosts: run a command within a reservation, measure what may be reserved, and what a host's TCP is tuned for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from slotcar.base.problems import SlotcarError
from slotcar.base.texts import lines_of
from slotcar.cli.options import OutputFormat
from slotcar.cli.output import Format, emit, print_table, progress, stdout
from slotcar.cli.session import now, sender
from slotcar.cli.strict import App
from slotcar.cli.tables import Column

#: Of so many reservations a host's are looked for.
MOST_RESERVATIONS = 10_000
FLOWS = (
    Column("reservation"), Column("peer"), Column("out"), Column("in"), Column("round trip", leave_out=1),
    Column("window out"), Column("window in"),
)  # fmt: skip
#: Where the kernel says what is mounted.
MOUNTS = Path("/proc/mounts")


class CommandNotRunnable(SlotcarError):
    """A command cannot be run within a reservation here; the message says why and what would do."""


def register(app: typer.Typer) -> None:
    host = App(
        name="host", help="Hosts: what can be reserved of one, and what its TCP is tuned for.", no_args_is_help=True
    )
    host.command()(measure)
    host.command()(tuning)
    app.add_typer(host)
    app.command(context_settings={"ignore_unknown_options": True})(run)


def run(
    group: Annotated[str, typer.Argument(help="the group's handle, g-…", show_default=False)],
    command: Annotated[
        list[str], typer.Argument(help="the command and its arguments, after `--`", show_default=False)
    ],
) -> None:
    """Run a command on this host within a reservation's slice, while its slot is open. Needs root, or a slice of this
    account's own `systemd --user`.

    The command and its children have the reservation's cores; when the slot ends, they go on without them.
    """
    words = in_slice(group, command, cgroups())
    try:
        os.execvp(words[0], words)  # noqa: S606 - the caller's own command
    except OSError as error:
        raise CommandNotRunnable(f"{command[0]} cannot be run: {error.strerror}") from error


def cgroups(mounts: Path = MOUNTS) -> Path:
    """Where cgroup v2 is mounted.

    Raises:
        CannotRun: nowhere.
    """
    for line in lines_of(mounts.read_text(encoding="utf-8")):
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    raise CommandNotRunnable("cgroup v2 is not mounted on this host")


def in_slice(group: str, command: Sequence[str], root: Path) -> list[str]:
    """The words that run a command in the group's slice: systemd's where the slice is one of its own; else the command
    itself, and this process is in the slice already.

    Raises:
        CannotRun: the host has no such slice now, or this user may not.
    """
    if "/" in group or group in ("", ".", ".."):
        raise CommandNotRunnable(f"{group} is not a group's handle")
    unit = f"slotcar-{group.replace('-', '_')}.slice"
    manager = () if os.geteuid() == 0 else ("--user",)
    # Of root's manager, or of the user's own, which is further down.
    where = "slotcar.slice" if not manager else f"user.slice/user-{os.geteuid()}.slice/*/slotcar.slice"
    if manager and (root / "slotcar.slice" / unit).exists():
        raise CommandNotRunnable(f"only root may put a process into the slice of {group}: say sudo slotcar run …")
    if next(root.glob(f"{where}/{unit}"), None) is not None:
        return ["systemd-run", *manager, "--quiet", "--scope", "--collect", f"--slice={unit}", "--", *command]
    enter(group, root)
    return list(command)


def enter(group: str, root: Path) -> None:
    """Puts this process into the group's cgroup, where there is no systemd.

    Raises:
        CannotRun: the host has no such slice now, or this user may not.
    """
    procs = root / "slotcar" / group / "cgroup.procs"
    try:
        procs.write_text(str(os.getpid()), encoding="utf-8")
    except FileNotFoundError as error:
        raise CommandNotRunnable(
            f"this host has no slice of {group} now: is its slot open, and does it reserve cores here?"
        ) from error
    except PermissionError as error:
        raise CommandNotRunnable(
            f"only root may put a process into the slice of {group}: say sudo slotcar run …"
        ) from error


def measure(
    disk: Annotated[str, typer.Argument(help="as the kernel names it, such as vdb", show_default=False)],
    folder: Annotated[
        Path | None, typer.Option("--folder", help="a folder on that disk: measure writing, too")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.2, max=600, help="how long to read, and to write")
    ] = 5.0,
    form: Annotated[Format, typer.Option("--format", "-f", help="how to print it")] = Format.TABLE,
) -> None:
    """Measure what can be reserved of this host, and print the lines for its host_vars. Reads the disk past the page cache.

    It measures the rate that one stream gets now: run it while nothing else uses the disk.
    """
    from slotcar.base.measuring import read_bytes_per_s, write_bytes_per_s
    from slotcar.managers.hosts import format_bytes_per_s

    progress(f"reading /dev/{disk} for {seconds:g} s")
    ways = {"read": read_bytes_per_s(Path("/dev") / disk, seconds)}
    if folder is not None:
        progress(f"writing in {folder} for {seconds:g} s")
        ways["write"] = write_bytes_per_s(folder, seconds)
    document = {
        "slotcar_cpu": os.cpu_count(),
        "slotcar_disks": {disk: {way: format_bytes_per_s(rate) for way, rate in ways.items()}},
    }
    lines = [f"slotcar_cpu: {document['slotcar_cpu']}", "slotcar_disks:", f"  {disk}:"]
    lines += [f"    {way}: {format_bytes_per_s(rate)}" for way, rate in ways.items()]
    emit(document, form, lambda: stdout().print("\n".join(lines)))


def tuning(
    host: Annotated[str, typer.Argument(help="a host of the inventory", show_default=False)],
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show the TCP flows that are reserved from and to a host, and the window of each: what its TCP is to be tuned for.

    As JSON it is the file that `playbooks/tune.yml` takes. Reservations whose slots are all over are left out.
    """
    from slotcar.base.timebase import iso
    from slotcar.base.units import format_bytes_about, format_latency, format_rate
    from slotcar.platforms.host_tcp.flows import document_of, flows_of
    from slotcar_client.wire.verbs.offers import Endpoints
    from slotcar_client.wire.verbs.reservations import List

    with sender() as controller:
        addresses = {one["name"]: one["address"] for one in controller.send(Endpoints())["hosts"]}
        if host not in addresses:
            known = ", ".join(sorted(addresses)) or "none"
            raise typer.BadParameter(f"the inventory has no host {host}; it has {known}", param_hint="HOST")
        living = List(state=("committed",), since=iso(now()))
        flows = flows_of(controller.items(living, MOST_RESERVATIONS, "after"), host, addresses, now())
    rows = [
        (
            flow.reservation,
            flow.peer,
            *(format_rate(rate) if rate else "-" for rate in (flow.out_bps, flow.in_bps)),
            format_latency(flow.rtt_us),
            *(format_bytes_about(flow.window_bytes(rate), up=True) for rate in (flow.out_bps, flow.in_bps)),
        )
        for flow in flows
    ]
    emit(document_of(host, flows), form, lambda: print_table(FLOWS, rows, "no flow of TCP is reserved from or to it"))
