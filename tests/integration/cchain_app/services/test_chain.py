"""Block building: which transactions enter a block, leave the pool, or stay when another block was faster."""

from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connections

from cchain_app import models
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.processing import EvmProcessingBlocks
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_at
from cchain_app.services import choosing, vm
from cchain_app.services.genesis import StoredGenesisReason, WrongChainInDatabase, load_genesis
from cchain_app.store import chain as rows
from primitives.evm import Address
from primitives.hexadecimal import encode_data
from tests.builders.deciding import deciding
from tests.builders.evm_chains import another_process, produce
from tests.builders.reasons import raises
from tests.builders.transactions import RECIPIENT, SENDER, signed
from tests.integration.conftest import Chain, Rpc


def balance(address: Address, number: int) -> int:
    account = state_at(evm_chain(), number).account(address)
    return account.balance if account else 0


def test_no_block_is_built_without_transactions(chain: Chain) -> None:
    assert produce(evm_runtime(), now=chain.now) is None
    assert blocks.head(evm_chain()).number == 0


def test_block_takes_executable_transactions_only(chain: Chain) -> None:
    first, gap = signed(nonce=0), signed(nonce=2)
    chain.send(first, gap)

    block = chain.mine()

    assert [transaction.hash for transaction in block.transactions] == [first.hash]
    assert [row.hash for row in models.PoolTransaction.objects.all()] == [gap.hash]


def test_state_is_there_at_every_height(chain: Chain) -> None:
    heights = [chain.do(value=value)[1].number for value in (1, 10, 100)]

    assert [balance(RECIPIENT, number) for number in [0, *heights]] == [0, 1, 11, 111]
    chain.forget()
    assert [balance(RECIPIENT, number) for number in [0, *heights]] == [0, 1, 11, 111]


def test_a_block_reads_back_from_its_rows_as_it_was_made(chain: Chain) -> None:
    _, block = chain.do()

    assert rows.load_block(evm_chain().db, block.number, evm_chain().format) == block


def test_block_time_never_decreases(chain: Chain) -> None:
    _, first = chain.do()
    chain.now -= 1000

    _, second = chain.do()

    assert second.header.timestamp == first.header.timestamp


def test_fees_are_burnt_and_tips_credited(chain: Chain) -> None:
    before = balance(SENDER, 0)
    _, block = chain.do(value=0)
    header = block.header
    assert header.base_fee is not None
    tip = 10**9

    assert balance(header.coinbase, block.number) == header.gas_used * tip
    assert balance(SENDER, block.number) == before - header.gas_used * (header.base_fee + tip)


