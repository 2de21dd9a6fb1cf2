"""A change of a NETCONF peer: in the candidate, validated, committed until confirmed; or straight in `running`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from lxml import etree  # type: ignore[import-untyped]

from slotcar.platforms.netconf.question import MARKER, REFUSED, REQUEST, STATE
from slotcar.platforms.netconf.tree import Node, parse
from slotcar.rollout.fanout.login import Login
from slotcar.rollout.netconf.login import NetconfError
from slotcar.rollout.netconf.session import Feature, NetconfRefused, NetconfSession
from slotcar.rollout.transport import Transport

#: Names the commit that waits to be confirmed. Another process confirms or cancels it, and so may one that comes after a
#: crash and knows nothing: it is the same for every push, and a peer has one such commit at most.
PERSIST_ID = "slotcar"
#: Tags with which peers answer where no commit of this name waits.
_NOTHING_WAITS = frozenset({"invalid-value", "operation-failed"})


class NetconfTransport(Transport):
    """The steps' `Transport`. `confirm_s` overrides the steps' own time for the confirmation.

    `running` is never locked: a peer may have to undo an unconfirmed commit meanwhile. What is left of a change when
    anything fails is discarded, and the candidate unlocked, by `close`.
    """

    def __init__(self, name: str, login: Login, confirm_s: int | None = None) -> None:
        self._name = name
        self._session = NetconfSession(name, login)
        self._confirm_s = confirm_s
        self._is_locked = False
        self._will_confirm_s: int | None = None
        self._last_read: dict[str, str] = {}

    async def open(self) -> None:
        await asyncio.to_thread(self._session.open)

    async def close(self) -> None:
        await asyncio.to_thread(self._let_go)
        await asyncio.to_thread(self._session.close)

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        answers = {command: await asyncio.to_thread(self._answer, command) for command in commands}
        self._last_read = {command: text for command, text in answers.items() if command.startswith(MARKER)}
        return answers

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        """Tries the change and takes it out again: a candidate is lost with its session, and may not stay locked until
        the instant. The undo is tried with it by no peer; the steps restore by comparing."""
        await asyncio.to_thread(self._try, "\n".join(apply))

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        return await asyncio.to_thread(self._prepare, "\n".join(apply), self._confirm_s or 60 * minutes)

    async def activate(self, apply: Sequence[str]) -> bool:
        await asyncio.to_thread(self._activate, "\n".join(apply))
        return True

    async def confirm(self) -> None:
        await asyncio.to_thread(self._confirm)

    async def change(self, lines: Sequence[str]) -> None:
        await asyncio.to_thread(self._change, "\n".join(lines))

    async def cancel(self) -> None:
        """Has the peer take back at once what waits to be confirmed. Nothing happens where nothing waits, or where what
        waits has no name: there the change that follows takes its place, and confirms itself."""
        await asyncio.to_thread(self._cancel)

    # -- blocking ------------------------------------------------------------------------------------------------------

    def _answer(self, command: str) -> str:
        """A configuration, or state. That a peer does not tell its state fails no reading."""
        if not command.startswith((STATE, REQUEST)):
            return self._get(command)
        try:
            return self._state(command)
        except NetconfError as error:
            return f"{REFUSED}{error}"

    def _state(self, command: str) -> str:
        if command.startswith(STATE):
            return str(self._session.do("get", filter=("subtree", command.removeprefix(STATE))).data_xml)
        name = command.removeprefix(REQUEST)
        if not name.startswith("get-"):
            raise NetconfError(f"{self._name}: `{name}` is no request that only reads")
        return str(self._session.do("dispatch", rpc_command=etree.Element(name)).xml)

    def _get(self, command: str) -> str:
        if not command.startswith(MARKER):
            raise NetconfError(f"{self._name}: `{command[:40]}` is not a supported NETCONF read command")
        reply = self._session.do("get_config", source="running", filter=("subtree", command.removeprefix(MARKER)))
        return str(reply.data_xml)

    def _try(self, edit: str) -> None:
        if not edit:
            return
        if self._session.has(Feature.CANDIDATE):
            self._edit_candidate(edit)
            self._let_go()
        elif self._session.has(Feature.VALIDATE_1_1):
            self._edit_running(edit, test_option="test-only")

    def _prepare(self, edit: str, confirm_s: int) -> bool:
        if not self._session.has(Feature.CANDIDATE):
            return False
        self._edit_candidate(edit)
        if not (self._session.has(Feature.CONFIRMED_COMMIT) or self._confirms_by_any_commit):
            return False
        self._will_confirm_s = confirm_s
        return True

    def _activate(self, edit: str) -> None:
        if not self._session.has(Feature.CANDIDATE):
            self._edit_running(edit)
        elif self._will_confirm_s is None:
            self._commit()
        else:
            # ncclient takes the seconds as a text.
            options = {"confirmed": True, "timeout": str(self._will_confirm_s)}
            if self._confirms_by_any_commit:
                # It stays locked until it is confirmed or the session ends: nobody else's commit confirms it meanwhile.
                self._session.do("commit", **options)
            else:
                self._commit(**options, persist=PERSIST_ID)

    def _confirm(self) -> None:
        if self._confirms_by_any_commit:
            self._commit_unchanged()
            self._must_be_as_read()
            return
        if not self._session.has(Feature.CONFIRMED_COMMIT):
            return
        try:
            self._session.do("commit", persist_id=PERSIST_ID)
        except NetconfRefused as error:
            if error.tag not in _NOTHING_WAITS:
                raise
            self._must_be_as_read()

    def _must_be_as_read(self) -> None:
        """Refuses where the peer has changed since the reading: it has taken an unconfirmed change back."""
        now = {command: self._get(command) for command in self._last_read}
        if self._meaning(now) != self._meaning(self._last_read):
            raise NetconfError(f"{self._name}: it took the change back before it was confirmed")

    def _meaning(self, texts: Mapping[str, str]) -> dict[str, Node]:
        """The answers without what says when and by whom it was committed: Junos writes that at `configuration`, and the
        commit that confirms changes it."""
        return {command: parse(text, self._name) for command, text in texts.items()}

    @property
    def _confirms_by_any_commit(self) -> bool:
        """Whether what waits has no name: the next commit of anybody confirms it, and nobody can cancel it (RFC 4741
        §8.4)."""
        has = self._session.has
        return has(Feature.CONFIRMED_COMMIT_1_0) and not has(Feature.CONFIRMED_COMMIT)

    def _commit_unchanged(self) -> None:
        """A commit without a change, for what it does to one that waits. Under a lock, which a peer refuses while edits of
        somebody else are in the candidate: they would be committed with it."""
        if not self._is_locked:
            self._lock()
        self._commit()

    def _change(self, edit: str) -> None:
        if not edit:
            # Where a commit waits that cannot be cancelled, the peer would go back to what was before it.
            if self._session.has(Feature.CANDIDATE) and self._confirms_by_any_commit:
                self._commit_unchanged()
            return
        if not self._session.has(Feature.CANDIDATE):
            self._edit_running(edit)
            return
        self._edit_candidate(edit)
        self._commit()

    def _cancel(self) -> None:
        if not self._session.has(Feature.CONFIRMED_COMMIT):
            return
        try:
            self._session.do("cancel_commit", persist_id=PERSIST_ID)
        except NetconfRefused as error:
            if error.tag not in _NOTHING_WAITS:
                raise

    def _edit_candidate(self, edit: str) -> None:
        """Locks the candidate, has the edit validated in it, and puts it there. Stays locked.

        It is put there twice: netconfd 2.13 forgets at `validate` what was edited, and its commit then changes nothing
        and says that all went well. To any other peer the second time is as the first.
        """
        self._lock()
        options = {"target": "candidate", "config": edit, **self._error_option()}
        self._session.do("edit_config", **options)
        if self._session.has(Feature.VALIDATE) or self._session.has(Feature.VALIDATE_1_1):
            self._session.do("validate", source="candidate")
            self._session.do("discard_changes")
            self._session.do("edit_config", **options)

    def _edit_running(self, edit: str, **options: str) -> None:
        """All in one request, which a peer with rollback-on-error does whole or not at all."""
        if not self._session.has(Feature.WRITABLE_RUNNING):
            raise NetconfError(
                f"{self._name}: it has neither a candidate nor a running configuration that can be edited"
            )
        self._session.do("edit_config", target="running", config=edit, **self._error_option(), **options)

    def _error_option(self) -> dict[str, str]:
        return {"error_option": "rollback-on-error"} if self._session.has(Feature.ROLLBACK_ON_ERROR) else {}

    def _lock(self) -> None:
        """
        Raises:
            NetconfError: somebody else holds it, or has left edits in it that are not committed (RFC 6241 §8.3.5.2).
        """
        try:
            self._session.do("lock", target="candidate")
        except NetconfRefused as error:
            raise NetconfError(f"{error}; nothing was changed") from None
        self._is_locked = True

    def _commit(self, **options: object) -> None:
        self._session.do("commit", **options)
        self._let_go()

    def _let_go(self) -> None:
        """Leaves the candidate as `running` is, and free. A peer does so itself where the session has ended."""
        if not self._is_locked:
            return
        self._is_locked = False
        with suppress(NetconfError):
            self._session.do("discard_changes")
        with suppress(NetconfError):
            self._session.do("unlock", target="candidate")
