"""`Actor`: the name of whoever does something, with the proof by which it is known, and on whose delegation."""

from __future__ import annotations

from typing import Self


class Actor(str):
    """A name, a text like any other, which carries its proof to where an event is written.

    Attributes:
        delegated_by: who gave the delegation that it acts on; empty where it acts on its own right.
    """

    proof: str
    delegated_by: str

    def __new__(cls, name: str, proof: str = "", delegated_by: str = "") -> Self:
        named = super().__new__(cls, name)
        named.proof, named.delegated_by = proof, delegated_by
        return named


def proof_of(actor: object) -> str:
    """By what an actor is known; empty where nobody said it, as of what Slotcar does itself."""
    return actor.proof if isinstance(actor, Actor) else ""


def delegated_by(actor: object) -> str:
    """On whose delegation an actor acts; empty where on none."""
    return actor.delegated_by if isinstance(actor, Actor) else ""
