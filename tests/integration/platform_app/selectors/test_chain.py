"""The tip, blocks, transactions, subnets and blockchains as other modules read them."""

import pytest

from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.selectors import accepted, subnets
from platform_app.selectors.accepted import Status
from platform_app.state.chain import Diff
from platform_app.store import mempool
from platform_app.txs import subnets as subnet_txs
from platform_app.txs.base import BaseTx, Tx, TxStatus
from primitives.ids import EMPTY_ID, PRIMARY_NETWORK_ID
from tests.builders import platform, platform_rows
from tests.builders.platform_rows import accept, adding, adding_tx, begin, reward

pytestmark = pytest.mark.django_db


def creating_subnet(tx: Tx) -> platform_rows.Change:
    def change(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.subnets.add(tx.tx_id, tx.unsigned.owner)  # type: ignore[attr-defined]

    return change


def creating_chain(tx: Tx) -> platform_rows.Change:
    def change(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.subnets.add_blockchain(tx)

    return change


def test_chain_without_genesis_has_no_tip() -> None:
    with pytest.raises(NoPlatformGenesis):
        platform_chain().tip()
    with pytest.raises(NoPlatformGenesis):
        platform_chain().network()


def test_blocks_are_found_by_height_and_by_id() -> None:
    genesis = begin()
    block = accept(adding_tx(platform.signed(BaseTx)))

    found = accepted.block_at(platform_chain(), 1)
    assert found == accepted.block(platform_chain(), block.block_id)
    assert found is not None
    assert (found.height, found.block_id, found.raw) == (1, block.block_id, block.raw)
    assert accepted.block_at(platform_chain(), 0) == accepted.block(
        platform_chain(), genesis.block_id
    )
    assert accepted.block(platform_chain(), EMPTY_ID) is None


@pytest.mark.parametrize("height", [2, 2**63 - 1, 2**63, 2**64 - 1])
def test_height_above_the_tip_has_no_block(height: int) -> None:
    begin()

    assert accepted.block_at(platform_chain(), height) is None


def test_the_last_block_of_a_time_is_found() -> None:
    begin()
    for after in (10, 0, 10):
        accept(after=after)

    now = platform.NOW
    assert [accepted.height_at(platform_chain(), now + t) for t in (-1, 0, 9, 10, 19, 20, 99)] == [
        None, 0, 0, 2, 2, 3, 3,
    ]  # fmt: skip


def test_transaction_status_changes_from_pending_to_accepted() -> None:
    begin()
    tx = platform.signed(BaseTx)
    assert accepted.status(platform_chain(), tx.tx_id) == Status(TxStatus.UNKNOWN)

    mempool.add(platform_chain().db, [tx], 1)
    assert accepted.status(platform_chain(), tx.tx_id) == Status(TxStatus.PROCESSING)
    assert accepted.tx(platform_chain(), tx.tx_id) is None

    accept(adding_tx(tx))
    # It is still in the mempool: the accepted status has priority.
    assert accepted.status(platform_chain(), tx.tx_id) == Status(TxStatus.COMMITTED)
    found = accepted.tx(platform_chain(), tx.tx_id)
    assert found == (tx.raw, TxStatus.COMMITTED, 1, 0)


def test_a_dropped_transaction_has_a_reason_until_it_waits_again() -> None:
    begin()
    tx = platform.signed(BaseTx)
    mempool.drop(platform_chain().db, [(tx.tx_id, "flow check failed")], 1)
    assert accepted.status(platform_chain(), tx.tx_id) == Status(
        TxStatus.DROPPED, "flow check failed"
    )

    mempool.add(platform_chain().db, [tx], 2)
    assert accepted.status(platform_chain(), tx.tx_id) == Status(TxStatus.PROCESSING)


def test_a_reward_that_was_not_given_is_aborted() -> None:
    validator, add = adding()
    begin(add)
    proposal, _ = reward(validator, commit=False)

    assert proposal.proposal is not None
    assert accepted.status(platform_chain(), proposal.proposal.tx_id) == Status(TxStatus.ABORTED)
    assert accepted.status(platform_chain(), validator.tx_id) == Status(TxStatus.COMMITTED)


def test_supply_is_known_where_something_is_minted() -> None:
    begin(lambda diff: diff.supplies.set(PRIMARY_NETWORK_ID, 2**64 - 1))

    assert accepted.supply(platform_chain(), PRIMARY_NETWORK_ID) == 2**64 - 1
    assert accepted.supply(platform_chain(), platform.SUBNET_ID) is None
    assert platform_chain().state().supplies.get(PRIMARY_NETWORK_ID) == 2**64 - 1


def test_subnets_are_in_order_of_creation() -> None:
    begin()
    txs = [platform.signed(subnet_txs.CreateSubnetTx, memo=b"%d" % n) for n in range(5)]
    accept(*map(creating_subnet, txs[:3]))
    accept(*map(creating_subnet, txs[3:]))

    ids = [tx.tx_id for tx in txs]
    assert [subnet.subnet_id for subnet in subnets.subnets(platform_chain())] == ids
    some = subnets.subnets(platform_chain(), [ids[3], EMPTY_ID, ids[0], ids[3]])
    assert [item.subnet_id for item in some] == [ids[3], ids[0]]
    assert subnets.subnets(platform_chain(), []) == []
    found = subnets.subnet(platform_chain(), ids[1])
    assert found is not None
    assert (found.subnet_id, found.owner) == (ids[1], platform.owners())
    assert (found.locktime, found.threshold) == (0, 1)
    assert subnets.subnet(platform_chain(), EMPTY_ID) is None


def test_blockchains_belong_to_their_subnets() -> None:
    x_chain = platform.signed(
        subnet_txs.CreateChainTx, subnet_id=PRIMARY_NETWORK_ID, chain_name="X"
    )
    begin(creating_chain(x_chain))
    own = platform.signed(subnet_txs.CreateChainTx, chain_name="Mine")
    accept(creating_chain(own))

    assert [blockchain.name for blockchain in subnets.blockchains(platform_chain())] == [
        "X",
        "Mine",
    ]
    assert subnets.blockchains(platform_chain(), platform.SUBNET_ID) == [
        (own.tx_id, platform.SUBNET_ID, "Mine", platform.EVM_ID)
    ]
    assert (
        subnets.blockchain(platform_chain(), x_chain.tx_id)
        == subnets.blockchains(platform_chain(), PRIMARY_NETWORK_ID)[0]
    )
    assert subnets.blockchain(platform_chain(), EMPTY_ID) is None
