"""Tries of past blocks are read from the nodes at the beginnings of intervals: at every height the root is the block's."""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app import models
from cchain_app.selectors import blocks, tries
from cchain_app.services import pruning
from cchain_app.store import trie_history
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.followed import follow, rewind

COUNTER = bytecode.created(SENDER, 0)
MOST = 10
"""Blocks of a test's chain."""
DEVELOPMENT = pytest.mark.node_settings(profile="embedded")


@pytest.fixture(autouse=True)
def intervals_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let intervals have two or three blocks."""
    monkeypatch.setattr(trie_history, "INTERVAL", 7)


@pytest.fixture
def busy(chain: Any) -> Any:
    """A chain of ten blocks that create and change accounts and slots."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    grow(chain, MOST)
    return chain


def grow(chain: Any, height: int) -> None:
    while head(chain) < height:
        if head(chain) % 2:
            chain.do(to=COUNTER, gas=100_000, value=0)
        else:
            chain.do(to=bytes([head(chain)]) * 20, value=head(chain))


def head(chain: Any) -> int:
    return blocks.head(chain.evm).number


def check_roots(chain: Any) -> None:
    """Compare the root of the trie at every height with that of the block, and read an account there."""
    chain.forget()
    for number in range(head(chain) + 1):
        root = tries.at_height(chain.evm, number, lambda root, _: root)
        block = blocks.by_number(chain.evm, number)
        assert block is not None
        assert root == block.header.state_root, number


def beginnings() -> list[int]:
    found = models.TrieNodeChange.objects.values_list("number", flat=True).distinct()
    return sorted(found.order_by())


def test_roots_at_all_heights_follow_from_few_changes(busy: Any) -> None:
    assert len(beginnings()) > 3
    check_roots(busy)
    for number in range(beginnings()[-1]):
        following = trie_history.next_beginning(busy.evm.db, number)
        assert following is not None
        assert following - number <= 4


def test_a_node_is_written_once_for_an_interval(busy: Any) -> None:
    roots = models.TrieNodeChange.objects.filter(key=b"a").values_list("number", flat=True)
    assert sorted(roots) == beginnings()
    assert len(beginnings()) < MOST


def test_a_past_trie_does_not_depend_on_later_blocks(busy: Any, rpc: Any) -> None:
    asked = ("eth_getProof", "0x" + COUNTER.hex(), ["0x0"])
    known = [rpc(*asked, hex(number)) for number in range(1, MOST + 1)]
    grow(busy, 2 * MOST)
    busy.forget()
    assert [rpc(*asked, hex(number)) for number in range(1, MOST + 1)] == known
    assert len({answer["storageHash"] for answer in known}) > 3


def test_blocks_that_are_accepted_together_have_beginnings_between_them(
    busy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = beginnings()
    follow(*rewind(monkeypatch))
    assert len(beginnings()) >= len(alone) - 1
    check_roots(busy)


@DEVELOPMENT
@pytest.mark.sqlite_only
@pytest.mark.parametrize("left", [1, 4, 5, 9])
def test_blocks_after_a_rewind(busy: Any, rpc: Any, left: int) -> None:
    rpc("anvil_rollback", MOST - left)
    busy.nonce = left
    assert all(number <= left for number in beginnings())
    check_roots(busy)
    for _ in range(MOST):
        busy.do(to=RECIPIENT, value=3)
    check_roots(busy)


@DEVELOPMENT
@pytest.mark.sqlite_only
def test_state_edits_enter_the_trie_with_the_next_block(busy: Any, rpc: Any) -> None:
    for height in range(MOST, MOST + 8):
        rpc("anvil_setBalance", "0x" + bytes([height]).hex() * 20, hex(height))
        rpc("anvil_setBalance", "0x" + SENDER.hex(), hex(10**20 + height))
        rpc("anvil_setStorageAt", "0x" + COUNTER.hex(), hex(height % 3), f"0x{height:064x}")
        grow(busy, height + 1)
    rpc("anvil_setBalance", "0x" + SENDER.hex(), hex(10**19))
    check_roots(busy)


def set_window(chain: Any, blocks_below: int) -> None:
    """Set the window until the process forgets its chain."""
    chain.evm.settings = replace(chain.evm.settings, proof_window=blocks_below)


def test_rows_outside_the_window_are_deleted(busy: Any) -> None:
    set_window(busy, 5)
    grow(busy, MOST + 5)
    assert pruning.prune(busy.evm, seconds=60).nodes > 0
    assert min(beginnings()) >= head(busy) - 5
    assert pruning.prune(busy.evm, seconds=60).nodes == 0
    grow(busy, MOST + 9)
    check_roots(busy)  # with the default window, all of which can be read more slowly


def test_partly_deleted_intervals_are_not_read(busy: Any) -> None:
    trie_history.keep_from(busy.evm.db, MOST)
    assert trie_history.delete_before(busy.evm.db, MOST, 3) == 3
    check_roots(busy)
    grow(busy, MOST + 6)
    check_roots(busy)


def test_blocks_without_history_leave_none_with_gaps(busy: Any) -> None:
    set_window(busy, 0)
    busy.do(to=RECIPIENT, value=1)
    assert beginnings() == []
    busy.forget()
    grow(busy, MOST + 6)
    assert beginnings()[0] > MOST
    check_roots(busy)
