"""Random histories: in every block, the number of coins changes only by rewards and burning."""

from collections import Counter
from typing import Any

import pytest

from platform_app.blocks.block import Block, genesis_block
from platform_app.blocks.builder import build
from platform_app.blocks.executor import ProposalOptions, execute_block
from platform_app.state.chain import Diff
from platform_app.txs.base import TxStatus, inner_output
from platform_app.txs.staking import RewardValidatorTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders.platform_random import History, burned, everything, funded, promised
from tests.builders.platform_state import SUPPLY, MemoryState

BLOCKS = 25


class Ledger:
    """A history followed block by block, with separate sums of rewards and burned amounts."""

    def __init__(self, seed: int) -> None:
        self.state: MemoryState = funded()
        self.history = History(seed, self.state)
        self.parent: Block = genesis_block(b"genesis")
        self.at_first = everything(self.state)
        self.paid = self.burned = 0
        self.seen: Counter[Any] = Counter()

    def run(self) -> None:
        for _ in range(BLOCKS):
            self.history.pass_time()
            txs = self.history.txs(4)
            while self.accept_a_block(txs):
                txs = []

    def accept_a_block(self, txs: list[Any]) -> bool:
        environment = self.history.env()
        built = build(self.parent, self.state, txs, environment)
        self.seen["dropped"] += len(built.dropped)
        if built.block is None:
            return False
        outcome = execute_block(built.block, self.state, environment)
        if isinstance(outcome, ProposalOptions):
            outcome = self.history.random.choice(outcome)
        self.state.accept(outcome)
        self.parent = built.block
        self.count(outcome)
        self.check()
        return True

    def count(self, diff: Diff) -> None:
        self.paid += sum(
            inner_output(utxo.output).amount for _, utxo in diff.utxos.changes().rewards
        )
        for tx, status in diff.txs.changes():
            if not isinstance(tx.unsigned, RewardValidatorTx):
                self.burned += burned(tx)
            self.seen[type(tx.unsigned).__name__, status] += 1

    def check(self) -> None:
        assert everything(self.state) == self.at_first + self.paid - self.burned
        supply = self.state.supplies[PRIMARY_NETWORK_ID]
        assert supply == SUPPLY + self.paid + promised(self.state)


@pytest.mark.parametrize("seed", range(5))
def test_coins_are_conserved_at_every_block(seed: int) -> None:
    ledger = Ledger(seed)
    ledger.run()

    accepted = sum(count for key, count in ledger.seen.items() if key != "dropped")
    assert accepted > ledger.seen["dropped"]
    assert ledger.paid > 0
    assert ledger.burned > 0


def test_histories_hold_every_kind_of_transaction() -> None:
    seen: Counter[Any] = Counter()
    for seed in range(100, 103):
        ledger = Ledger(seed)
        ledger.run()
        seen += ledger.seen

    for name in (
        "BaseTx",
        "ImportTx",
        "ExportTx",
        "CreateSubnetTx",
        "CreateChainTx",
        "AddSubnetValidatorTx",
        "RemoveSubnetValidatorTx",
        "TransferSubnetOwnershipTx",
        "AddValidatorTx",
        "AddDelegatorTx",
        "AddPermissionlessValidatorTx",
        "AddPermissionlessDelegatorTx",
        "RewardValidatorTx",
    ):
        assert seen[name, TxStatus.COMMITTED]
    assert seen["RewardValidatorTx", TxStatus.ABORTED]
    assert seen["dropped"]
