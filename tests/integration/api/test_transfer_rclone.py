"""`slotcar transfer --via rclone` against the real API: an unmodified rclone at the reservation's rate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.book.rules.roles import Role
from slotcar_lab import control, requirements
from slotcar_transfer.counting import Count
from slotcar_transfer.errors import TransferError
from slotcar_transfer.lanes import Steering
from slotcar_transfer.profile import Profile, Step
from slotcar_transfer.rclone import Moving, Rclone
from slotcar_transfer.reporting import Display, Meter
from tests.integration.api.conftest import As
from tests.support.transfers import GIVEN_BACK, World, content, fill

ENDS = ("--from", "anl-premium", "--to", "lbnl-premium:443")


@pytest.fixture
def world(tmp_path: Path) -> World:
    requirements.ensure_for("the tests of transfers", control.quiet)
    both_ends = World(tmp_path / "ends")
    fill(both_ends.folder / "source", {"a/one": 700_000, "two": 5})
    return both_ends


@pytest.mark.slow
def test_it_reserves_moves_and_gives_back(world: World, as_: As) -> None:
    api = as_("mover", Role.REQUESTER)
    token = api.headers["Authorization"].removeprefix("Bearer ")
    source, target = world.folder / "source", world.folder / "target"
    connected = {"SLOTCAR_API": str(api.base_url), "SLOTCAR_TOKEN": token}
    ended = world.run("--via", "rclone", str(source), str(target), "--by", "now + 40 s", *ENDS, **connected)
    assert content(target) == content(source)
    assert ended.done["bytes"] == 700_005
    [entry] = api.get("/v1/reservations").json()["items"]
    assert entry["state"] in GIVEN_BACK
    assert entry["reservation"]["destination"]["port"] == 443
    assert entry["reservation"]["source"]["port"] is None
    missing = world.run("--via", "rclone", str(source), str(target), "--by", "now + 1 h", code=1, **connected)
    assert "needs --from and --to" in missing.err
    late = world.run(
        "--via", "rclone", str(source), str(target), "--by", "now + 1 h", "--shape", "latest", code=1, **connected
    )
    assert "--shape latest goes with an additional connection" in late.err


def test_what_is_wrong_is_said_in_rclones_words(world: World) -> None:
    nothing = world.run("--via", "rclone", str(world.folder / "nothing"), str(world.folder / "x"), code=1)
    assert "rclone" in nothing.err
    assert "not found" in nothing.err
    assert "--via scp is not known" in world.run("--via", "scp", "a", "b", code=1).err


def test_its_rate_is_that_of_the_profile_and_follows_it(world: World) -> None:
    now = [datetime(2027, 3, 1, tzinfo=UTC)]
    steps = (Step(now[0], 8_000_000), Step(now[0] + timedelta(seconds=10), 16_000_000))
    steering = Steering(Profile(steps), clock=lambda: now[0])
    with Rclone(dscp=46) as control:
        moving = Moving(control, str(world.folder / "source"), "x", steering, Meter(Count(), steering, None))
        assert moving.size_bytes() == 700_005
        moving._set_rate()
        assert control.call("core/bwlimit")["bytesPerSecond"] == 1_000_000
        now[0] += timedelta(seconds=10)
        moving._set_rate()
        assert control.call("core/bwlimit")["bytesPerSecond"] == 2_000_000
        with pytest.raises(TransferError, match="rclone refuses nothing/such"):
            control.call("nothing/such")


def test_a_deadline_that_passes_stops_it_where_that_is_asked(world: World) -> None:
    steering = Steering(Profile((Step(datetime(2020, 1, 1, tzinfo=UTC), 80_000),)))
    with Rclone() as control:
        source, target = str(world.folder / "source"), str(world.folder / "target")
        moving = Moving(control, source, target, steering, Meter(Count(), steering, None))
        with pytest.raises(TransferError, match="the deadline has passed and"):
            moving.run(Display(bar=False), datetime(2020, 1, 1, tzinfo=UTC), True)
