"""A router without its network: what is committed, the candidate, who holds it, and a commit that waits."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from lxml import etree  # type: ignore[import-untyped]

from slotcar_lab.junos.checking import check
from slotcar_lab.junos.counters import Counted
from slotcar_lab.junos.inheritance import effective
from slotcar_lab.junos.tree import Element, Refused, edit, empty

#: `rollback 0` to `rollback 49`.
MOST_COMMITS = 50


class Timer(Protocol):
    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Commit:
    """A revision: what it has, whose it is, and what was said of it."""

    configuration: Element
    at: datetime
    user: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A confirmed commit that nobody has confirmed: what comes back, and whose session it was."""

    before: Element
    session_id: int
    confirm_s: int
    timer: Timer


@dataclass(slots=True)
class Machine:
    """
    Attributes:
        ports: the hardware's interfaces, which a range's wildcards mean.
        node: what `${node}` in `apply-groups` stands for.
        takes_insert: it does what `insert="first"` of an `edit-config` says.
        outlives_session: a commit that waits to be confirmed goes on where its session ends; else it is taken back then,
            as RFC 4741 §8.4 has it.
        after: calls something after so many seconds.
        now: the clock.
        changed: called after everything that a test may wait for.
        warnings: what each commit warns of, although it does what it is told.
    """

    name: str
    ports: tuple[str, ...] = ()
    node: str = "node0"
    takes_insert: bool = True
    outlives_session: bool = True
    after: Callable[[float, Callable[[], None]], Timer] | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    changed: Callable[[], None] = lambda: None
    warnings: list[str] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    candidate: Element = field(default_factory=empty)
    holder: int | None = None
    waiting: Waiting | None = None
    taken_back: int = 0
    counters: Counted = field(default_factory=Counted)

    def boot(self, text: str) -> None:
        """
        Raises:
            Refused: the text has statements that the router does not know, or that cannot be committed.
        """
        root = empty()
        edit(
            root,
            etree.fromstring(
                text or "<configuration/>", etree.XMLParser(remove_blank_text=True, remove_comments=True)
            ),
        )
        self.candidate = root
        self._must_be_valid(root)
        self._record(root, "root", "boot")

    @property
    def running(self) -> Element:
        return self.commits[0].configuration

    @property
    def is_modified(self) -> bool:
        return _text(self.candidate) != _text(self.running)

    def in_force(self, source: Element | None = None) -> Element:
        """What it comes to: without what is deactivated, with groups and ranges."""
        return effective(self.running if source is None else source, self.ports, self.node)

    # -- the candidate -------------------------------------------------------------------------------------------------

    def lock(self, session_id: int) -> None:
        if self.holder == session_id:
            return
        self.must_be_free(session_id)
        if self.is_modified:
            raise Refused("configuration database modified", "lock-denied", session_id=0)
        self.holder = session_id

    def unlock(self, session_id: int) -> None:
        if self.holder != session_id:
            raise Refused("configuration database is not locked", "operation-failed")
        self.holder = None
        self.discard(session_id)

    def must_be_free(self, session_id: int) -> None:
        if self.holder not in (None, session_id):
            words = (
                f"configuration database locked by:\n  slotcar terminal (pid {self.holder})\n      exclusive [edit]"
            )
            raise Refused(words, "lock-denied", session_id=self.holder)

    def edit(self, configuration: Element, session_id: int, default: str = "merge") -> None:
        self.must_be_free(session_id)
        edit(self.candidate, configuration, default, takes_insert=self.takes_insert)
        self.changed()

    def discard(self, session_id: int) -> None:
        self.must_be_free(session_id)
        self.candidate = deepcopy(self.running)
        self.changed()

    def load_rollback(self, number: int, session_id: int) -> None:
        """`rollback N`: the candidate becomes what was committed so many commits ago."""
        self.must_be_free(session_id)
        if not 0 <= number < len(self.commits):
            raise Refused(f"rollback {number} is not available", "invalid-value")
        self.candidate = deepcopy(self.commits[number].configuration)

    def end(self, session_id: int) -> None:
        """A session is gone: what it held is free, and its edits are with it."""
        if self.holder == session_id:
            self.unlock(session_id)
        if self.waiting and self.waiting.session_id == session_id and not self.outlives_session:
            self.take_back()

    # -- commits -------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """`commit check`.

        Raises:
            Refused: the first problem.
        """
        self._must_be_valid(self.candidate)

    def commit(self, session_id: int, user: str, *, confirm_s: int | None = None, comment: str = "") -> None:
        """Any commit confirms one that waits; with `confirm_s` this one waits itself."""
        self.must_be_free(session_id)
        self.check()
        waiting = self._forget_waiting()
        if confirm_s is not None:
            before = waiting.before if waiting else deepcopy(self.running)
            assert self.after is not None, "the router does not run"
            self.waiting = Waiting(before, session_id, confirm_s, self.after(confirm_s, self.take_back))
            comment = comment or f"commit confirmed, rollback in {max(1, confirm_s // 60)}mins"
        if self.is_modified or confirm_s is not None or waiting:
            self._record(self.candidate, user, comment)
        self.changed()

    def take_back(self) -> None:
        """The time is over: what was before comes back, by a commit of the router's own."""
        waiting = self._forget_waiting()
        if waiting is None:
            return
        self._record(waiting.before, "root", "commit confirmed automatic rollback")
        self.candidate = deepcopy(self.running)
        self.taken_back += 1
        self.changed()

    def _forget_waiting(self) -> Waiting | None:
        waiting, self.waiting = self.waiting, None
        if waiting:
            waiting.timer.cancel()
        return waiting

    def _record(self, configuration: Element, user: str, comment: str) -> None:
        self.commits.insert(0, Commit(deepcopy(configuration), self.now(), user, comment))
        del self.commits[MOST_COMMITS:]

    def _must_be_valid(self, configuration: Element) -> None:
        problems = check(self.in_force(configuration))
        if problems:
            raise problems[0]

    def forget(self) -> None:
        """The router is gone: nothing happens by itself any more."""
        self._forget_waiting()


def _text(root: Element) -> bytes:
    return bytes(etree.tostring(root))
