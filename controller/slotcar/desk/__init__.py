"""Prepares and runs a verb for a caller, and answers with its document: a family of verbs is a module here."""

from slotcar.desk.desk import Desk, answer_of

__all__ = ["Desk", "answer_of"]
