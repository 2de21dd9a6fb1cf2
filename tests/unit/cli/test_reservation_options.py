"""The options of `create` and `enquire` are the model's keys; what was said reaches the command in a file's keys."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from slotcar.cli.app import app
from slotcar.cli.reservation_options import IN_FILES_ONLY, takes_reservation
from slotcar.reservation.written import FIELDS


def options_of(name: str) -> set[str]:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    return {option for parameter in command.params for option in parameter.opts}


def test_every_key_that_is_one_text_or_a_list_of_texts_is_an_option() -> None:
    assert {f"--{key.replace('_', '-')}" for key in FIELDS if key not in IN_FILES_ONLY} <= options_of("create")
    assert not {"--name", "--owner", "--rate", "--recurrence"} & options_of("enquire")


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (["--name", "a", "--via", "r1", "--via", "r2"], {"name": "a", "via": ["r1", "r2"], "start": "now"}),
        (["-n", "a", "--if-unready", "alarm", "--twice"], {"name": "a", "if_unready": "alarm", "start": "now"}),
    ],
)
def test_what_was_said_reaches_the_command(arguments: list[str], fields: dict[str, object]) -> None:
    heard: list[dict[str, object]] = []
    small = typer.Typer()
    without = set(FIELDS) - {"name", "via", "if_unready", "start"}

    @small.command()
    @takes_reservation({"start": "now"}, without=without)
    def command(data: dict[str, object], twice: Annotated[bool, typer.Option("--twice")] = False) -> None:
        """Says it."""
        heard.extend([data] * (1 + twice))

    answer = CliRunner().invoke(small, arguments)
    assert answer.exit_code == 0, answer.output
    assert heard == [fields] * (1 + ("--twice" in arguments))


def test_a_key_that_the_model_requires_is_required() -> None:
    answer = CliRunner().invoke(app, ["create", "--name", "a"])
    assert answer.exit_code == 2
    assert "--source" in answer.output
