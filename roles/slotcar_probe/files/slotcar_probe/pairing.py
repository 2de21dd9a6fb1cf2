"""What became of each packet in both directions, out of the answers that came back. Pure.

The reflector numbers what it answers, so that a packet without an answer was lost on its way there where the reflector's
numbers go on without a gap, and its answer on the way back where one of them is missing (RFC 8762 §4.3, stateful). Behind
the last answer nothing tells these apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from slotcar_probe.packet import ReflectorPacket

#: The reflector's numbers may overtake each other by so many; what is further back was counted anew, after a restart.
REORDERED = 64


@dataclass(frozen=True, slots=True)
class SentPacket:
    sequence: int
    sent_ns: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The first answer to a packet, when it arrived, and by which code point."""

    packet: ReflectorPacket
    received_ns: int
    arrived_dscp: int


@dataclass(slots=True)
class Stretch:
    """Packets in the order of sending, and the answers to them by their numbers."""

    sent: list[SentPacket] = field(default_factory=list)
    answers: dict[int, Answer] = field(default_factory=dict)

    @property
    def answered(self) -> list[tuple[SentPacket, Answer]]:
        return [(one, self.answers[one.sequence]) for one in self.sent if one.sequence in self.answers]

    def cut(self, until_ns: int) -> Stretch:
        """Takes what was sent before an instant and can be told of: up to the last packet that was answered, or all of it
        where none was. What stays is told of with what follows."""
        sent = [one for one in self.sent if one.sent_ns < until_ns]
        last = max((place for place, one in enumerate(sent) if one.sequence in self.answers), default=len(sent) - 1)
        taken, self.sent = Stretch(sent[: last + 1]), self.sent[last + 1 :]
        taken.answers = {
            one.sequence: self.answers.pop(one.sequence) for one in taken.sent if one.sequence in self.answers
        }
        return taken


@dataclass(slots=True)
class Way:
    """One direction.

    Attributes:
        packets: of each its number, when it was sent in nanoseconds, and its delay; None where it was lost. Of a lost
            answer the sending is between those of its neighbours.
        unstamped: how many arrived of which no delay is known: their answers were lost.
        unanswered: how many are left of which nothing is known.
        remarked: how many arrived by another code point than they were sent by.
        untold: how many arrived of which nobody says by which.
        started_ns: when the first was sent, answered or not.
    """

    started_ns: int = 0
    packets: list[tuple[int, int, int | None]] = field(default_factory=list)
    unstamped: int = 0
    unanswered: int = 0
    remarked: int = 0
    untold: int = 0


@dataclass(frozen=True, slots=True)
class Paired:
    """Both directions, and what the clocks of both ends may be off by together; None where one is not kept right, or is
    off by more than it says."""

    forward: Way
    reverse: Way
    clock_error_ns: int | None


def paired(stretch: Stretch, error_ns: int | None, dscp: int, previous: Answer | None = None) -> Paired:
    """
    Args:
        error_ns: the greatest that the sender's clock said meanwhile; None where it was not synchronized.
        dscp: by which all were to travel.
        previous: the last answer before the stretch; None where there is none.
    """
    answered = stretch.answered
    clocks = [answer.packet.clock for _, answer in answered]
    theirs = max((one.error_ns for one in clocks), default=0)
    is_known = error_ns is not None and bool(clocks) and all(one.is_synchronized for one in clocks)
    forward, reverse = _forward(stretch, dscp, previous), _reverse([answer for _, answer in answered], dscp, previous)
    forward.started_ns = reverse.started_ns = stretch.sent[0].sent_ns if stretch.sent else 0
    if not answered:
        reverse.unanswered = len(stretch.sent)
    both_ns = (error_ns or 0) + theirs
    return Paired(forward, reverse, both_ns if is_known and not _is_refuted(both_ns, forward, reverse) else None)


def _is_refuted(error_ns: int, forward: Way, reverse: Way) -> bool:
    """Whether a packet arrived before it was sent by more than the clocks are said to be off by. As much is too long in
    the other direction, where it shows by nothing: so neither direction's delay is known."""
    delays_ns = (delay_ns for way in (forward, reverse) for _, _, delay_ns in way.packets if delay_ns is not None)
    return min(delays_ns, default=0) + error_ns < 0


def _forward(stretch: Stretch, dscp: int, previous: Answer | None) -> Way:
    way, last = Way(), previous.packet.sequence if previous else None
    for run, answer in _runs(stretch):
        if answer is None:
            way.unanswered += len(run)
            continue
        between = 0 if last is None else answer.packet.sequence - last - 1
        if last is None or between < -REORDERED:
            way.unanswered += len(run) - 1
        else:
            # Which of the run arrived is not known: the last ones, as good as any.
            arrived = min(len(run) - 1, max(0, between))
            way.unstamped += arrived
            way.packets += [(one.sequence, one.sent_ns, None) for one in run[: len(run) - 1 - arrived]]
        way.packets.append((run[-1].sequence, run[-1].sent_ns, answer.packet.received_ns - run[-1].sent_ns))
        _mark(way, answer.packet.arrived_dscp, dscp)
        last = answer.packet.sequence
    return way


def _runs(stretch: Stretch) -> Iterator[tuple[list[SentPacket], Answer | None]]:
    """Each packet that was answered, with those before it that were not; and what is left behind the last."""
    run: list[SentPacket] = []
    for one in stretch.sent:
        run.append(one)
        if (answer := stretch.answers.get(one.sequence)) is not None:
            yield run, answer
            run = []
    if run:
        yield run, None


def _reverse(answers: Sequence[Answer], dscp: int, previous: Answer | None) -> Way:
    way, base = Way(), 0
    for place, epoch in enumerate(_epochs(answers, previous)):
        known = {answer.packet.sequence: answer for answer in epoch}
        last = previous if place == 0 else None
        for number in sorted(known):
            answer = known[number]
            if last is not None:
                way.packets += [(base + lost, at_ns, None) for lost, at_ns in _lost_between(last, answer)]
            way.packets.append((base + number, answer.packet.sent_ns, answer.received_ns - answer.packet.sent_ns))
            last = answer
        base += max(known) + 2
    for answer in answers:
        _mark(way, answer.arrived_dscp, dscp)
    return way


def _mark(way: Way, arrived_dscp: int | None, dscp: int) -> None:
    way.untold += arrived_dscp is None
    way.remarked += arrived_dscp is not None and arrived_dscp != dscp


def _epochs(answers: Sequence[Answer], previous: Answer | None) -> Iterator[list[Answer]]:
    """Parts between which the reflector began to count anew; the first goes on from `previous`, and may be empty."""
    epoch: list[Answer] = []
    last = previous
    for answer in answers:
        if last is not None and answer.packet.sequence < last.packet.sequence - REORDERED:
            if epoch:
                yield epoch
            epoch, last = [], None
        epoch.append(answer)
        last = answer
    if epoch:
        yield epoch


def _lost_between(last: Answer, answer: Answer) -> list[tuple[int, int]]:
    """The numbers between two answers, each with an instant of sending between theirs."""
    first, until = last.packet.sequence, answer.packet.sequence
    span_ns = answer.packet.sent_ns - last.packet.sent_ns
    return [
        (number, last.packet.sent_ns + span_ns * (number - first) // (until - first))
        for number in range(first + 1, until)
    ]
