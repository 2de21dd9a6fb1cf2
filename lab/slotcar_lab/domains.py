"""`make domains`: three controllers with three ledgers, one for each domain of the lab's inventory, that agree.

Each has a folder of its own with its key, its embedded PostgreSQL and its log. A premium flow from ANL through ESnet to
LBNL is reserved by chain, changed, refused, ended, and reserved by an agent. With `--traffic` the lab's routers run, each
domain's controller pushes to its own, and the flow is sent over an SLS that the domains opened while they ran; without it
nothing is pushed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml

from slotcar_client import Slotcar
from slotcar_client.agent import reserve_over
from slotcar_client.wire.errors import NoAnswer, Problem
from slotcar_client.wire.verbs import Connect, Connections, ConnectionStatus, Domains, EndConnection, ModifyConnection
from slotcar_lab import control, ports, topology
from slotcar_lab.domains_traffic import OPENED, lab_up, show_traffic
from slotcar_lab.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("anl", "esnet", "lbnl")
RESERVATION = {
    "name": "tonight", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium", "protocol": "udp",
    "service": "ip-premium", "direction": "both", "rate": "10 Mbit/s", "start": "now + 1 h", "duration": "PT1H",
}  # fmt: skip
SLOTCAR = Path(sys.executable).parent / "slotcar"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where the traffic was not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m slotcar_lab.domains", description=__doc__)
    parser.add_argument("--traffic", action="store_true", help="start the lab's routers, and send the flow")
    with_traffic = parser.parse_args(arguments).traffic
    folder = Path(os.environ.get("SLOTCAR_STATE_DIR", ROOT / "var")).absolute() / "domains"
    control.down(folder / "lab")  # of a run that was killed
    shutil.rmtree(folder, ignore_errors=True)
    with ExitStack() as stack:
        lab = None
        if with_traffic:
            stack.callback(control.down, folder / "lab")
            lab = lab_up(folder / "lab", _say)
        free = ports.free(set(), folder)
        listening = {name: (next(free), next(free)) for name in NAMES}
        inventory = _inventory(folder, {name: port for name, (_, port) in listening.items()}, "demo" if lab else "lab")
        started = {
            name: stack.enter_context(_controller(name, folder, inventory, *listening[name], pushes=lab is not None))
            for name in NAMES
        }
        for name, (client, process) in started.items():
            _wait_for(client, process, folder / name / "serve.log")
        controllers = {name: client for name, (client, _) in started.items()}
        if lab is None:
            show(controllers)
            return 0
        return 0 if show_traffic(controllers, lab, _say) else 1


def show(controllers: Mapping[str, Slotcar]) -> None:
    """What the domains agree on, step by step."""
    anl = controllers["anl"]
    _say("ANL asks ESnet, which asks LBNL (a chain), for 10 Mbit/s each way:")
    chain = anl.send(Connect(RESERVATION))
    _tell(controllers)
    _say("20 Mbit/s instead, in all domains or in none:")
    anl.send(ModifyConnection(chain["connection"], RESERVATION | {"rate": "20 Mbit/s"}))
    _tell(controllers)
    _say("30 Mbit/s more, which is more than the SLS of 45 Mbit/s has left:")
    try:
        anl.send(Connect(RESERVATION | {"name": "too-much", "rate": "30 Mbit/s"}))
    except Problem as error:
        print("  refused: " + "\n           ".join(str(error).splitlines()))
    _tell(controllers)
    _say("The end, in all domains:")
    anl.send(EndConnection(chain["connection"], "shown"))
    # Each domain is told by the one before it.
    _wait_until_ended(controllers, chain["connection"])
    _tell(controllers)
    _say("A client asks each domain in turn, and carries the tickets (an agent):")
    reserve_over(controllers, "anl", RESERVATION | {"name": "by-agent"})
    _tell(controllers)
    _say("What ESnet has heard of its neighbours:")
    for one in controllers["esnet"].send(Domains())["neighbours"]:
        print(
            f"  {one['domain']}  {one['controller']}  clock {one['clock_ahead_ms']:+d} ms  {one['trouble'] or 'no trouble'}"
        )


def _say(words: str) -> None:
    print(f"\n{words}", flush=True)


def _tell(controllers: Mapping[str, Slotcar]) -> None:
    for name, controller in controllers.items():
        for one in controller.send(Connections())["items"]:
            rate = one["slots"][0]["forward_bps"] // 1_000_000
            in_force = f"version {one['committed']} in force" if one["committed"] else "nothing in force"
            print(f"  {name:6} {one['name']:10} {rate:3} Mbit/s  {one['phase']}  {in_force}")


def _wait_until_ended(controllers: Mapping[str, Slotcar], connection: str) -> None:
    end_s = time.monotonic() + HANG_S
    while any(one.send(ConnectionStatus(connection))["phase"] != "terminated" for one in controllers.values()):
        if time.monotonic() > end_s:
            raise SystemExit(f"connection {connection} did not end in all domains")
        time.sleep(0.1)


def _inventory(folder: Path, peer_ports: Mapping[str, int], source: str) -> Path:
    """One of the inventories, with where each domain's controller is and which certificate it has. That of the demo is
    without an SLS which the domains open instead."""
    inventory = folder / "inventory"
    shutil.copytree(ROOT / "inventories" / source, inventory)
    for name in NAMES:
        file = inventory / "group_vars" / f"{name}.yml"
        written = yaml.safe_load(file.read_text())
        certificate = f"../{name}/domain/certificate.pem"
        written["slotcar_domain"] = {"controller": f"https://127.0.0.1:{peer_ports[name]}", "certificate": certificate}
        if source == "demo":
            written["slotcar_sls"].pop(OPENED["name"], None)
            written["slotcar_domain"]["sls_at_most"] = OPENED["rate"]
        file.write_text(yaml.safe_dump(written, sort_keys=False))
    for name in NAMES:
        _run(_environment(name, folder, inventory), "domains", "key")
    return inventory


def _environment(name: str, folder: Path, inventory: Path) -> dict[str, str]:
    kept = topology.PORT_BASE_VARIABLE
    own = {key: value for key, value in os.environ.items() if not key.startswith("SLOTCAR_") or key == kept}
    return own | {
        "SLOTCAR_STATE_DIR": str(folder / name),
        "SLOTCAR_INVENTORY": str(inventory),
        "SLOTCAR_DOMAIN": name,
        "SLOTCAR_OPEN": "true",
        "SLOTCAR_ADOPT_ALL": "true",
    }


def _run(environment: Mapping[str, str], *arguments: str) -> None:
    subprocess.run([str(SLOTCAR), *arguments], env=dict(environment), check=True)


@contextmanager
def _controller(
    name: str, folder: Path, inventory: Path, port: int, peer_port: int, *, pushes: bool
) -> Iterator[tuple[Slotcar, subprocess.Popen[bytes]]]:
    environment = _environment(name, folder, inventory) | {"SLOTCAR_PEER_LISTEN": f"127.0.0.1:{peer_port}"}
    if pushes:  # the inventory looks for the lab's keys there
        (folder / name / "lab").symlink_to(folder / "lab")
    _run(environment, "db", "upgrade")
    with (folder / name / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [str(SLOTCAR), "serve", *([] if pushes else ["--no-reconcile"]), "--port", str(port)],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        with Slotcar(f"http://127.0.0.1:{port}") as client:
            yield client, process
    finally:
        process.terminate()
        process.wait()


def _wait_for(client: Slotcar, process: subprocess.Popen[bytes], log: Path) -> None:
    end_s = time.monotonic() + HANG_S
    while time.monotonic() < end_s and process.poll() is None:
        try:
            client.send(Domains())
        except NoAnswer:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"the controller did not start:\n{log.read_text()}")


if __name__ == "__main__":
    sys.exit(main())
