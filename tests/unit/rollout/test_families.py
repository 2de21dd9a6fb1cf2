"""What a play's variables say of how a router is reached: the same models as an inventory's, asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout import DeviceError, Order, job_of
from slotcar.rollout.fanout.families import _call_outs
from slotcar.rollout.ios.napalm import NapalmTransport
from slotcar.rollout.ios.ssh import SshTransport
from slotcar.rollout.netconf.transport import NetconfTransport
from slotcar.rollout.transport import Transport

IOS = {"ansible_user": "ops", "slotcar_platform": "cisco-mqc"}
NETCONF = IOS | {"slotcar_platform": "juniper-junos"}


def transport(variables: dict[str, Any], folder: Path) -> Transport:
    return job_of("r1", variables, Order(DeviceFolder(folder))).connect()


@pytest.mark.parametrize(
    ("variables", "kind"),
    [
        (IOS, SshTransport),
        (IOS | {"slotcar_transport": "", "slotcar_flash": None}, SshTransport),
        (IOS | {"slotcar_transport": "napalm"}, NapalmTransport),
        (NETCONF | {"slotcar_confirm_s": "120", "slotcar_netconf_port": "8300"}, NetconfTransport),
    ],
)
def test_variables_choose_the_transport(variables: dict[str, Any], kind: type, tmp_path: Path) -> None:
    assert type(transport(variables, tmp_path)) is kind


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (
            IOS | {"slotcar_transport": "napalmm"},
            "slotcar_transport: is not known here (got napalmm); say 'ssh' or 'napalm'",
        ),
        (NETCONF | {"slotcar_netconf_port": "x"}, "slotcar_netconf_port: is no whole number (got x)"),
        (NETCONF | {"slotcar_confirm_s": True}, "slotcar_confirm_s: is no whole number (got True)"),
        (IOS | {"slotcar_known_hosts": ["a"]}, "slotcar_known_hosts: is no text (got ['a'])"),
    ],
)
def test_a_value_that_none_takes_is_refused(variables: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(DeviceError) as refused:
        transport(variables, tmp_path)
    assert str(refused.value) == f"r1: {words}"


class OfAPlay(dict[str, Any]):
    """A host's variables in a play, of which those that name every host are a template of every host."""

    def __getitem__(self, key: str) -> Any:
        assert key not in ("groups", "hostvars", "ansible_play_hosts", "ansible_play_hosts_all")
        return super().__getitem__(key)

    def items(self) -> Any:
        return ((key, self[key]) for key in self)


EVERYONE: dict[str, Any] = {"groups": {}, "hostvars": {}, "ansible_play_hosts": [], "ansible_play_hosts_all": []}


@pytest.mark.parametrize("own", [IOS, NETCONF])
def test_what_names_every_host_is_looked_at_for_none(own: dict[str, Any], tmp_path: Path) -> None:
    """Looked at for each host, it takes the square of their number: 7 of the 11 s that 300 routers took."""
    assert transport(OfAPlay(own | EVERYONE), tmp_path)


def test_a_place_of_call_outs_has_what_is_its_own() -> None:
    assert _call_outs("store", OfAPlay({"store_tapes": 4} | EVERYONE))()._place.variables == {"store_tapes": 4}
