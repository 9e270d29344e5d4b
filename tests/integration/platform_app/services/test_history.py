"""A long random history through mempool and builder: coins are conserved in the rows at every block.

On SQLite it has 2,000 accepted transactions, on PostgreSQL, where each block costs several times as
much, 300.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from nodeproject.apps import this_node
from nodeproject.startup import identity
from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import Block
from platform_app.blocks.processing import WriteStep
from platform_app.chain import PlatformChain
from platform_app.models import Phase
from platform_app.selectors import accepted
from platform_app.services import acceptance, mempool
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority
from platform_app.store.state import DatabaseState
from platform_app.txs.base import TxStatus, inner_output
from platform_app.txs.staking import RewardValidatorTx
from primitives.ids import PRIMARY_NETWORK_ID
from shared_app import models as shared_models
from tests.builders import platform, platform_rows
from tests.builders.node_settings import updated
from tests.builders.platform_random import History, burned, everything, funded, promised
from tests.builders.platform_replay import assert_replays, contents, remembered
from tests.builders.platform_state import SUPPLY

pytestmark = pytest.mark.sqlite_only

SEED = 2_000
TXS = {"sqlite": 2_000, "postgresql": 300}
AT_ONCE = 12
"""The most transactions that are issued in one commit."""
BETWEEN_COMPARISONS = 100
"""Number of blocks after which all rows are compared, not only the live ones."""
KINDS = 14
"""Number of transaction types in such a history, including proposals."""


@pytest.fixture
def ledger(
    db: None, node_settings: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> "Ledger":
    settings.NODE = updated(node_settings, data_dir=str(tmp_path))
    identity.make_identity(this_node().settings, platform.NOW)  # not a validator of this network
    made = Ledger()
    accept = acceptance.accept

    def accept_and_check(
        chain: PlatformChain, steps: Sequence[WriteStep], *more: Any, **named: Any
    ) -> Any:
        place = accept(chain, steps, *more, **named)
        for step in steps:
            made.follow(step.blocks, step.diff)
        return place

    monkeypatch.setattr(acceptance, "accept", accept_and_check)
    return made


class Ledger:
    """Follows the service block by block, and independently sums up rewards and burned fees."""

    def __init__(self) -> None:
        platform_rows.begin_with(funded())
        self.memory = remembered()
        self.history = History(SEED, self.memory)
        self.at_first = everything(self.memory)
        self.paid = self.burned = self.blocks = 0
        self.seen: Counter[Any] = Counter()
        self.clocks: dict[int, int] = {0: platform.NOW}

    @property
    def accepted(self) -> int:
        """Number of accepted transactions that were issued by users."""
        return sum(count for (name, _), count in self.seen.items() if name != "RewardValidatorTx")

    def run(self, count: int) -> None:
        while self.accepted < count:
            self.history.pass_time()
            txs = self.history.txs(self.history.random.randint(1, AT_ONCE))
            outcomes = mempool.issue(platform_chain(), txs, now=self.history.now, gossiped=True)
            self.assert_statuses(txs, outcomes)
            while platform_runtime().consensus.produce(now=self.history.now) is not None:
                self._let_some_be_offline()

    def assert_statuses(self, txs: Sequence[Any], outcomes: Sequence[Any]) -> None:
        for tx, outcome in zip(txs, outcomes, strict=True):
            if outcome == tx.tx_id:
                assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.PROCESSING

    def follow(self, blocks: Sequence[Block], diff: Diff) -> None:
        """Apply the changes of a commit, and compare."""
        self.memory.accept(diff)
        self.blocks += len(blocks)
        self.clocks |= {block.height: self.history.now for block in blocks}
        self.paid += sum(
            inner_output(utxo.output).amount for _, utxo in diff.utxos.changes().rewards
        )
        for tx, status in diff.txs.changes():
            if not isinstance(tx.unsigned, RewardValidatorTx):
                self.burned += burned(tx)
            self.seen[type(tx.unsigned).__name__, status] += 1
        self.assert_coins_are_conserved()
        self.assert_what_is_live_is_the_same()
        if len(self.clocks) % BETWEEN_COMPARISONS == 0:
            assert contents(remembered()) == contents(self.memory)

    def assert_coins_are_conserved(self) -> None:
        """Check the total in the rows: the initial coins, plus rewards, minus burned fees."""
        unspent = _total(models.UTXO.objects.values_list("amount"))
        elsewhere = _total(shared_models.SharedOutput.objects.values_list("amount"))
        staked = _total(
            models.Staker.objects.filter(subnet_id=PRIMARY_NETWORK_ID)
            .exclude(phase=Phase.PAST)
            .values_list("weight")
        )
        assert unspent + staked + elsewhere == self.at_first + self.paid - self.burned
        supply = accepted.supply(platform_chain(), PRIMARY_NETWORK_ID)
        assert supply == SUPPLY + self.paid + promised(self.memory)

    def assert_what_is_live_is_the_same(self) -> None:
        """Compare unspent outputs, stakers in their order, time and fees with those of the diff."""
        state = DatabaseState(platform_chain().db)
        assert state.clock.timestamp() == self.memory.clock.timestamp()
        assert state.clock.fee_state() == self.memory.clock.fee_state()
        assert list(state.stakers.current()) == list(self.memory.stakers.current())
        assert list(state.stakers.pending()) == list(self.memory.stakers.pending())
        keys = models.UTXO.objects.values_list("utxo_id", flat=True)
        assert set(map(bytes, keys)) == set(self.memory.utxos)

    def _let_some_be_offline(self) -> None:
        """Set the uptime of a third of the validators to zero, as observed until their end."""
        for staker in self.memory.stakers.values():
            is_validator = staker.priority is Priority.PRIMARY_VALIDATOR_CURRENT
            if is_validator and staker.tx_id[0] % 3 == 0:
                models.ValidatorUptime.objects.filter(staker=staker.tx_id).update(
                    up_duration=0, last_updated=staker.end
                )


def _total(amounts: Any) -> int:
    return sum(int(amount) for (amount,) in amounts)


@pytest.mark.timeout(300)
def test_a_long_history_conserves_coins_and_replays_from_its_bytes(ledger: Ledger) -> None:
    before, wanted = remembered(), TXS[connection.vendor]

    ledger.run(wanted)

    assert ledger.accepted >= wanted
    assert contents(remembered()) == contents(ledger.memory)
    assert models.Tx.objects.count() == sum(ledger.seen.values())
    assert _total(models.Tx.objects.values_list("burned")) == ledger.burned
    assert platform_chain().tip().height == ledger.blocks
    assert_replays(before, 0, lambda block: ledger.clocks[block.height])
    assert ledger.paid > 0
    assert ledger.seen["RewardValidatorTx", TxStatus.COMMITTED]
    assert ledger.seen["RewardValidatorTx", TxStatus.ABORTED]
    assert len(ledger.seen) == KINDS
