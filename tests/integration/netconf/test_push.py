"""Changes on a real NETCONF server that has Cisco's own models."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from slotcar.platforms import Change, Unrenderable, renderer_of
from slotcar.rollout.fanout import PushStep, fan_out
from slotcar.rollout.netconf.session import NetconfSession
from slotcar.rollout.netconf.transport import PERSIST_ID, NetconfTransport
from tests.golden.test_render import CASES
from tests.integration.netconf.conftest import RENDER, Peer
from tests.support.patience import PATIENCE_S

#: Seconds that the server waits for a confirmation where the test decides when they are over.
ANY_TIME_S = 600
NATIVE = "http://cisco.com/ns/yang/Cisco-IOS-XE-native"
POLICY = "http://cisco.com/ns/yang/Cisco-IOS-XE-policy"
PREFIX = "cisco-iosxe-netconf-"
MINE = [folder.name.removeprefix(PREFIX) for folder in CASES if folder.name.startswith(PREFIX)]


def config(inside: str) -> str:
    base = "urn:ietf:params:xml:ns:netconf:base:1.0"
    return f'<config xmlns="{base}"><native xmlns="{NATIVE}">{inside}</native></config>'


def put(peer: Peer, inside: str) -> None:
    """An operator's own change."""
    with peer.session() as session:
        session.do("edit_config", target="candidate", config=config(inside))
        session.do("commit")


# -- what goes well ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", [case if case == "premium" else pytest.param(case, marks=pytest.mark.slow) for case in MINE]
)
def test_the_server_takes_every_change_and_its_undo(peer: Peer, case: str) -> None:
    for file in sorted((RENDER / f"{PREFIX}{case}").glob("*.change")):
        change = peer.case(case, file.stem)
        forward = renderer_of(peer.device).change(peer.owned(), change.before, peer.device)
        if not forward.empty:
            peer.push(forward)
        peer.push(change)
        assert peer.owned().lines == change.after.lines
        back = Change(change.device, change.platform, change.after, change.before, change.undo, change.apply)
        peer.push(back)
        assert peer.owned().lines == change.before.lines


def test_reading_writes_what_the_renderer_understands(managed: Peer) -> None:
    with managed.archive.reading([managed.device]) as folder:
        outcome = managed.take("read", folder)
        assert (outcome.error, outcome.changed) == ("", False)
        outputs = json.loads((folder / managed.device.name / "reading.json").read_text())
    assert renderer_of(managed.device).running(outputs, managed.device) == managed.case("standing").after


@pytest.mark.slow
def test_staging_changes_nothing(managed: Peer) -> None:
    before = managed.everything()
    outcome = managed.take("stage", managed.revision(managed.case("premium")))
    assert (outcome.error, outcome.changed) == ("", False)
    assert managed.everything() == before
    managed.check_left_clean()


@pytest.mark.slow
def test_a_change_waits_for_its_confirmation_and_stays(managed: Peer) -> None:
    managed.confirm_s = ANY_TIME_S
    change = managed.case("premium")
    folder = managed.revision(change)
    activated = managed.take("activate", folder)
    assert (activated.error, activated.changed, activated.notes) == ("", True, [])
    assert activated.began <= activated.ended
    assert managed.owned() == change.after
    assert managed.everything("candidate") == managed.everything()
    assert managed.take("verify", folder).error == ""
    managed.check_left_clean()
    with managed.session() as session, pytest.raises(Exception, match="cancel-commit"):
        session.do("cancel_commit", persist_id=PERSIST_ID)
    assert managed.owned() == change.after


def test_a_change_takes_effect_at_its_instant_with_the_candidate_ready(managed: Peer) -> None:
    folder = managed.revision(managed.case("premium"))
    at = time.time() + 1.5
    outcome = managed.take("activate", folder, at=at)
    assert outcome.error == ""
    assert outcome.began >= at


@pytest.mark.slow
def test_what_is_there_already_is_left_alone(managed: Peer) -> None:
    folder = managed.push(managed.case("premium"))
    outcome = managed.take("activate", folder)
    assert (outcome.error, outcome.changed, outcome.began) == ("", False, 0.0)


@pytest.mark.slow
def test_looking_touches_nothing(managed: Peer) -> None:
    before = managed.everything()
    folder = managed.revision(managed.case("premium"))
    outcome = managed.take("activate", folder, only_look=True)
    assert (outcome.error, outcome.changed) == ("", True)
    assert managed.take("restore", folder, target="after.txt", only_look=True).changed
    assert managed.everything() == before


@pytest.mark.in_short("before.txt")
@pytest.mark.parametrize("target", ["before.txt", ""])
def test_a_push_is_restored_to_what_was_there(managed: Peer, target: str) -> None:
    change = managed.case("premium")
    folder = managed.push(change)
    outcome = managed.take("restore", folder, target=target)
    assert (outcome.error, outcome.changed) == ("", True)
    assert managed.owned().lines == (change.before.lines if target else ())
    managed.check_left_clean()


