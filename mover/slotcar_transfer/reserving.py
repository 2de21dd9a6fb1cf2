"""The reservation of a transfer: asked for as a volume by a deadline, followed, reported to, given back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from slotcar_client import Conflict, NoAnswer, Problem, Refused, Slotcar, SlotcarError
from slotcar_client.calls import LIVE
from slotcar_client.wire.documents import Entry
from slotcar_transfer.errors import NotAdmitted, TransferError, size_text
from slotcar_transfer.holdings import Holding, holding_by, reserved
from slotcar_transfer.lanes import Steering
from slotcar_transfer.profile import Profile, Shape, late_peak_bps
from slotcar_transfer.tcp import ADDITIONAL, BASE

#: On top of the files: records of TLS (22 bytes in 16 KiB), headers of blocks, and TCP's options, which admission does not
#: count (12 bytes in 1460).
_MORE_PER_MILLE, _MORE_BYTES = 12, 64 << 10
#: States in which routers let it through in its slots.
_CARRIED = "committed"
#: Where the controller is away at the end, it is asked so often to take the reservation back.
_LAST_TRIES, _LAST_WAIT_S = 3, 2.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ends:
    """Of the base connection's packets: `source` is the sender, as Slotcar's inventory names it; with the ports, where
    they are bound."""

    source: str
    source_port: int | None
    destination: str
    destination_port: int | None


@dataclass
class Reservation:
    """
    Attributes:
        name, by, service, shape: as they are asked for.
        more: further keys of the reservation, such as its labels.
        steering: gets the profile, the code points, and every change.
        say: gets a sentence for people at each change. lost: gets one where there is no reservation any more.
    """

    slotcar: Slotcar
    name: str
    by: datetime
    service: str
    steering: Steering
    say: Say
    lost: Say = lambda _words: None
    owner: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    shape: Shape = Shape.STEADY
    holding: Holding | None = None
    state: str = ""
    _last_trouble: str = ""
    _over: bool = False

    @property
    def handle(self) -> str:
        """Empty before it is made."""
        return self.holding.handle if self.holding else ""

    def earlier(self) -> Holding | None:
        """One that an earlier try of the same transfer left, if it will do."""
        return holding_by(self.slotcar, self.name, self._owner(), self.by)

    def begin(self, remaining_bytes: int, ends: Ends) -> None:
        """Reserves the volume, or takes up what an earlier try reserved; then follows it.

        Raises:
            NotAdmitted: there is no room, or a rule is against it.
            TransferError: the controller does not answer, or the request is wrong.
        """
        try:
            # Before the state is read: no event of a change falls between the two.
            newest = self.slotcar.events(newest=True, limit=1)
            earlier = self.earlier()
            holding = self._taken_up(earlier, remaining_bytes, ends) or self._create(remaining_bytes, ends)
            dscps = next(one["dscps"] for one in self.slotcar.services() if one["service"] == self.service)
        except Refused as refused:
            raise NotAdmitted(_refusal(refused, remaining_bytes)) from refused
        except Conflict as error:
            raise NotAdmitted(f"not admitted: {error}") from error
        except SlotcarError as error:
            raise TransferError(f"the reservation could not be made: {error}") from error
        # In profile the class's first code point; out of profile its last, which edges that do not know the flow reset.
        self.steering.dscps = {BASE: dscps[0], ADDITIONAL: dscps[-1] if len(dscps) > 1 else 0}
        self._take(holding)
        over = f", in all domains as connection {holding.connection}" if holding.connection else ""
        self.say(f"reserved as {self.handle}{over}: {self._words(holding.entry)}")
        after = newest[0]["sequence"] if newest else 0
        threading.Thread(target=self._watch, args=(after,), name="watch", daemon=True).start()

    def report(self, remaining_bytes: int) -> None:
        """Says what remains; the controller finds the rates again. A controller that is away is told later."""
        if self.holding is None or self._over or self.state not in LIVE:
            return
        try:
            self._take(self.holding.report(_volume(max(1, remaining_bytes))))
        except NoAnswer as error:
            self._once(f"the controller does not answer ({error}); the transfer goes on as it was promised")
        except SlotcarError as error:
            self._once(f"the controller does not take the report: {error}")
            with suppress(SlotcarError):
                self._take(self.holding.read())

    def give_back(self, done: bool, reason: str = "") -> None:
        """Ends it: what it still held is free for others. Says so where the controller cannot be told."""
        self._over = True
        if self.holding is None or self.state not in LIVE:
            return
        for number in range(_LAST_TRIES):
            try:
                if done:
                    self.holding.report("0 B")
                else:
                    self.holding.end(reason or "the transfer was stopped")
                return
            except NoAnswer:
                if number + 1 < _LAST_TRIES:
                    time.sleep(_LAST_WAIT_S)
            except SlotcarError:
                # It is over already, or what is left of it is a slot that has begun.
                with suppress(SlotcarError):
                    self.holding.end(reason or "the transfer is done")
                return
        self.say(
            f"the controller does not answer: {self.handle} was not given back, and ends by itself at its deadline"
        )

    # -- following -------------------------------------------------------------------------------------------------

    def _taken_up(self, earlier: Holding | None, remaining_bytes: int, ends: Ends) -> Holding | None:
        """What an earlier try reserved, for what remains now; given back where it will not do."""
        if earlier is None:
            return None
        if _same(earlier.entry, ends):
            # More may remain than was reported: the files are others now.
            with suppress(Conflict):
                return earlier.report(_volume(remaining_bytes))
        with suppress(Problem):
            earlier.end("the transfer goes on with another reservation")
        return None

    def _create(self, remaining_bytes: int, ends: Ends) -> Holding:
        request = {
            "name": self.name, "protocol": "tcp", "service": self.service, "volume": _volume(remaining_bytes),
            "source": {"host": ends.source, "port": ends.source_port},
            "destination": {"host": ends.destination, "port": ends.destination_port},
            "by": self.by.astimezone(UTC).isoformat(), **self.more,
        }  # fmt: skip
        if self.shape is not Shape.STEADY:
            request["shape"] = self.shape.value
        if self.shape is Shape.LATEST and "at_most" not in request:
            request["at_most"] = f"{late_peak_bps(_volume_bytes(remaining_bytes), self.by, datetime.now(UTC))} bit/s"
        if self.owner:
            request["owner"] = self.owner
        return reserved(self.slotcar, request)

    def _owner(self) -> str | None:
        return self.owner or self.slotcar.whoami()["owner"]

    def _watch(self, after: int) -> None:
        with suppress(Exception):  # it ends with the client, or with the right to look
            for _event in self.slotcar.watch(self.handle, after=after, on_trouble=self._once):
                if self._over:
                    return
                if self.holding is not None:
                    self._take(self.holding.read())

    def _take(self, holding: Holding) -> None:
        self.holding, entry = holding, holding.entry
        state, before = entry["state"], self.steering.profile
        self.steering.packet_bytes = entry["reservation"].get("packet_size_bytes") or 1500
        profile = Profile.of_slots(entry["reservation"]["slots"]) if state == _CARRIED else Profile()
        self.steering.profile = profile
        if self._over:
            self.state = state  # what becomes of it now is this end's own doing
        elif state != self.state:
            self.state = state
            if state not in LIVE:
                self.lost(f"the reservation is {state}")
            elif state not in (_CARRIED, "ended"):
                self.say(f"the reservation is {state}: until it is committed nothing is promised")
        elif before is not None and before != profile:
            self.say(f"the reservation has changed: {self._words(entry)}")

    def _words(self, entry: Entry) -> str:
        now = datetime.now(UTC)
        steps = Profile.of_slots(entry["reservation"]["slots"])
        later = [one for one in steps.steps if one.since > now]
        words = [f"{steps.rate_at(now) / 1e6:.3f} Mbit/s now"]
        words += [f"{one.rate_bps / 1e6:.3f} from {one.since:%H:%M:%S} UTC" for one in later[:4]]
        return ", ".join(words) + (f", and {len(later) - 4} changes more" if len(later) > 4 else "")

    def _once(self, words: str) -> None:
        """The same trouble is said once."""
        if words != self._last_trouble and not self._over:
            self._last_trouble = words
            self.say(words)


def _same(entry: Entry, ends: Ends) -> bool:
    source, destination = entry["reservation"]["source"], entry["reservation"]["destination"]
    return (source["port"], destination["port"]) == (ends.source_port, ends.destination_port)


def _volume_bytes(size_bytes: int) -> int:
    return size_bytes + size_bytes * _MORE_PER_MILLE // 1000 + _MORE_BYTES


def _volume(size_bytes: int) -> str:
    return f"{_volume_bytes(size_bytes)} B"


def _refusal(refused: Refused, asked_bytes: int) -> str:
    transfer = refused.refusal.get("transfer")
    if not transfer:
        return f"not admitted: {refused}"
    words = f"not admitted: {size_text(asked_bytes)} cannot be promised by {transfer['deadline']}"
    words += f"; {size_text(transfer['most_bytes'])} would fit"
    if transfer["earliest_deadline"]:
        words += f", and all of it by {transfer['earliest_deadline']}"
    return words + (f" (short: {transfer['place'] or transfer['tightest']})" if transfer["tightest"] else "")
