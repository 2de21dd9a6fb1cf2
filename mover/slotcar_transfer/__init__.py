"""Moves files by a deadline: asks Slotcar for the volume, sends over two connections, and resumes after a kill."""

#: Of the protocol between two ends; both must speak the same.
PROTOCOL = 1
__all__ = ["PROTOCOL"]
