"""Peers that can less, peers that are not who they should be, and what is said of logins."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from ncclient import transport

from slotcar.platforms import Configuration
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout import Job, Order, PushStep, fan_out, fan_out_push
from slotcar.rollout.netconf.session import Feature, NetconfSession
from slotcar.rollout.netconf.transport import PERSIST_ID, NetconfTransport
from slotcar.rollout.staging import commands
from tests.integration.netconf.conftest import Peer

SECRET = "no-real-password-of-anybody"

# -- peers that can less -----------------------------------------------------------------------------------------------


def test_without_a_candidate_the_change_goes_into_running_and_the_controller_undoes_it(make_peer: Any) -> None:
    peer: Peer = make_peer("--target=running")
    change = peer.case("standing")
    folder = peer.revision(change)
    assert peer.take("stage", folder).error == ""
    assert peer.owned().lines == ()
    outcome = peer.take("activate", folder)
    assert outcome.error == ""
    assert outcome.notes == ["no revert timer: a change that is not verified is taken back by the controller alone"]
    assert peer.take("verify", folder).error == ""
    assert peer.owned() == change.after
    assert peer.take("restore", folder, target="before.txt").error == ""
    assert peer.owned().lines == ()


@pytest.mark.slow
def test_without_a_candidate_a_refused_change_leaves_running_as_it_was(make_peer: Any) -> None:
    peer: Peer = make_peer("--target=running")
    peer.push(peer.case("standing"))
    before = peer.everything()
    folder = peer.revision(peer.case("premium"))
    apply = folder / peer.device.name / "apply.txt"
    apply.write_text(apply.read_text().replace("<cir>4112000<", "<cir>1<"))
    assert "`edit-config`" in peer.take("stage", folder).error
    transport = NetconfTransport("peer", peer.login)
    transport._session.open()
    with pytest.raises(Exception, match="cir"):
        transport._activate(apply.read_text())
    transport._session.close()
    assert peer.everything() == before


def test_a_request_of_several_segments_waits_for_no_acknowledgement(peer: Peer) -> None:
    session = NetconfSession(peer.device.name, peer.login)
    session.open()
    connection = session._manager._session.transport.sock
    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    session.close()


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The server is as able as before; its greeting is read as that of one which is less."""
    has = NetconfSession.has

    def hide(*features: Feature) -> None:
        monkeypatch.setattr(
            NetconfSession, "has", lambda self, feature: feature not in features and has(self, feature)
        )

    return hide


@pytest.mark.slow
def test_without_validation_the_commit_alone_decides(peer: Peer, without: Callable[..., None]) -> None:
    without(Feature.VALIDATE, Feature.VALIDATE_1_1)
    change = peer.case("standing")
    peer.push(change)
    assert peer.owned() == change.after
    peer.check_left_clean()


def test_without_a_candidate_and_a_running_that_can_be_edited_nothing_is_tried(
    peer: Peer, without: Callable[..., None]
) -> None:
    without(Feature.CANDIDATE, Feature.VALIDATE_1_1)
    outcome = peer.take("activate", peer.revision(peer.case("standing")))
    assert "neither a candidate nor a running configuration that can be edited" in outcome.error
    assert peer.owned().lines == ()


@pytest.mark.slow
def test_without_confirmed_commits_that_outlive_a_session_the_commit_is_final(
    managed: Peer, without: Callable[..., None]
) -> None:
    without(Feature.CONFIRMED_COMMIT, Feature.CONFIRMED_COMMIT_1_0)
    change = managed.case("premium")
    folder = managed.revision(change)
    outcome = managed.take("activate", folder)
    assert (outcome.error, len(outcome.notes)) == ("", 1)
    with managed.session() as session, pytest.raises(Exception, match="cancel-commit"):
        session.do("cancel_commit", persist_id=PERSIST_ID)
    assert managed.take("verify", folder).error == ""
    assert managed.take("restore", folder, target="before.txt").error == ""
    assert managed.owned() == change.before


# -- confirmed commits without a name (RFC 4741 §8.4) ---------------------------------------------------------------------


def test_a_push_over_one_session_is_confirmed_by_the_next_commit(managed: Peer, without: Callable[..., None]) -> None:
    without(Feature.CONFIRMED_COMMIT)
    change = managed.case("premium")
    outcome = fan_out_push([managed.job(managed.revision(change))])[managed.device.name]
    assert (outcome.error, outcome.notes) == ("", [])
    # Else the server would have gone back as the session ended.
    assert managed.owned() == change.after
    managed.check_left_clean()


