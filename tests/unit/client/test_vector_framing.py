"""Messages on streams and in datagrams, the queue that drops its head, and the sender's bucket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_client.vectors.bucket import Bucket
from slotcar_client.vectors.framing import Frames, Garbled, Newest, Parts, framed, parts

MESSAGES = st.lists(st.binary(max_size=40), max_size=8)


@given(MESSAGES, st.data())
def test_a_stream_gives_the_messages_however_it_is_cut(messages: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(framed(one) for one in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    frames, out = Frames(40), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        out += frames.take(stream[start:end])
    assert out == messages


def test_a_message_that_is_longer_than_agreed_ends_the_stream() -> None:
    with pytest.raises(Garbled, match="a message of 41 bytes comes, and max_data_r is 40"):
        Frames(40).take(framed(bytes(41)))


@given(MESSAGES, st.integers(1, 50), st.randoms(use_true_random=False))
def test_parts_in_any_order_give_their_message(messages: list[bytes], room: int, order: object) -> None:
    joined, out = Parts(40), []
    for number, message in enumerate(messages):
        datagrams = list(parts(number, message, room))
        order.shuffle(datagrams)  # type: ignore[attr-defined]
        out += [whole for one in datagrams if (whole := joined.take(one)) is not None]
    assert out == messages
    assert joined.incomplete == 0


def test_a_message_of_which_a_part_is_lost_is_given_up() -> None:
    joined = Parts(40)
    for number in range(10):
        first, _second = parts(number, bytes(20), 10)
        assert joined.take(first) is None
    assert joined.incomplete == 2
    *_, last = parts(9, bytes(20), 10)
    assert joined.take(last) == bytes(20)


@pytest.mark.parametrize(
    ("datagram", "words"),
    [
        (b"short", "a datagram of 5 bytes comes"),
        (b"\0\0\0\0\0\3\0\2", "part 3 of 2 comes"),
        (b"\0\0\0\0\0\0\0\1" + bytes(41), "part 0 of 1 comes with 41 bytes"),
        (b"\0\0\0\0\0\0\xff\xff", "part 0 of 65535 comes"),
    ],
)
def test_what_is_no_part_is_refused(datagram: bytes, words: str) -> None:
    with pytest.raises(Garbled, match=words):
        Parts(40).take(datagram)


def test_parts_that_together_are_too_long_are_refused() -> None:
    joined = Parts(40)
    first, second, _ = parts(1, bytes(60), 20)
    joined.take(first)
    joined.take(second)
    with pytest.raises(Garbled, match="longer than max_data_r"):
        joined.take(b"\0\0\0\1\0\2\0\3" + bytes(20))


def test_the_head_of_a_full_queue_gives_way() -> None:
    queue = Newest(3)
    for number in range(5):
        queue.put(bytes([number]))
    assert queue.dropped == 2
    queue.resize(2)
    assert queue.dropped == 3
    assert [queue.get(), queue.get()] == [b"\3", b"\4"]
    with pytest.raises(IndexError):
        queue.get()


@given(st.lists(st.tuples(st.integers(1, 3_000), st.floats(0, 0.5)), min_size=1, max_size=30))
def test_what_leaves_a_bucket_conforms_to_one_with_the_same_numbers(packets: list[tuple[int, float]]) -> None:
    """A policer that begins full drops none of it, as long as packets fit into the bucket."""
    bucket, now = Bucket(80_000, 3_000, 0.0), 0.0
    tokens, last = 3_000.0, 0.0
    for size, pause in packets:
        now += pause
        leaves = now + bucket.take(size, now)
        tokens = min(3_000.0, tokens + (leaves - last) * 10_000)
        assert size <= tokens + 1e-6
        tokens, last, now = tokens - size, leaves, leaves


def test_a_packet_larger_than_the_bucket_leaves_when_it_is_full() -> None:
    bucket = Bucket(8_000, 1_000, 0.0)
    assert bucket.take(1_500, 0.0) == 0.0
    assert bucket.take(1_500, 0.0) == pytest.approx(1.5)


def test_another_rate_holds_from_its_change_on() -> None:
    bucket = Bucket(8_000, 1_000, 0.0)
    bucket.take(1_000, 0.0)
    bucket.change(16_000, 500, 0.25)
    assert bucket.take(500, 0.25) == pytest.approx(0.125)
