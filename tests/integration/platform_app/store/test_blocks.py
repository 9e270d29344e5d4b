"""A block is written completely: its bytes, its transactions with their positions, and the tip."""

import pytest
from django.db import IntegrityError

from chaindb.fields import row_id
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.models import BlockKind, TxKind
from platform_app.state.chain import Diff
from platform_app.state.facets import FeeState
from platform_app.store import blocks
from platform_app.store.state import DatabaseState
from platform_app.txs import codec, subnets
from platform_app.txs.base import BaseTx, TxStatus
from primitives.hashing import sha256
from primitives.ids import EMPTY_ID, ID, PRIMARY_NETWORK_ID
from tests.builders import platform, platform_rows
from tests.builders.platform_rows import accept, adding, adding_tx, begin, reward

pytestmark = pytest.mark.django_db


def test_chain_without_genesis_is_empty() -> None:
    assert blocks.read(platform_chain().db) is None
    assert DatabaseState(platform_chain().db).clock.timestamp() == 0
    assert DatabaseState(platform_chain().db).tip.block_id == EMPTY_ID


def test_the_genesis_is_the_tip_of_a_new_chain() -> None:
    genesis = begin(lambda diff: diff.supplies.set(PRIMARY_NETWORK_ID, 77))

    found = blocks.read(platform_chain().db)
    assert found is not None
    network, tip = found
    assert network == platform_rows.NETWORK
    assert (tip.height, tip.block_id) == (0, genesis.block_id)
    assert tip.timestamp == platform.NOW
    assert DatabaseState(platform_chain().db).supplies.get(PRIMARY_NETWORK_ID) == 77


def test_genesis_transactions_are_at_height_zero_in_order() -> None:
    validator, add = adding()
    created = platform.signed(subnets.CreateChainTx)
    begin(add, adding_tx(created))

    places = models.Tx.objects.order_by("id").values_list("id", "tx_id", "index")
    assert list(places) == [(row_id(0, 0), validator.tx_id, 0), (row_id(0, 1), created.tx_id, 1)]
    assert models.Block.objects.get(height=0).tx_count == 0


def test_a_block_keeps_its_bytes_and_becomes_the_tip() -> None:
    genesis = begin()
    block = accept(adding_tx(platform.signed(BaseTx)), after=9)

    row = models.Block.objects.get(height=1)
    assert ID(sha256(row.raw)) == row.block_id == block.block_id
    assert (row.parent_id, row.time) == (genesis.block_id, platform.NOW + 9)
    assert (row.kind, row.tx_count) == (BlockKind.BANFF_STANDARD, 1)
    assert DatabaseState(platform_chain().db).tip.block_id == block.block_id
    assert DatabaseState(platform_chain().db).clock.timestamp() == platform.NOW + 9


def test_transaction_row_has_position_kind_and_burned_amount() -> None:
    begin()
    first = platform.signed(BaseTx, memo=b"first")
    second = platform.signed(
        subnets.ExportTx,
        inputs=platform.spend_all(platform.utxo(10), platform.utxo(9, number=1, asset_id=platform.OTHER_ASSET_ID)),
        outputs=platform.outputs(3),
        exported_outputs=platform.outputs(4),
    )  # fmt: skip
    accept(adding_tx(first), adding_tx(second))

    row = models.Tx.objects.get(tx_id=second.tx_id)
    assert (row.id, row.height, row.index) == (row_id(1, 1), 1, 1)
    assert (row.kind, row.get_kind_display(), row.status) == (TxKind.EXPORT, "ExportTx", 4)
    assert row.burned == 10 - 3 - 4
    assert ID(sha256(row.raw)) == second.tx_id


def test_imported_amount_counts_as_input() -> None:
    begin()
    tx = platform.signed(
        subnets.ImportTx,
        inputs=(),
        outputs=platform.outputs(3),
        imported_inputs=platform.spend_all(platform.utxo(10)),
    )
    accept(adding_tx(tx))

    assert models.Tx.objects.get(tx_id=tx.tx_id).burned == 7


def test_stake_is_not_burned() -> None:
    begin()
    stake = platform.CONFIG.min_validator_stake
    inputs = platform.spend_all(platform.utxo(stake + 10))
    validator, add = adding(of_tx={"inputs": inputs, "outputs": platform.outputs(4)})
    accept(add)

    assert models.Tx.objects.get(tx_id=validator.tx_id).burned == 6


