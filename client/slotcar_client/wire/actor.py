"""`Actor`: the name of whoever does something, with the proof by which it is known."""

from __future__ import annotations


class Actor(str):
    """A name, a text like any other, which carries its proof to where an event is written."""

    proof: str

    def __new__(cls, name: str, proof: str = "") -> Actor:
        named = super().__new__(cls, name)
        named.proof = proof
        return named


def proof_of(actor: object) -> str:
    """By what an actor is known; empty where nobody said it, as of what Slotcar does itself."""
    return actor.proof if isinstance(actor, Actor) else ""
