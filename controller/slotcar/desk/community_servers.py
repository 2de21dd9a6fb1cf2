"""Asks a community's server whether it approves of a reservation, at admission and within a time limit (GARA §6)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from slotcar.base import lengths
from slotcar.base.problems import printable, shortened
from slotcar.base.timebase import iso
from slotcar.policy.reserving import ASKED_BY, ATTESTATION
from slotcar.policy.site import Site
from slotcar.reservation.model import Reservation

if TYPE_CHECKING:
    import httpx

#: For everything: the name's look-up, the connection, TLS, the request and the answer. An admission waits for it.
ANSWER_S = 2.0
#: More than any answer has.
LARGEST_ANSWER_BYTES = 65_536
#: Questions at once; what waits behind them runs out of its time.
MOST_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class CommunityAnswer:
    """`attestation`: what the server has signed; empty where it has not. `why_not`: in words, for who asks. `is_silent`: it
    has not answered."""

    attestation: str = ""
    why_not: str = ""
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Approvals:
    """What communities' servers say of reservations that are asked for together: each is asked about once, and of a server
    that did not answer nobody waits for a second time."""

    site: Site
    _answers: dict[tuple[str, str], CommunityAnswer] = field(default_factory=dict)
    _silent: dict[str, CommunityAnswer] = field(default_factory=dict)

    def of(self, reservation: Reservation) -> Mapping[str, Any]:
        """As parts of a request for it; none where its owner's community has no server, or it brings a signature."""
        name = self.site.community_of(reservation.owner)
        server = self.site.communities[name].server if name is not None else None
        if name is None or server is None or ATTESTATION in reservation.labels:
            return {}
        answer = self._answers.get(reservation.key) or self._silent.get(name)
        if answer is None:
            answer = self._answers[reservation.key] = ask_community(name, server, reservation)
            if answer.is_silent:
                self._silent[name] = answer
        return {"attestation": answer.attestation, "not_attested": answer.why_not}


def ask_community(name: str, server: str, reservation: Reservation) -> CommunityAnswer:
    """Asks once. Whoever is not reached in `ANSWER_S`, or answers something else, has not approved.

    Args:
        name: the community's. server: its address, of https.
    """
    client = _client()  # to make the first one takes longer than many an answer
    future: Future[CommunityAnswer] = _threads().submit(_ask, client, name, server, question_about(reservation))
    try:
        return future.result(ANSWER_S)
    except TooLate:
        future.cancel()
        return _late(name)


def question_about(reservation: Reservation) -> Mapping[str, Any]:
    """What the server is told: the owner is called as in the domain where the request begins."""
    owner, name = reservation.key
    if ASKED_BY in reservation.labels:
        owner = owner.rpartition("@")[0] or owner
    return {
        "owner": owner,
        "name": name,
        "service": reservation.service.value,
        "rate_bps": reservation.peak_rate_bps,
        "slots": [
            {
                "start": iso(slot.start),
                "end": iso(slot.end),
                "forward_bps": slot.forward_bps,
                "reverse_bps": slot.reverse_bps,
            }
            for slot in reservation.slots
        ],
    }


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="community")


@cache
def _client() -> httpx.Client:
    import httpx

    return httpx.Client(trust_env=False, follow_redirects=False)


def _late(name: str) -> CommunityAnswer:
    return CommunityAnswer(why_not=f"the server of {name} did not answer within {ANSWER_S:g} s", is_silent=True)


def _ask(client: httpx.Client, name: str, server: str, question: Mapping[str, Any]) -> CommunityAnswer:
    import httpx

    try:
        with client.stream("POST", server, json=question, timeout=ANSWER_S) as answer:
            content = b""
            for part in answer.iter_bytes():
                content += part
                if len(content) > LARGEST_ANSWER_BYTES:
                    return CommunityAnswer(why_not=f"the server of {name} answers without an end")
        return _answer(name, answer.status_code, content)
    except httpx.TimeoutException:
        return _late(name)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        why = printable(str(error)) or type(error).__name__
        words = f"the server of {name} was not reached: {shortened(why, lengths.REASON)}"
        return CommunityAnswer(why_not=words, is_silent=True)


def _answer(name: str, status: int, content: bytes) -> CommunityAnswer:
    try:
        document = json.loads(content)
        if status == 403:
            why = printable(shortened(str(document["detail"]), lengths.REASON))
            return CommunityAnswer(why_not=f"the server of {name} refuses: {why}")
        attestation = document["attestation"]
        if status == 200 and isinstance(attestation, str):
            return CommunityAnswer(attestation)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return CommunityAnswer(why_not=f"the server of {name} answers with status {status} and nothing that it signed")