def test_a_proposal_and_its_option_are_written_together() -> None:
    validator, add = adding()
    begin(add)
    decision = platform.signed(BaseTx)
    proposal, option = reward(validator, adding_tx(decision), commit=False)

    kinds = models.Block.objects.filter(height__gt=0).values_list("kind", "tx_count", "block_id")
    assert list(kinds.order_by("height")) == [
        (BlockKind.BANFF_PROPOSAL, 2, proposal.block_id),
        (BlockKind.BANFF_ABORT, 0, option.block_id),
    ]
    rows = models.Tx.objects.filter(height=1).order_by("id").values_list("index", "kind", "status")
    assert list(rows) == [(0, TxKind.BASE, 4), (1, TxKind.REWARD_VALIDATOR, 5)]
    assert DatabaseState(platform_chain().db).tip.height == 2


def test_unchanged_state_is_kept() -> None:
    begin(lambda diff: diff.clock.set_fee_state(FeeState(5, 2**64 - 1)))
    diff = Diff(DatabaseState(platform_chain().db))
    diff.txs.add(platform.signed(BaseTx), TxStatus.COMMITTED)
    platform_rows.accept_diff(diff)

    assert DatabaseState(platform_chain().db).clock.timestamp() == platform.NOW
    assert DatabaseState(platform_chain().db).clock.fee_state() == FeeState(5, 2**64 - 1)


def test_stakers_height_changes_with_stakers_only() -> None:
    begin()
    accept(adding_tx(platform.signed(BaseTx)))
    assert DatabaseState(platform_chain().db).tip.stakers_height == 0
    validator, add = adding()
    accept(add)
    assert DatabaseState(platform_chain().db).tip.stakers_height == 2
    accept(adding_tx(platform.signed(BaseTx, memo=b"x")))
    assert DatabaseState(platform_chain().db).tip.stakers_height == 2
    accept(lambda diff: diff.stakers.set_delegatee_reward(validator.tx_id, 5))
    assert DatabaseState(platform_chain().db).tip.stakers_height == 4


def test_a_transaction_of_any_type_is_read_back_as_it_was() -> None:
    begin()
    txs = [platform.signed(cls) for cls in platform.every_type()]
    accept(*map(adding_tx, txs))

    state = DatabaseState(platform_chain().db)
    assert [state.txs.get(tx.tx_id) for tx in txs] == txs
    assert state.txs.get(EMPTY_ID) is None


def test_the_kinds_of_rows_are_the_types_of_the_codec() -> None:
    types = {number: cls.__name__ for number, cls in codec.TYPES.items()}

    assert all(types[kind.value] == kind.label for kind in TxKind)
    assert {kind.value for kind in TxKind} == {
        codec.CODEC.type_id(cls) for cls in platform.every_type()
    }


def test_subnet_owner_can_be_transferred() -> None:
    begin()
    first, second, third = platform.ADDRESSES[:3]
    tx = platform.signed(subnets.CreateSubnetTx)

    def create(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.subnets.add(tx.tx_id, platform.owners(first, second, threshold=2))

    accept(create)
    keys = models.SubnetOwner.objects.filter(subnet=tx.tx_id).values_list("address", flat=True)
    assert set(keys) == {first, second}

    accept(
        lambda diff: diff.subnets.set_owner(tx.tx_id, platform.owners(third, locktime=2**64 - 1))
    )
    assert set(keys.all()) == {third}
    row = models.Subnet.objects.get(subnet_id=tx.tx_id)
    assert (row.threshold, row.locktime) == (1, 2**64 - 1)
    assert row.position == row_id(1, 0)


def test_blockchain_row_has_the_fields_of_its_transaction() -> None:
    begin()
    tx = platform.signed(subnets.CreateChainTx, chain_name="My chain", genesis_data=b"12345")

    def create(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.subnets.add_blockchain(tx)

    accept(create)
    row = models.Blockchain.objects.get(blockchain_id=tx.tx_id)
    assert (row.name, row.vm_id, row.subnet_id) == ("My chain", platform.EVM_ID, platform.SUBNET_ID)
    assert (row.fx_ids, row.genesis_size) == (bytes(platform.SECP256K1_FX_ID), 5)


def test_no_block_is_written_in_part() -> None:
    validator, add = adding()
    begin(add)
    _, again = adding(of_tx={"shares": 30_000})
    before = models.Block.objects.count()

    with pytest.raises(IntegrityError):
        accept(adding_tx(platform.signed(BaseTx)), again)

    assert models.Block.objects.count() == before
    assert DatabaseState(platform_chain().db).stakers.get(validator.tx_id) == validator


def test_the_reward_of_a_genesis_validator_names_its_transaction() -> None:
    validator, add = adding(potential_reward=9)
    begin(add)
    utxo = platform.utxo(9)
    reward(validator, lambda diff: diff.utxos.add_reward(validator.tx_id, utxo))

    row = models.RewardUTXO.objects.get(tx_id=validator.tx_id)
    assert (row.amount, row.utxo_id, row.height) == (9, utxo.utxo_id, 2)