@pytest.mark.slow
def test_peers_are_served_together_and_one_that_is_away_stops_the_change_alone(make_peer: Any) -> None:
    first, second, away = (make_peer(name=name) for name in ("one", "two", "three"))
    change = first.case("standing")
    jobs = [peer.job(peer.revision(change)) for peer in (first, second, away)]
    away.server.stop()
    for step in (PushStep.STAGE, PushStep.ACTIVATE):
        outcomes = fan_out(step, jobs)
        assert [outcomes[name].error for name in ("one", "two")] == ["", ""]
        assert outcomes["three"].unreachable
        assert outcomes["three"].error.startswith(f"three: 127.0.0.1:{away.server.port}")
    assert first.owned().lines == second.owned().lines == (), "a change that one cannot take is made on none"
    for peer in (first, second):
        peer.check_left_clean()
    assert [one.changed for one in fan_out(PushStep.ACTIVATE, jobs[:2]).values()] == [True, True]
    assert fan_out(PushStep.VERIFY, jobs)["three"].unreachable
    assert first.owned().lines == second.owned().lines == change.after.lines


# -- an operator's own -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_an_operators_is_as_it_was_after_a_push_and_its_undo(peer: Peer) -> None:
    put(
        peer,
        "<hostname>ops</hostname>"
        f'<policy><class-map xmlns="{POLICY}"><name>OPS</name><prematch>match-any</prematch></class-map>'
        f'<policy-map xmlns="{POLICY}"><name>OPS</name><class><name>OPS</name></class></policy-map></policy>'
        "<interface><GigabitEthernet><name>0/0</name></GigabitEthernet>"
        "<GigabitEthernet><name>0/1</name><description>customer</description></GigabitEthernet>"
        "<GigabitEthernet><name>0/2</name></GigabitEthernet>"
        f'<GigabitEthernet><name>0/9</name><service-policy xmlns="{POLICY}"><input>OPS</input></service-policy>'
        "</GigabitEthernet></interface>",
    )
    before = peer.everything()
    folder = peer.push(peer.case("standing"))
    assert "customer" in peer.everything()
    assert peer.take("restore", folder, target="before.txt").error == ""
    assert meaning(peer.everything()) == meaning(before)


def meaning(text: str) -> list[str]:
    """Without containers that are empty, which mean nothing (RFC 7950 §7.5.1) and stay where they were filled once."""
    empty = {"", f'<service-policy xmlns="{POLICY}"/>'}
    lines = [line.strip() for line in text.splitlines() if line.strip() not in empty]
    text = "".join(lines)
    for container in ("<access-list></access-list>", "<ip></ip>", "<access-list/>", "<ip/>"):
        text = text.replace(container, "")
    return text.split("><")


def test_an_operators_policy_in_the_way_is_refused_in_words(peer: Peer) -> None:
    put(
        peer,
        f'<interface><GigabitEthernet><name>0/1</name><service-policy xmlns="{POLICY}"><input>OPS</input>'
        "</service-policy></GigabitEthernet></interface>",
    )
    running = peer.owned()
    assert running.foreign == ("GigabitEthernet0/1: `service-policy input OPS`",)
    with pytest.raises(Unrenderable, match=r"north-edge GigabitEthernet0/1: .* which is not Slotcar's"):
        renderer_of(peer.device).change(running, peer.case("standing").after, peer.device)


# -- what fails --------------------------------------------------------------------------------------------------------


def test_a_change_that_the_models_refuse_is_refused_at_staging(managed: Peer) -> None:
    before = managed.everything()
    folder = managed.revision(managed.case("premium"))
    apply = folder / managed.device.name / "apply.txt"
    apply.write_text(apply.read_text().replace("<cir>4112000<", "<cir>1<"))
    outcome = managed.take("stage", folder)
    assert "`edit-config`" in outcome.error
    assert "cir" in outcome.error
    assert managed.everything() == before
    managed.check_left_clean()


