"""Connections by A1's QoS vector (Mapp and Hodges): one request from which reservation, transport and socket follow."""

from __future__ import annotations

from slotcar_client.vectors.connection import Closed, Connection
from slotcar_client.vectors.listener import Listener
from slotcar_client.vectors.mapping import NotPossible, Transport
from slotcar_client.vectors.vector import InvalidVector, Option, Vector, read

__all__ = ["Closed", "Connection", "InvalidVector", "Listener", "NotPossible", "Option", "Transport", "Vector", "read"]