@pytest.mark.slow
def test_what_ends_with_its_session_is_gone_and_the_verification_says_so(
    managed: Peer, without: Callable[..., None]
) -> None:
    """RFC 4741 has the server go back when the session ends; one step a session is then no push."""
    without(Feature.CONFIRMED_COMMIT)
    change = managed.case("premium")
    folder = managed.revision(change)
    assert managed.take("activate", folder).error == ""
    assert managed.owned() == change.before
    assert "it does not have what is wanted" in managed.take("verify", folder).error


def test_a_restore_commits_also_where_nothing_differs(managed: Peer, without: Callable[..., None]) -> None:
    """What waits would be taken back else: it has no name by which it could be cancelled."""
    without(Feature.CONFIRMED_COMMIT)
    folder = managed.push_at_once(managed.case("premium"))
    outcome = managed.take("restore", folder, target="after.txt")
    assert (outcome.error, outcome.changed) == ("", False)
    restored = managed.take("restore", folder, target="before.txt")
    assert (restored.error, restored.changed) == ("", True)
    assert managed.owned() == managed.case("premium").before
    managed.check_left_clean()


@pytest.mark.slow
def test_somebody_elses_edits_are_not_committed_with_the_confirmation(
    managed: Peer, without: Callable[..., None]
) -> None:
    without(Feature.CONFIRMED_COMMIT)
    folder = managed.push_at_once(managed.case("premium"))
    with managed.session() as somebody:
        somebody.do("lock", target="candidate")
        assert "`lock`" in managed.take("verify", folder).error
        somebody.do("unlock", target="candidate")
    assert managed.take("verify", folder).error == ""


WARNING = (
    "<rpc-error><error-type>application</error-type><error-tag>operation-failed</error-tag>"
    "<error-severity>{severity}</error-severity><error-message>statement has no contents</error-message></rpc-error>"
)


@pytest.mark.parametrize(
    ("severity", "error"),
    [("warning", ""), pytest.param("error", "statement has no contents", marks=pytest.mark.slow)],
)
def test_a_warning_is_no_refusal(managed: Peer, monkeypatch: pytest.MonkeyPatch, severity: str, error: str) -> None:
    """RFC 6241 §4.3. Junos has warnings for commits that went well; here one takes the
    place of the server's own `ok`."""
    deliver = transport.session.Session._dispatch_message

    def warned(session: transport.session.Session, raw: str) -> None:
        deliver(session, re.sub(r"<(?:\w+:)?ok/>", WARNING.format(severity=severity), raw))

    folder = managed.revision(managed.case("premium"))
    monkeypatch.setattr(transport.session.Session, "_dispatch_message", warned)
    refusal = managed.take("stage", folder).error
    assert error in refusal
    assert bool(refusal) is bool(error)


# -- logins ------------------------------------------------------------------------------------------------------------


def test_another_host_key_is_not_believed(peer: Peer) -> None:
    lines = peer.server.known_hosts.read_text().split()
    client = (peer.server.folder / "client.pub").read_text().split()[1]
    peer.server.known_hosts.write_text(f"{lines[0]} {lines[1]} {client}\n")
    outcome = peer.take("stage", peer.revision(peer.case("standing")))
    assert outcome.unreachable
    assert "the host key of 127.0.0.1" in outcome.error
    assert str(peer.server.known_hosts) in outcome.error


def test_a_host_that_is_in_no_file_is_not_believed(peer: Peer) -> None:
    peer.server.known_hosts.write_text("")
    outcome = peer.take("stage", peer.revision(peer.case("standing")))
    assert outcome.unreachable
    assert "the host key of 127.0.0.1" in outcome.error
    assert "is not known yet" in outcome.error


def test_a_secret_is_in_no_answer_and_no_log(peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    order = Order(DeviceFolder(peer.revision(peer.case("standing")) / peer.device.name))
    for key_file in (peer.login.key_file, None):
        login = replace(peer.login, password=SECRET, key_file=key_file)
        job = Job(peer.device.name, order, partial(NetconfTransport, peer.device.name, login))
        outcome = fan_out(PushStep.STAGE, [job])[peer.device.name]
        assert outcome.unreachable is (key_file is None)
        assert SECRET not in f"{outcome} {job}"
    assert "does not let" in outcome.error
    assert SECRET not in caplog.text
    assert caplog.text


def test_a_question_of_another_platform_is_refused(peer: Peer) -> None:
    folder = peer.revision(peer.case("standing"))
    (folder / peer.device.name / "commands.json").write_text('["show running-config"]')
    assert "is not a supported NETCONF read command" in peer.take("verify", folder).error


def test_an_empty_configuration_is_the_unmanaged_router(peer: Peer) -> None:
    assert peer.owned() == Configuration(peer.device.name, peer.device.platform)
    assert len(commands(peer.device)) == 1
