"""Where a NETCONF peer is looked for."""

from __future__ import annotations

import pytest

from slotcar.rollout.fanout.login import Unreachable
from slotcar.rollout.netconf import netconf_login


@pytest.mark.parametrize(
    ("variables", "port"),
    [
        ({}, 830),
        ({"ansible_port": 22}, 22),
        ({"ansible_port": 22, "slotcar_netconf_port": 8300}, 8300),
        ({"ansible_ssh_port": "2022"}, 2022),
        ({"slotcar_netconf_port": ""}, 830),
    ],
)
def test_the_port_is_netconfs_own_unless_another_is_told(variables: dict[str, object], port: int) -> None:
    login = netconf_login("r1", {"ansible_user": "ops", "ansible_password": "no-real-one", **variables})
    assert (login.host, login.port, login.user) == ("r1", port, "ops")
    assert "no-real-one" not in repr(login)


def test_without_a_user_nothing_is_tried() -> None:
    with pytest.raises(Unreachable, match="r1: no user to log in as"):
        netconf_login("r1", {})
