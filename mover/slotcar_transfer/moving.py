"""One try of a transfer, each way: this end sends, this end receives, or another end is asked to send to a third."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from slotcar_transfer.calling import Caller, Keeper
from slotcar_transfer.counting import Count
from slotcar_transfer.errors import TransferError
from slotcar_transfer.fireflies import Fireflies, SciTag
from slotcar_transfer.identity import Identity
from slotcar_transfer.lanes import Steering, Ticker
from slotcar_transfer.manifest import block_bytes_in, listed
from slotcar_transfer.receiving import Receiver, Wanted
from slotcar_transfer.sending import Sender
from slotcar_transfer.staging import Tree
from slotcar_transfer.wire import Channel


@dataclass
class Job:
    """What all tries of a transfer have in common.

    Attributes:
        ready: is called when it is known what remains, with the first connection; it reserves, and sets the steering.
        base_port: of the end that connects, for the base connection.
        seconds: until the deadline, as it was begun; it gives the size of blocks.
        current: ends the present try with an error.
        fireflies: announces the connections; the one that sends for a relay announces its own, to the other end alone.
    """

    identity: Identity
    name: str
    steering: Steering = field(default_factory=Steering)
    count: Count = field(default_factory=Count)
    ready: Callable[[Channel | None], None] = lambda _control: None
    base_port: int | None = None
    seconds: float | None = None
    #: Of an HTTP server: its name, its port, and this end's address on the way to it.
    server: tuple[str, int, str] | None = None
    current: Callable[[BaseException], None] | None = None
    fireflies: Fireflies | None = None

    @property
    def scitag(self) -> SciTag | None:
        return None if self.fireflies is None else self.fireflies.tag

    def announce(self, channel: Channel, *, sends: bool) -> None:
        """Says whose a connection for blocks is, where that is to be said."""
        if self.fireflies is not None:
            channel.before_close = self.fireflies.begin(channel.socket, sends=sends)

    def stop(self, error: BaseException) -> None:
        """Ends the present try with that error."""
        if self.current is not None:
            self.current(error)


def push(job: Job, source: Path, caller: Caller, destination: str) -> dict[str, Any]:
    """This end reads and sends, the peer writes.

    Raises:
        TransferError: it was not done.
    """
    files = listed(source)
    control, answer = caller.call(verb="receive", destination=destination, job=job.name)
    block_bytes = block_bytes_in(sum(one.size_bytes for one in files), job.seconds)

    def begun() -> None:
        job.ready(control)
        keeper.open()

    sender = Sender(
        control, source, files, block_bytes, job.steering, job.count, lambda lane: keeper.lost(lane), begun=begun
    )
    keeper = Keeper(
        caller, answer["session"], job.base_port, job.steering, sender.attach, sender.fail,
        partial(job.announce, sends=True),
    )  # fmt: skip
    job.current = sender.fail
    try:
        return sender.run()
    finally:
        job.current = None
        keeper.close()


def pull(job: Job, caller: Caller, source: str, tree: Tree, destination: str) -> dict[str, Any]:
    """The peer reads and sends, this end writes. What it goes by is said to the sender, also when it changes.

    Raises:
        TransferError: it was not done.
    """
    control, answer = caller.call(verb="send", source=source, seconds=job.seconds)
    steered: list[dict[str, object]] = []

    def steer() -> None:
        document = job.steering.document()
        if steered[-1:] != [document]:
            steered[:] = [document]
            receiver.steer(document)

    def begun() -> None:
        job.ready(control)
        steer()
        keeper.open()

    receiver = Receiver(
        control, tree, Wanted(destination, job.name), job.count, lambda lane: keeper.lost(lane), begun=begun
    )
    keeper = Keeper(
        caller, answer["session"], job.base_port, job.steering, receiver.attach, receiver.fail,
        partial(job.announce, sends=False),
    )  # fmt: skip
    job.current = receiver.fail
    ticker = Ticker(lambda: steer() if steered else None)
    try:
        return receiver.run()
    finally:
        job.current = None
        ticker.close()
        keeper.close()
        control.finish()


def relay(job: Job, caller: Caller, source: str, peer: str, destination: str) -> dict[str, Any]:
    """One peer sends to another one, and this end says how fast and hears how far.

    Raises:
        TransferError: it was not done.
    """
    control, _ = caller.call(
        verb="relay", source=source, peer=peer, destination=destination, seconds=job.seconds,
        base_port=job.base_port, scitag=None if job.scitag is None else astuple(job.scitag),
    )  # fmt: skip
    failed: list[BaseException] = []
    steered: list[dict[str, object]] = []

    def stop(error: BaseException) -> None:
        failed.append(error)
        kind = error.kind if isinstance(error, TransferError) else "stopped"
        control.send_message({"error": kind, "words": str(error)})
        control.finish()

    def steer() -> None:
        document = job.steering.document()
        if steered[-1:] != [document]:
            steered[:] = [document]
            control.send_message({"steer": document})

    job.current = stop
    ticker: Ticker | None = None
    try:
        while True:
            message = control.receive_message()
            if "count" in message:
                job.count.take(message["count"])
            if message.get("begun"):
                job.ready(control)
                steer()
                ticker = Ticker(steer)
                control.send_message({"go": True})
            if "finished" in message:
                result: dict[str, Any] = message["finished"]
                return result
    except TransferError as error:
        raise (failed[0] if failed else error) from error
    finally:
        job.current = None
        if ticker is not None:
            ticker.close()
        control.close()
