"""Both ends of the base connection on hosts of the lab: the mover's own sender and receiver, without a controller.

    ends.py serve FOLDER ADDRESS PORT
    ends.py send FOLDER METHOD RATE_BPS DSCP SECONDS

`send` says `ready`, reads from standard input when to begin (seconds since the epoch), and prints a line of JSON each half
second: TCP's payload that is acknowledged, and segments sent again. METHOD is `proposed` (the mover as it is), or `fixed`
and `newreno`: the kernel's Reno without pacing, whose window the route may bound.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slotcar_transfer import sending, tcp
from slotcar_transfer.calling import Caller
from slotcar_transfer.errors import Stopped, TransferError
from slotcar_transfer.identity import Identity
from slotcar_transfer.lanes import BaseControl, Steering, prepare
from slotcar_transfer.moving import Job, push
from slotcar_transfer.profile import Profile, Step
from slotcar_transfer.serving import Server
from slotcar_transfer.wire import Channel

#: More than any run moves; it is sparse, and takes no place.
FILE_BYTES = 400_000_000
LITTLE_BYTES = 10_000
LOOK_S = 0.5


def serve(folder: Path, address: str, port: int) -> None:
    """Makes both ends' keys, in one file system, and serves."""
    ends = {name: Identity(folder / name) for name in ("sender", "receiver")}
    for name, one in ends.items():
        one.make(name)
    ends["sender"].trust("receiver", ends["receiver"].certificate.read_text(), address, port)
    ends["receiver"].trust("sender", ends["sender"].certificate.read_text())
    (folder / "into").mkdir(exist_ok=True)
    server = Server(folder / "into", ends["receiver"], address, port)
    print("ready", flush=True)
    server.serve()


def send(folder: Path, method: str, rate_bps: int, dscp: int, seconds: float) -> None:
    identity = Identity(folder / "sender")
    _warm_up(folder, identity)
    source = folder / f"file-{method}-{time.time_ns()}"
    with source.open("wb") as stream:
        stream.truncate(FILE_BYTES)
    profile = Profile((Step(datetime.now(UTC) - timedelta(hours=1), rate_bps),))
    steering = Steering(profile if method == "proposed" else None, dscps={"base": dscp}, additional=False)
    job = Job(identity, source.name, steering, seconds=FILE_BYTES * 8 / rate_bps)
    lanes: list[Channel] = []

    def prepared(lane: str, channel: Channel, steering: Steering) -> BaseControl | None:
        lanes.append(channel)
        control = prepare(lane, channel, steering)
        if method != "proposed" and not tcp.congestion_control(channel.socket, "reno"):
            print(json.dumps({"note": "the kernel has no Reno for this user"}), flush=True)
        return control

    setattr(sending, "prepare", prepared)  # noqa: B010 - the methods to compare with are no part of the mover
    print("ready", flush=True)
    time.sleep(max(0.0, float(sys.stdin.readline()) - time.time()))
    threading.Thread(target=report, args=(lanes,), daemon=True).start()
    threading.Timer(seconds, lambda: job.stop(Stopped("the run is over"))).start()
    try:
        push(job, source, Caller(identity, identity.peer("receiver")), source.name)
    except TransferError as error:
        if not isinstance(error, Stopped):
            raise
    print(json.dumps({"over": True}), flush=True)


def _warm_up(folder: Path, identity: Identity) -> None:
    """Both ends open all files that a transfer needs before time runs: one that is opened then asks this machine, and for
    as long as the answer takes the guest's clock leaps. A handshake took 19 s so."""
    little = folder / f"little-{time.time_ns()}"
    little.write_bytes(bytes(LITTLE_BYTES))
    job = Job(identity, little.name, Steering(additional=False), seconds=1.0)
    push(job, little, Caller(identity, identity.peer("receiver")), little.name)


def report(lanes: list[Channel]) -> None:
    while True:
        time.sleep(LOOK_S)
        for channel in lanes[-1:]:
            try:
                now = tcp.info(channel.socket)
            except OSError:
                return
            sample = {
                "at": time.time(),
                "bytes": now.acknowledged_bytes,
                "again": now.retransmitted_segments,
                "rtt_us": now.rtt_us,
            }
            print(json.dumps(sample), flush=True)


if __name__ == "__main__":
    where = Path(sys.argv[2])
    if sys.argv[1] == "serve":
        serve(where, sys.argv[3], int(sys.argv[4]))
    else:
        send(where, sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
