"""Signatures as the specification prints them, secrets by their place, waits, and addresses."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.notify.backoff import Backoff
from slotcar.notify.errors import SecretUnusable, WrongUrl
from slotcar.notify.sending import checked_url
from slotcar.notify.signing import keys_at, sign

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_example_that_the_makers_of_the_scheme_print() -> None:
    """Svix' documentation, "Verifying webhooks manually": the scheme that Standard Webhooks took over."""
    keys = keys_at("env:SECRET", {"SECRET": SECRET})
    signed = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', keys)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_secrets_sign_both_while_one_takes_the_others_place(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n\nwhsec_{'QUJD' * 10}\n")
    one, two = sign("id", 1, b"{}", keys_at(f"file:{file}")).split(" ")
    assert one == sign("id", 1, b"{}", keys_at("env:A", {"A": SECRET}))
    assert two != one


@pytest.mark.parametrize(
    "held",
    ["", "hush-hush-hush", "whsec_hush!hush", "whsec_" + base64.b64encode(b"hush" * 5).decode(), "whsec_aHVzaA==\n" * 3,
     "whsec_" + base64.b64encode(b"hush" * 30).decode(), "hush" * 2000, "\xff\xfe hush"],
    ids=["empty", "no-prefix", "no-base64", "short", "three", "long", "large", "no-text"],
)  # fmt: skip
def test_what_is_no_secret_is_refused_and_never_told(held: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(held.encode("latin-1"))
    with pytest.raises(SecretUnusable) as raised:
        keys_at(f"file:{file}")
    words = str(raised.value)
    assert "openssl rand" in words
    assert "hush" not in words
    assert base64.b64encode(b"hush").decode()[:5] not in words
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("place", [SECRET, "file:relative", "env:", "env:A B", "http://x", "file:", ""])
def test_a_place_is_a_full_path_or_a_variable(place: str) -> None:
    with pytest.raises(SecretUnusable) as raised:
        keys_at(place, {})
    assert "say file:/FULL/PATH or env:NAME" in str(raised.value)
    assert SECRET not in str(raised.value)


def test_what_is_not_there_is_named_by_its_place() -> None:
    with pytest.raises(SecretUnusable, match="env:NOWHERE: the controller has no such variable"):
        keys_at("env:NOWHERE", {})
    with pytest.raises(SecretUnusable, match="file:/nowhere/at/all cannot be read: No such file"):
        keys_at("file:/nowhere/at/all")


@given(st.integers(1, 17), st.floats(0, 1, exclude_max=True))
def test_waits_grow_and_stay_between_half_and_all_of_their_length(attempts: int, chance: float) -> None:
    backoff = Backoff()
    wait = backoff.wait(attempts, chance)
    full = min(timedelta(hours=4), timedelta(seconds=5) * 2 ** (attempts - 1))
    assert wait is not None
    assert full / 2 <= wait <= full
    assert backoff.wait(18, chance) is None


def test_a_patient_backoff_stays_within_the_calendar() -> None:
    assert Backoff(attempts=10**6).wait(10**5, 0.5) == timedelta(hours=3)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.net/", "scheme is ftp"), ("example.net/hook", "scheme is missing"),
        ("file:///etc/passwd", "scheme is file"), ("http:///hook", "names no host"),
        ("https://ops:hush@example.net/", "holds a user or a password"), ("https://example.net/#a", "fragment"),
        ("https://example.net/" + "a" * 2000, "more than 2000"), ("https://example.net/a b", "cannot"),
        ("https://example.net:99999/", "is none"), ("https://exa\nmple.net/", "cannot"), ("http://[::1/", "is none"),
    ],
)  # fmt: skip
def test_addresses_that_are_not_sent_to(url: str, words: str) -> None:
    with pytest.raises(WrongUrl) as raised:
        checked_url(url)
    assert words in str(raised.value)
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize("url", ["https://example.net", "http://127.0.0.1:9/x?y=z", "http://[::1]:80/"])
def test_addresses_that_are_sent_to(url: str) -> None:
    assert checked_url(url) == url
