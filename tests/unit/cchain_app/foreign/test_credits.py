"""Rewards and withdrawals: their recipients and amounts, and their effects on accounts."""

from collections.abc import Sequence

import pytest

from cchain_app.blocks.accepted import Withdrawal
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.header import Header
from cchain_app.evm.credits import pay
from cchain_app.evm.engine import AccountChange, AccountState, StateChanges
from cchain_app.foreign.credits import block_reward, credits_of
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH
from tests.builders.accepted import header
from tests.builders.cchain import MemoryState

MINER, OTHER, POOR = (Address(bytes([place]) * 20) for place in (1, 2, 3))
COIN = 10**18
EMPTY = AccountState(0, 0, EMPTY_HASH)


def block(ommers: Sequence[Header] = (), withdrawals: Sequence[Withdrawal] = ()) -> CandidateBlock:
    of = header(100, coinbase=MINER)
    return CandidateBlock(of, (), Hash(bytes(32)), b"", tuple(ommers), tuple(withdrawals))


@pytest.mark.parametrize(
    ("fork", "coins"),
    [
        ("frontier", 5), ("homestead", 5), ("spurious_dragon", 5), ("byzantium", 3),
        ("constantinople", 2), ("istanbul", 2), ("london", 2),
    ],
)  # fmt: skip
def test_block_reward_depends_on_the_fork(fork: str, coins: int) -> None:
    assert credits_of(block(), fork) == {MINER: coins * COIN}
    assert block_reward(fork) == coins * COIN


def test_uncles_share_by_their_age() -> None:
    uncles = [header(99, coinbase=OTHER), header(94, coinbase=POOR)]

    assert credits_of(block(uncles), "byzantium") == {
        MINER: 3 * COIN + 2 * (3 * COIN // 32),
        OTHER: 3 * COIN * 7 // 8,
        POOR: 3 * COIN * 2 // 8,
    }


def test_miner_of_block_and_uncle_receives_both_rewards() -> None:
    found = credits_of(block([header(99, coinbase=MINER)]), "homestead")

    assert found == {MINER: 5 * COIN + 5 * COIN // 32 + 5 * COIN * 7 // 8}


def test_since_the_merge_only_withdrawals_are_paid() -> None:
    assert credits_of(block(), "paris") == {}
    given = [Withdrawal(0, 1, OTHER, 3), Withdrawal(1, 1, OTHER, 4), Withdrawal(2, 1, POOR, 0)]
    assert credits_of(block(withdrawals=given), "shanghai") == {OTHER: 7 * 10**9, POOR: 0}


def test_credits_are_added_after_execution() -> None:
    state = MemoryState(accounts={MINER: AccountState(1, 10, EMPTY_HASH)})
    now = AccountState(2, 4, EMPTY_HASH)
    executed = StateChanges(accounts={MINER: AccountChange(state.accounts[MINER], now)})

    paid = pay({MINER: 6, OTHER: 5}, executed, state, "byzantium")

    assert paid.accounts == {
        MINER: AccountChange(now, AccountState(2, 10, EMPTY_HASH)),
        OTHER: AccountChange(None, AccountState(0, 5, EMPTY_HASH)),
    }


def test_zero_credit_creates_no_account_and_deletes_an_empty_one() -> None:
    state = MemoryState(accounts={OTHER: EMPTY})

    paid = pay({OTHER: 0, POOR: 0}, StateChanges(), state, "shanghai")

    assert paid.accounts == {OTHER: AccountChange(EMPTY, None)}
