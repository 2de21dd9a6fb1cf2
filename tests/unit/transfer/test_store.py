"""What a receiver keeps: it is taken up where it was left, damage is noticed, and a name is given to what is whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import blake3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_transfer import store as stores
from slotcar_transfer.errors import BadName, Damaged, NoSpace, TransferError
from slotcar_transfer.manifest import SMALLEST_BLOCK_BYTES, Block, File, blocks_of
from slotcar_transfer.part_files import Place, place_of
from slotcar_transfer.staging import Tree
from slotcar_transfer.store import Store
from tests.support.examples import examples

SIZE = SMALLEST_BLOCK_BYTES
MTIME = 1_700_000_000 * 10**9
BODIES = {"large": os.urandom(3 * SIZE + 5), "small": b"small", "deep/er": b"x" * SIZE, "empty": b"", "folder/": b""}
FILES = [File(path, len(body), MTIME, 0o640) for path, body in BODIES.items()]
BLOCKS = [block for number, file in enumerate(FILES) for block in blocks_of(number, file, SIZE)]


def body_of(block: Block) -> memoryview:
    return memoryview(list(BODIES.values())[block.file])[block.offset : block.offset + block.length]


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    (tmp_path / "root").mkdir()
    one = Tree(tmp_path / "root")
    yield one
    one.close()


def opened(tree: Tree, files: list[File] | None = None) -> Store:
    return Store(tree, Place(("run",)), "job", FILES if files is None else files, SIZE)


def write(store: Store, *blocks: Block) -> None:
    for block in blocks:
        body = body_of(block)
        store.write(block, blake3.blake3(body).digest(), body)


def finished(store: Store, wrong: int | None = None) -> None:
    """Says each long file's digest, that of the file `wrong` otherwise than it is, and waits until all are in place."""
    for number, body in enumerate(BODIES.values()):
        if len(body) > SIZE:
            store.whole(number, bytes(32) if number == wrong else blake3.blake3(body).digest())
    waiting = threading.Event()
    while not store.done and store.failed is None:
        waiting.wait(0.002)
    if store.failed is not None:
        store.close()
        raise store.failed
    store.finish()


def in_root(tree: Tree) -> dict[str, bytes]:
    root = tree.root / "run"
    return {str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*") if one.is_file()}


WHOLE = {path: body for path, body in BODIES.items() if not path.endswith("/")}


def test_blocks_in_any_order_become_files_with_time_and_mode(tree: Tree) -> None:
    store = opened(tree)
    write(store, *reversed(BLOCKS))
    finished(store)
    assert in_root(tree) == WHOLE
    assert (tree.root / "run" / "folder").is_dir()
    status = (tree.root / "run" / "large").stat()
    assert (status.st_mtime_ns, status.st_mode & 0o777) == (MTIME, 0o640)


@given(st.data())
@examples(15, 200)
def test_it_is_taken_up_where_it_was_left(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    tree = Tree(tmp_path_factory.mktemp("root"))
    order = data.draw(st.permutations(BLOCKS))
    cut = data.draw(st.integers(0, len(order)))
    store = opened(tree)
    write(store, *order[:cut])
    store.close()
    assert all(WHOLE[path] == body for path, body in in_root(tree).items() if ".slotcar" not in path)
    # What a power failure leaves: the last record of the journal is cut off.
    for journal in tree.root.rglob("journal"):
        journal.write_bytes(journal.read_bytes()[: -data.draw(st.integers(1, 47)) or None])
    store = opened(tree)
    missing = [one for one in BLOCKS if not store.has(one)]
    assert len(missing) <= len(order) - cut + 1
    write(store, *missing)
    finished(store)
    assert in_root(tree) == WHOLE
    tree.close()


def test_bytes_that_are_not_what_the_journal_says_are_asked_for_again(tree: Tree) -> None:
    store = opened(tree)
    write(store, *BLOCKS[:3])
    store.close()
    part = store.staging / "0.part"
    body = bytearray(part.read_bytes())
    body[SIZE + 7] ^= 1
    part.write_bytes(body)
    store = opened(tree)
    assert [store.has(one) for one in BLOCKS[:4]] == [True, False, True, False]
    write(store, *BLOCKS)
    finished(store)
    assert in_root(tree) == WHOLE


def test_another_manifest_begins_anew(tree: Tree) -> None:
    store = opened(tree)
    write(store, *BLOCKS[:3])
    store.close()
    store = opened(tree, [File("large", len(BODIES["large"]), MTIME + 1, 0o640)])
    assert not store.has(BLOCKS[0])
    store.close()


def test_a_whole_that_is_another_is_not_kept(tree: Tree) -> None:
    store = opened(tree)
    write(store, *BLOCKS)
    with pytest.raises(Damaged, match="is not what was read at the source"):
        finished(store, wrong=0)
    assert "large" not in in_root(tree)


def test_what_comes_twice_is_written_once(tree: Tree) -> None:
    store = opened(tree)
    body = body_of(BLOCKS[0])
    assert store.write(BLOCKS[0], blake3.blake3(body).digest(), body)
    assert not store.write(BLOCKS[0], blake3.blake3(body).digest(), body)
    store.close()


@pytest.mark.parametrize("block", [Block(9, 0, 5), Block(0, 1, 5), Block(0, 0, 5), Block(1, SIZE, 5), Block(3, 0, 0)])
def test_a_block_that_the_manifest_has_not_is_refused(tree: Tree, block: Block) -> None:
    store = opened(tree)
    with pytest.raises(TransferError):
        store.write(block, bytes(32), memoryview(b"x" * block.length))
    store.close()


def test_without_space_nothing_is_begun_and_nothing_is_left(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores.os, "statvfs", lambda _path: SimpleNamespace(f_bavail=1, f_frsize=4096))
    with pytest.raises(NoSpace, match=r"has 4.1 kB free and 262 kB are to come; nothing was sent"):
        opened(tree)
    assert in_root(tree) == {}


def test_two_receivers_of_one_transfer_do_not_meet(tree: Tree) -> None:
    store = opened(tree)
    with pytest.raises(TransferError, match="another transfer to the same place is under way"):
        opened(tree)
    store.close()


def test_a_link_at_the_destination_leads_nobody_out(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tree.root / "run").mkdir()
    (tree.root / "run" / "deep").symlink_to(tmp_path / "outside")
    store = opened(tree)
    write(store, *BLOCKS)
    with pytest.raises(BadName, match="has a link or a file where a folder is to be"):
        finished(store)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize(
    ("destination", "single", "place"),
    [
        ("", None, Place(())), ("a/b", None, Place(("a", "b"))), ("a/b", "f", Place(("a",), "b")),
        ("a/b/", "f", Place(("a", "b"), "f")), ("", "f", Place((), "f")), ("there", "f", Place(("there",), "f")),
    ],
)  # fmt: skip
def test_where_it_goes(tree: Tree, destination: str, single: str | None, place: Place) -> None:
    (tree.root / "there").mkdir()
    assert place_of(tree, destination, single) == place