@pytest.mark.slow
def test_a_change_that_fails_at_validation_leaves_the_candidate_clean(
    managed: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models ask of a nested policy that it is there. Told only to set, the server looks at `validate`."""
    before = managed.everything()
    folder = managed.revision(managed.case("premium"))
    apply = folder / managed.device.name / "apply.txt"
    apply.write_text(
        config(
            f'<policy><policy-map xmlns="{POLICY}"><name>SLOTCAR-X</name><class><name>class-default</name><action-list>'
            "<action-type>service-policy</action-type><service-policy>SLOTCAR-NOBODY</service-policy></action-list>"
            "</class></policy-map></policy>"
        )
    )
    do = NetconfSession.do

    def unchecked(session: NetconfSession, what: str, **options: Any) -> Any:
        return do(session, what, **options, **({"test_option": "set"} if what == "edit_config" else {}))

    monkeypatch.setattr(NetconfSession, "do", unchecked)
    outcome = managed.take("stage", folder)
    assert "`validate`" in outcome.error
    assert "service-policy" in outcome.error
    assert managed.everything() == before
    managed.check_left_clean()


def test_a_lock_of_somebody_else_stops_the_push_and_nothing_is_changed(managed: Peer) -> None:
    folder = managed.revision(managed.case("premium"))
    before = managed.everything()
    with managed.session() as somebody:
        somebody.do("lock", target="candidate")
        for step in ("stage", "activate"):
            outcome = managed.take(step, folder)
            assert "`lock`" in outcome.error
            assert "lock-denied" in outcome.error
            assert not outcome.unreachable
        somebody.do("unlock", target="candidate")
    assert managed.everything() == before
    assert managed.take("activate", folder).error == ""


@pytest.mark.slow
def test_edits_of_somebody_else_are_neither_committed_nor_thrown_away(managed: Peer) -> None:
    folder = managed.revision(managed.case("premium"))
    before = managed.everything()
    with managed.session() as somebody:
        somebody.do("edit_config", target="candidate", config=config("<hostname>half-done</hostname>"))
        outcome = managed.take("activate", folder)
        assert "`lock`" in outcome.error
        assert "half-done" in managed.everything("candidate")
        assert managed.everything() == before
        somebody.do("discard_changes")


@pytest.mark.slow
def test_a_router_that_was_changed_since_is_not_touched(managed: Peer) -> None:
    folder = managed.revision(managed.case("premium"))
    put(
        managed,
        f'<policy><class-map xmlns="{POLICY}"><name>SLOTCAR-F9</name><prematch>match-all</prematch></class-map></policy>',
    )
    assert "it was changed since it was read" in managed.take("stage", folder).error
    assert "it was changed since it was staged" in managed.take("activate", folder).error
    managed.check_left_clean()


# -- nobody confirms ---------------------------------------------------------------------------------------------------


def await_event(session: NetconfSession, event: str) -> None:
    """Until the server says what became of the confirmed commit (RFC 6470)."""
    while True:
        notification = session.do("take_notification", block=True, timeout=PATIENCE_S)
        assert notification is not None, f"no {event}"
        if f"<confirm-event>{event}<" in notification.notification_xml.replace("ncn:", ""):
            return


def wait_no_longer(session: NetconfSession) -> None:
    """Has the server take back what waits as soon as it can: a confirmed commit that follows sets the time anew (RFC 6241
    §8.4.1)."""
    session.do("commit", confirmed=True, timeout="1", persist_id=PERSIST_ID)


def test_a_change_that_nobody_confirms_is_taken_back_by_the_server(managed: Peer) -> None:
    managed.confirm_s = ANY_TIME_S
    change = managed.case("premium")
    folder = managed.revision(change)
    with managed.session() as watching:
        watching.do("create_subscription")
        assert managed.take("activate", folder).error == ""
        assert managed.owned() == change.after
        wait_no_longer(watching)
        await_event(watching, "timeout")
    assert managed.owned() == change.before
    managed.check_left_clean()
    assert "it does not have what is wanted" in managed.take("verify", folder).error


@pytest.mark.slow
def test_a_session_that_dies_before_the_instant_leaves_nothing(managed: Peer) -> None:
    change = managed.case("premium")
    before = managed.everything()
    transport = NetconfTransport("dying", managed.login)
    transport._session.open()
    assert transport._prepare("\n".join(change.apply), 60)
    assert managed.everything("candidate") != before
    transport._session._manager._session.transport.close()
    transport._let_go()
    transport._session.close()
    assert managed.everything() == before
    managed.check_left_clean()


@pytest.mark.slow
def test_restoring_takes_back_at_once_what_waits(managed: Peer) -> None:
    managed.confirm_s = ANY_TIME_S
    change = managed.case("premium")
    folder = managed.revision(change)
    assert managed.take("activate", folder).error == ""
    outcome = managed.take("restore", folder, target="before.txt")
    assert outcome.error == ""
    assert managed.owned() == change.before
    managed.check_left_clean()
    # Nothing waits any more: the next push is the next push's.
    managed.push(change)
    assert managed.owned() == change.after


@pytest.mark.slow
def test_confirming_too_late_is_told(managed: Peer) -> None:
    """The time is over between the reading and the confirmation."""
    managed.confirm_s = ANY_TIME_S
    change = managed.case("premium")
    folder = managed.revision(change)

    class Late(NetconfTransport):
        def _confirm(self) -> None:
            wait_no_longer(self._session)
            await_event(watching, "timeout")
            super()._confirm()

    with managed.session() as watching:
        watching.do("create_subscription")
        assert managed.take("activate", folder).error == ""
        outcome = fan_out(PushStep.VERIFY, [managed.job(folder, transport=Late)])[managed.device.name]
    assert outcome.error == "north-edge: it took the change back before it was confirmed"
