"""Which controller and which token: environment, contexts, and files that others may not read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slotcar_client import private_files
from slotcar_client.client import checked
from slotcar_client.contexts import Contexts, NoContext, Place, chosen_place


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path)}


@pytest.fixture
def contexts(tmp_path: Path) -> Contexts:
    return Contexts(tmp_path / "slotcar")


def test_the_first_context_is_in_use_until_another_is(contexts: Contexts, environment: dict[str, str]) -> None:
    assert chosen_place(environment) is None
    contexts.add("lab", "http://127.0.0.1:8470", "slotcar_lab")
    contexts.add("site", "https://slotcar.example.net", None)
    assert chosen_place(environment) == Place("http://127.0.0.1:8470", "slotcar_lab", "lab")
    contexts.use("site")
    assert chosen_place(environment) == Place("https://slotcar.example.net", None, "site")
    assert chosen_place(environment, "lab") == contexts.place("lab")
    assert chosen_place(environment | {"SLOTCAR_CONTEXT": "lab"}) == contexts.place("lab")
    contexts.remove("site")
    assert (contexts.in_use(), contexts.names()) == (None, {"lab": "http://127.0.0.1:8470"})
    assert chosen_place(environment) is None


def test_a_context_keeps_the_zone_of_its_reader(contexts: Contexts, tmp_path: Path) -> None:
    contexts.add("lab", "http://127.0.0.1:8470", "slotcar_lab", timezone="Europe/Zurich")
    contexts.add("site", "https://slotcar.example.net", None)
    assert contexts.timezones() == {"lab": "Europe/Zurich"}
    assert contexts.place("lab").timezone == "Europe/Zurich"
    contexts.add("lab", "http://127.0.0.1:8471", "slotcar_new")
    assert contexts.place("lab") == Place("http://127.0.0.1:8471", "slotcar_new", "lab", "Europe/Zurich")
    contexts.use("site")
    contexts.set_timezone("lab", "")
    assert (contexts.timezones(), contexts.in_use()) == ({}, "site")
    assert "timezone" not in (tmp_path / "slotcar" / "contexts.json").read_text(), "as an earlier version wrote it"
    with pytest.raises(NoContext, match="there is no context nowhere"):
        contexts.set_timezone("nowhere", "UTC")


def test_the_environment_comes_before_the_context_in_use(
    contexts: Contexts, environment: dict[str, str], tmp_path: Path
) -> None:
    contexts.add("lab", "http://127.0.0.1:8470", "slotcar_lab")
    both = environment | {"SLOTCAR_API": "http://127.0.0.1:1"}
    assert chosen_place(both) == Place("http://127.0.0.1:1", None)
    assert chosen_place(both | {"SLOTCAR_TOKEN": "slotcar_one"}) == Place("http://127.0.0.1:1", "slotcar_one")
    (tmp_path / "token").write_text("slotcar_two\n")
    named = both | {"SLOTCAR_API_TOKEN_FILE": str(tmp_path / "token")}
    assert chosen_place(named) == Place("http://127.0.0.1:1", "slotcar_two")
    assert chosen_place(both, "lab") == contexts.place("lab")


def test_nobody_else_can_read_what_is_kept(contexts: Contexts, tmp_path: Path) -> None:
    contexts.add("lab", "http://127.0.0.1:8470", "slotcar_lab")
    kept = [tmp_path / "slotcar" / name for name in ("contexts.json", "tokens/lab")]
    assert [file.stat().st_mode & 0o777 for file in kept] == [0o600, 0o600]
    assert "slotcar_lab" not in kept[0].read_text() + repr(contexts.place("lab"))
    kept[1].chmod(0o640)
    with pytest.raises(NoContext, match="can be read by others: say chmod 600"):
        contexts.place("lab")


def test_what_is_wrong_is_said(contexts: Contexts, tmp_path: Path) -> None:
    with pytest.raises(NoContext, match=r"there is no context lab .* there is none yet"):
        contexts.use("lab")
    for name in ("../lab", "", "a b"):
        with pytest.raises(NoContext, match="is not a valid name of a context"):
            contexts.add(name, "http://127.0.0.1:8470", None)
    contexts.add("lab", "http://127.0.0.1:8470", None)
    with pytest.raises(NoContext, match="those are lab"):
        contexts.remove("site")
    (tmp_path / "slotcar" / "contexts.json").write_text("[]")
    with pytest.raises(NoContext, match="is not a list of contexts"):
        contexts.names()
    (tmp_path / "fifo").mkdir()
    with pytest.raises(NoContext, match="no token can be read from it"):
        chosen_place({"SLOTCAR_API": "http://x", "SLOTCAR_API_TOKEN_FILE": str(tmp_path / "fifo")})


@pytest.mark.parametrize("wrong", ["", "127.0.0.1:8470", "ftp://example.net", "http://", "http://[::1"])
def test_an_address_is_one_of_http(wrong: str) -> None:
    with pytest.raises(NoContext, match="is not the address of an API"):
        checked(wrong)


def test_two_contexts_that_are_added_at_once_are_both_kept(contexts: Contexts, tmp_path: Path) -> None:
    names = [f"site-{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: Contexts(tmp_path / "slotcar").add(name, f"https://{name}", None), names))
    assert sorted(contexts.names()) == sorted(names)


def test_a_token_goes_with_the_address_that_it_was_given_for(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program points the context elsewhere between what a reader reads of it: no step of it mixes the two."""
    contexts.add("site", "https://old.example.net", "slotcar_old")
    wrote: list[Place] = []
    replace = private_files.replace_private_file

    def replace_and_look(file: Path, text: str) -> None:
        wrote.append(contexts.place("site"))
        replace(file, text)
        wrote.append(contexts.place("site"))

    monkeypatch.setattr("slotcar_client.contexts.replace_private_file", replace_and_look)
    contexts.add("site", "https://new.example.net", "slotcar_new")
    pairs = {(one.api.split(".")[0], one.token) for one in wrote}
    assert pairs == {("https://old", None), ("https://new", None), ("https://new", "slotcar_new")}

    read = Contexts._token

    def read_after_a_change(self: Contexts, name: str) -> str | None:
        monkeypatch.setattr(Contexts, "_token", read)
        contexts.add("site", "https://third.example.net", "slotcar_third")
        return read(self, name)

    monkeypatch.setattr(Contexts, "_token", read_after_a_change)
    assert contexts.place("site") == Place("https://third.example.net", "slotcar_third", "site")
