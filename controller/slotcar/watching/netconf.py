"""A NETCONF peer that tells of changes: a session of its own with a subscription (RFC 5277, RFC 6470)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar.rollout.netconf import netconf_login
from slotcar.rollout.netconf.session import Feature, NetconfSession
from slotcar.watching.config_changes import change_in
from slotcar.watching.model import ChangeListener, Unwatched
from slotcar.watching.pending import ECHO_S

_LOOK_S = 0.5


class NetconfSource:
    """The `Source` of one peer."""

    how = "NETCONF notifications"
    echo_s = ECHO_S  # a process compares as soon as it has changed

    def __init__(self, name: str, variables: Mapping[str, Any]) -> None:
        """
        Raises:
            Unreachable: no user is named.
        """
        self._session = NetconfSession(name, netconf_login(name, variables))

    def watch(self, listener: ChangeListener) -> None:
        """
        Raises:
            NetconfError: see `NetconfSession`.
        """
        session = self._session
        session.open()
        try:
            if not (session.has(Feature.NOTIFICATION) and session.has(Feature.CHANGE_NOTIFICATIONS)):
                raise Unwatched(
                    "its NETCONF server does not tell of changes of its configuration (RFC 5277, RFC 6470)"
                )
            session.subscribe()
            listener.up()
            while not listener.ended.is_set():
                notification = session.notification(_LOOK_S)
                if notification is not None and (what := change_in(notification)):
                    listener.changed(what)
        finally:
            session.close()
