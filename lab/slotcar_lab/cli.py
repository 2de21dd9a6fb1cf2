"""`slotcar lab …`: the lab's verbs on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from slotcar_lab import control, requirements, snapshot, topology
from slotcar_lab.errors import LabError
from slotcar_lab.guest import machine
from slotcar_lab.places import HOME
from slotcar_lab.requirements import Backend

app = typer.Typer(help="The lab: routers that are real Linux kernels.", no_args_is_help=True, add_completion=False)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def default_state_dir() -> Path:
    """Where `inventories/lab` looks for the keys: `lab` in `SLOTCAR_STATE_DIR`, or in `var` of the checkout, or here."""
    return Path(os.environ.get("SLOTCAR_STATE_DIR") or HOME / "var") / "lab"


StateDir = Annotated[
    Path,
    typer.Option(
        "--state-dir", show_default="var/lab", help="Folder for the keys, the facts and the console of the lab."
    ),
]
ChosenBackend = Annotated[
    Backend | None,
    typer.Option("--backend", help="Where the routers run; by default this kernel, if it can do what they need."),
]
DEFAULT_DIR = default_state_dir()


@app.command()
def up(
    state_dir: StateDir = DEFAULT_DIR,
    backend: ChosenBackend = None,
    inventory: Annotated[
        Path | None,
        typer.Option("--inventory", help="Make the routers, hosts and links of this Ansible inventory, not GARNET's."),
    ] = None,
    systemd: Annotated[
        bool,
        typer.Option(
            "--systemd",
            help="A guest whose first process is systemd, with a disk vda of 256 MB that reads and writes 20 MB/s.",
        ),
    ] = False,
) -> None:
    """Start the routers. A lab that is up and healthy is left as it is.

    The routers of an inventory answer on 127.0.0.1, by name at port SLOTCAR_LAB_PORT_BASE (2200) + 1, + 2 and so on.
    """
    try:
        extras = machine.SYSTEMD if systemd else machine.PLAIN
        lab = control.up(_topology(inventory), state_dir, backend, _progress, extras)
    except LabError as error:
        _fail(error)
    typer.echo(control.status(state_dir).text)
    typer.echo(f"ssh -F {lab.ssh_config_path} {lab.topology.routers[0]}")


@app.command()
def down(state_dir: StateDir = DEFAULT_DIR) -> None:
    """Stop the routers and remove everything of theirs."""
    try:
        was_up = control.down(state_dir)
    except LabError as error:
        _fail(error)
    typer.echo("the lab is down" if was_up else "the lab was not up")


@app.command()
def status(
    state_dir: StateDir = DEFAULT_DIR, output: Annotated[Format, typer.Option("--format")] = Format.TEXT
) -> None:
    """Show whether the lab is up, what it runs on, and how far its clock is off. Exit status 1 when it is down."""
    try:
        lab_status = control.status(state_dir)
    except LabError as error:
        _fail(error)
    if output is Format.JSON:
        typer.echo(json.dumps(asdict(lab_status)))
    else:
        typer.echo(lab_status.text)
        if lab_status.up:
            typer.echo(f"clock_offset_us {lab_status.clock_offset_us} ± {lab_status.clock_uncertainty_us}")
    raise typer.Exit(0 if lab_status.up else 1)


@app.command(name="exec", context_settings={"ignore_unknown_options": True})
def execute(
    node: Annotated[str, typer.Argument(help="A router, a host, or `wire`.")],
    command: Annotated[list[str], typer.Argument(help="The command and its arguments, after `--`.")],
    state_dir: StateDir = DEFAULT_DIR,
    timeout_s: Annotated[float, typer.Option("--timeout-s", help="End the command after so many seconds.")] = 60.0,
) -> None:
    """Run a command on a node. Standard input is passed on to it unless it is a terminal."""
    stdin = None if sys.stdin.isatty() else sys.stdin.read()
    try:
        done = _attached(state_dir).exec(node, command, timeout_s, stdin)
    except LabError as error:
        _fail(error)
    except subprocess.TimeoutExpired:
        _fail(LabError(f"{command[0]} on {node} did not end within {timeout_s:g} s and was ended"))
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    raise typer.Exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


@app.command(name="snapshot")
def take_snapshot(router: str, state_dir: StateDir = DEFAULT_DIR) -> None:
    """Print a router's configuration as comparable text."""
    try:
        sys.stdout.write(snapshot.snapshot(_attached(state_dir), router))
    except LabError as error:
        _fail(error)


@app.command(name="run")
def run_experiment(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Experiments, such as emerge-1; `all` for every one.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", show_default="var/lab-report", help="Folder for the report.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Use short stages: a check that everything works, not a measurement.")
    ] = False,
    real_time: Annotated[
        bool,
        typer.Option(
            "--real-time",
            help="To watch, not to measure: by this machine's clock, whose other work shows in the figures.",
        ),
    ] = False,
    scale: Annotated[
        str, typer.Option("--scale", help="Part of the papers' rates, such as 1/32; 1 is the papers' own.")
    ] = "1/8",
    guests: Annotated[int, typer.Option("--guests", min=1, help="Labs side by side, in virtual time.")] = 2,
) -> None:
    """Repeat experiments of the papers, each on a lab of its own, and write a report of them."""
    # Here: the lab's other verbs need neither the controller nor what draws plots.
    from slotcar_lab.experiments.running import REPORT, main_of
    from slotcar_lab.experiments.scale import part_of

    try:
        part = part_of(scale)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--scale") from error
    chosen = [] if names == ["all"] else names
    raise typer.Exit(main_of(chosen, out or REPORT, smoke=smoke, real_time=real_time, part=part, guests=guests))


@app.command(name="requirements")
def check_requirements(
    backend: ChosenBackend = None,
    install: Annotated[bool, typer.Option("--install", help="Install what is missing with apt-get.")] = False,
) -> None:
    """List the packages that the lab and the tests need and this machine lacks. Exit status 2 when one is missing."""
    try:
        # The probe needs some of the packages itself: only with those can it say whether the guest is needed.
        requirements.ensure(Backend.NAMESPACES, _progress, install=install)
        requirements.ensure(backend or control.choose_backend(_progress), _progress, install=install)
        for what in ("a guest with systemd", "chaos", "a NETCONF server", "a Prometheus", "the tests of transfers"):
            requirements.ensure_for(what, _progress, install=install)
    except LabError as error:
        _fail(error)
    typer.echo("the lab and the tests have all that they need")


def _attached(state_dir: Path) -> control.Lab:
    lab = control.attach(state_dir)
    if lab is None:
        raise LabError(f"{control.status(state_dir).text}; bring it up with: slotcar lab up")
    return lab


def _topology(inventory: Path | None) -> topology.Topology:
    if inventory is None:
        return topology.garnet()
    # Here: the lab's other verbs need neither the controller nor Ansible.
    from slotcar.base.problems import SlotcarError
    from slotcar.network import load_network
    from slotcar_lab.experiments.wires import topology_of

    try:
        return topology_of(load_network(inventory))
    except SlotcarError as error:
        raise LabError(str(error)) from error


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"lab: {text}", err=True)


def _fail(error: LabError) -> NoReturn:
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(2)