def test_slower_producer_builds_on_the_new_head(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.send(signed(nonce=0))
    accept = vm.accept
    overtaken: list[AcceptedBlock | None] = []

    def overtake(*arguments: Any, **more: Any) -> None:
        monkeypatch.setattr(vm, "accept", accept)
        # Between execution and commit.
        overtaken.append(produce(another_process(evm_chain()), now=chain.now + 1))
        accept(*arguments, **more)

    monkeypatch.setattr(vm, "accept", overtake)
    # The other block took the transaction.
    assert produce(evm_runtime(), now=chain.now) is None

    assert blocks.head(evm_chain()) == overtaken[0]
    assert models.Block.objects.count() == 2


def test_a_process_that_missed_blocks_catches_up(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.do(value=5)
    assert balance(RECIPIENT, 1) == 5
    memory = evm_chain().memory
    chain.forget()  # the rest is done by another process
    chain.do(value=6)
    chain.do(value=7)
    monkeypatch.setattr(evm_chain(), "memory", memory)

    assert blocks.head(evm_chain()).number == 1
    assert balance(RECIPIENT, 1) == 5
    assert blocks.catch_up(evm_chain()).number == 3
    assert balance(RECIPIENT, 3) == 18
    assert balance(RECIPIENT, 1) == 5


def test_the_genesis_is_written_once(chain: Chain) -> None:
    assert load_genesis(evm_chain()) == chain.genesis
    assert models.Block.objects.count() == 1


def test_another_genesis_is_refused(chain: Chain) -> None:
    models.Block.objects.update(hash=bytes(32))  # the hash from another genesis file

    with raises(
        StoredGenesisReason.GENESIS_FILE_MISMATCH,
        kind=WrongChainInDatabase,
        match="choose another data directory",
    ):
        load_genesis(evm_chain())

    models.Block.objects.update(hash=chain.genesis.hash)


@pytest.mark.node_settings(cache_blocks=64)
def test_reading_old_blocks_does_not_evict_recent_ones(
    chain: Chain, django_assert_num_queries: Any
) -> None:
    for _ in range(70):
        chain.mine()

    for number in range(1, 35):
        assert blocks.by_number(evm_chain(), number) is not None

    with django_assert_num_queries(0):
        for number in range(40, 71):
            assert blocks.by_number(evm_chain(), number) is not None


def test_rows_and_remembered_blocks_give_the_same_fee_history(chain: Chain, rpc: Rpc) -> None:
    for value in range(40):
        chain.do(value=value, max_priority_fee_per_gas=10**9 + value)

    of_rows = rpc("eth_feeHistory", "0x28", "latest", [0, 50, 100])
    of_blocks = rpc("eth_feeHistory", "0x20", "latest", [0, 50, 100])

    assert of_rows["reward"][-1] == [hex(10**9 + 39)] * 3
    assert of_rows["reward"][-32:] == of_blocks["reward"]
    assert of_rows["baseFeePerGas"][-33:] == of_blocks["baseFeePerGas"]
    assert of_rows["gasUsedRatio"][-32:] == of_blocks["gasUsedRatio"]
    assert of_rows["blobGasUsedRatio"][-32:] == of_blocks["blobGasUsedRatio"]
    assert of_rows["baseFeePerBlobGas"][-33:] == of_blocks["baseFeePerBlobGas"]


def test_the_migration_fills_the_fees_of_blocks_that_are_there(chain: Chain) -> None:
    chain.do(value=1, max_priority_fee_per_gas=7)
    chain.mine()
    columns = ("number", "tips", "blob_gas_used", "excess_blob_gas")
    blocks_of = evm_chain().db.objects(models.Block).order_by("number")
    written = list(blocks_of.values_list(*columns))
    assert [tips for _, tips, *_ in written] == [None, [[7, 21_000]], None]
    blocks_of.update(tips=None, blob_gas_used=None, excess_blob_gas=None)

    editor = connections[evm_chain().db.alias].schema_editor()
    import_module("cchain_app.migrations.0020_fee_history").fill(apps, editor)

    assert list(blocks_of.values_list(*columns)) == written


def test_another_chain_id_on_the_same_chain_is_refused(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evm_chain(), "own_genesis", evm_chain().genesis.with_chain_id(777))

    with raises(
        StoredGenesisReason.OTHER_CHAIN_ID,
        kind=WrongChainInDatabase,
        match="has chain ID 43112, but the settings give 777",
    ):
        load_genesis(evm_chain())


def test_a_producer_that_was_overtaken_while_it_executed_restarts(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = signed(nonce=0), signed(nonce=1)
    chain.send(first)
    build = EvmProcessingBlocks.build

    def overtaken(*arguments: Any, **more: Any) -> Any:
        monkeypatch.setattr(EvmProcessingBlocks, "build", build)
        # Another process commits while this one executes on the old head.
        assert produce(another_process(evm_chain()), now=chain.now + 1) is not None
        chain.send(second)
        return build(*arguments, **more)

    monkeypatch.setattr(EvmProcessingBlocks, "build", overtaken)
    block = produce(evm_runtime(), now=chain.now)

    assert block is not None
    assert [transaction.hash for transaction in block.transactions] == [second.hash]


def test_acknowledged_transaction_is_always_found(
    chain: Chain, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = chain.make()
    chain.send(made)
    advance = evm_chain().memory.advance
    seen: list[Any] = []

    def look_first(*moved: Any) -> None:
        # The block is committed and its transactions have left the pool; memory is not yet updated.
        seen.append(rpc("eth_getTransactionByHash", encode_data(made.hash)))
        seen.append(rpc("eth_getRawTransactionByHash", encode_data(made.hash)))
        advance(*moved)

    monkeypatch.setattr(evm_chain().memory, "advance", look_first)
    chain.mine()

    assert seen[0]["blockNumber"] == "0x1"
    assert seen[1] == encode_data(made.raw)


@pytest.fixture
def elsewhere(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another node makes the blocks."""
    monkeypatch.setattr(chain.runtime, "_consensus", deciding(chain.runtime, here=False))


@pytest.mark.usefixtures("elsewhere")
def test_node_that_may_not_produce_builds_no_block(chain: Chain) -> None:
    chain.send(signed(nonce=0))

    assert produce(evm_runtime(), now=77) is None
    assert produce(evm_runtime(), now=78, allow_empty=True) is None
    assert models.PoolTransaction.objects.count() == 1


@pytest.mark.usefixtures("chain", "elsewhere")
def test_produce_block_command_names_the_other_producer() -> None:
    said = StringIO()

    call_command("produce_block", "--empty", stdout=said)

    assert (
        said.getvalue()
        == "Another node produces this network's blocks, or this node is bootstrapping.\n"
    )


def test_a_block_is_outstanding_while_it_is_made(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept, seen = vm.accept, []

    def look(*arguments: Any, **more: Any) -> None:
        seen.append([height for height, _ in evm_chain().building.outstanding()])
        accept(*arguments, **more)

    monkeypatch.setattr(vm, "accept", look)
    chain.do()

    assert seen == [[1]]
    assert evm_chain().building.outstanding() == []


def test_block_respects_the_message_size_limit(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [signed(nonce=nonce) for nonce in range(4)]
    monkeypatch.setattr(choosing, "MAX_BYTES", len(sent[0].raw) * 3)
    chain.send(*sent)

    assert [len(chain.mine().transactions) for _ in range(2)] == [3, 1]
