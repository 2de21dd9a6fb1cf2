"""Whoever is free takes the next block; what is lost with a connection goes to the others; nothing is counted twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_transfer.blocks import MOST_DAMAGED, Blocks, Loaded
from slotcar_transfer.errors import Damaged
from slotcar_transfer.manifest import Block
from tests.support.examples import examples


def offered(count: int) -> tuple[Blocks, list[tuple[Block, str]]]:
    counted: list[tuple[Block, str]] = []
    blocks = Blocks(count + 1, lambda block, lane: counted.append((block, lane)))
    for number in range(count):
        assert blocks.offer(Loaded(Block(0, number * 10, 10), bytes(32), memoryview(b"x" * 10)))
    blocks.all_read()
    return blocks, counted


def taken(blocks: Blocks, lane: str) -> Block:
    loaded = blocks.take(lane, 0)
    assert loaded is not None
    return loaded.block


def test_blocks_go_in_order_to_whoever_is_free() -> None:
    blocks, _ = offered(3)
    assert [taken(blocks, lane).offset for lane in ("base", "additional", "base")] == [0, 10, 20]


def test_at_the_end_a_free_connection_takes_what_the_other_has_not_got_through() -> None:
    blocks, counted = offered(2)
    slow, _ = taken(blocks, "additional"), taken(blocks, "base")
    again = blocks.take("base", 0)
    assert again is not None
    assert (again.block, again.body) == (slow, None)  # to be read again
    blocks.arrived(slow, "base")
    blocks.arrived(slow, "additional")
    assert counted == [(slow, "base")]


def test_what_the_receiver_has_whole_counts_before_it_is_acknowledged() -> None:
    blocks, counted = offered(3)
    first, second, third = taken(blocks, "base"), taken(blocks, "additional"), taken(blocks, "base")
    blocks.arrived(first, "base")
    blocks.lane_lost("additional")
    blocks.all_arrived()
    blocks.arrived(second, "additional")  # too late
    assert counted == [(first, "base"), (second, "additional"), (third, "base")]
    assert blocks.done


def test_before_all_is_read_nothing_is_sent_twice() -> None:
    blocks = Blocks(4, lambda _block, _lane: None)
    blocks.offer(Loaded(Block(0, 0, 1), bytes(32), memoryview(b"x")))
    taken(blocks, "base")
    assert blocks.take("additional", 0) is None


def test_a_block_that_arrives_damaged_is_sent_again_and_not_for_ever() -> None:
    blocks, _ = offered(1)
    for _ in range(MOST_DAMAGED - 1):
        block = taken(blocks, "base")
        blocks.damaged(block, "base")
    block = taken(blocks, "base")
    with pytest.raises(Damaged, match="a block arrived damaged 5 times"):
        blocks.damaged(block, "base")


def test_an_error_ends_it_for_all() -> None:
    blocks, _ = offered(1)
    blocks.fail(ValueError("first"))
    blocks.fail(ValueError("second"))
    assert blocks.take("base", 0) is None
    assert str(blocks.error) == "first"
    assert not blocks.offer(Loaded(Block(0, 0, 1), bytes(32), None))


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["take", "arrive", "damage", "lose"]),
        st.sampled_from(["base", "additional"]),
        st.integers(0, 9),
    ),
    max_size=80,
)


@given(st.integers(1, 12), EVENTS)
@examples(100, 2000)
def test_whatever_happens_every_block_is_counted_once(count: int, events: list[tuple[str, str, int]]) -> None:
    blocks, counted = offered(count)
    on_the_way: dict[str, list[Block]] = {"base": [], "additional": []}
    hurt: dict[Block, int] = {}
    for what, lane, number in events:
        mine = on_the_way[lane]
        if what == "take" and (loaded := blocks.take(lane, 0)) is not None:
            mine.append(loaded.block)
        elif what == "lose":
            mine.clear()
            blocks.lane_lost(lane)
        elif mine and what == "arrive":
            blocks.arrived(mine.pop(number % len(mine)), lane)
        elif mine and what == "damage":
            block = mine.pop(number % len(mine))
            hurt[block] = hurt.get(block, 0) + 1
            if hurt[block] < MOST_DAMAGED:
                blocks.damaged(block, lane)
    for lane in on_the_way:
        blocks.lane_lost(lane)
    while (loaded := blocks.take("base", 0)) is not None:
        blocks.arrived(loaded.block, "base")
    assert blocks.done
    assert sorted(block.offset for block, _ in counted) == [number * 10 for number in range(count)]
