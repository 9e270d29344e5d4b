"""Import and re-execution of foreign chains: all roots and hashes match, and requests return correct data."""

import json
from pathlib import Path
from typing import Any

import pytest

from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks.header import EMPTY_REQUESTS_HASH
from cchain_app.selectors import blocks, state
from cchain_app.services.importing import NotMerged, let_make_blocks
from chaindb import clock
from primitives.evm import Address, Hash, Slot
from primitives.hashing import keccak256
from tests.builders.spec_history import (
    BLOB_HASH,
    BPO1,
    BYZANTIUM,
    CANCUN,
    CONSOLIDATIONS,
    DEPOSITS,
    EXITS,
    LAST,
    PRAGUE,
    SHANGHAI,
    UNCLE,
    WITH_UNCLES,
    WITHDRAWN,
    history,
)
from tests.integration.cchain_app.followed import forget
from tests.integration.cchain_app.services.imported import bring, directory, exported
from tests.integration.conftest import Rpc

__all__ = ["directory"]

VECTORS = Path(__file__).parents[3] / "vectors" / "tracing"

engines = pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=pytest.mark.node_settings(engine=name))
        for name in ("native", "reference")
    ],
)


@engines
def test_chain_of_every_fork_is_imported_and_exported(directory: Path, engine: str) -> None:
    done = bring(history().genesis, history().file)
    chain = evm_chain()

    assert chain.engine.name == {"native": "revm", "reference": "ethereum-execution"}[engine]
    assert (done.blocks, done.skipped) == (LAST, 0)
    assert done.read == len(history().file)
    assert exported(chain) == history().file
    forget()
    assert (
        [blocks.by_number(evm_chain(), number).raw for number in range(1, LAST + 1)]
        == [  # type: ignore[union-attr]
            block.raw for block in history().chain.blocks[1:]
        ]
    )


def test_chain_of_go_ethereum_is_imported_and_exported(directory: Path) -> None:
    file = (VECTORS / "chain.rlp").read_bytes()
    head = json.loads((VECTORS / "head.json").read_text())

    done = bring((VECTORS / "genesis.json").read_bytes(), file)

    found = blocks.head(evm_chain())
    assert (done.blocks, found.number) == (90, int(head["number"], 16))
    assert f"0x{found.hash.hex()}" == head["hash"]
    assert f"0x{found.header.state_root.hex()}" == head["stateRoot"]
    assert exported(evm_chain()) == file


def test_petersburg_after_constantinople_is_taken(directory: Path, rpc: Rpc) -> None:
    later = history().genesis.replace(b'"petersburgBlock": 9', b'"petersburgBlock": 10')

    done = bring(later, history().file)

    assert done.blocks == LAST
    assert rpc("eth_chainConfig")["petersburgBlock"] == 10


def test_the_state_is_right_at_every_height(directory: Path) -> None:
    bring(history().genesis, history().file)
    forget()

    for number, accounts in enumerate(history().states):
        reader = state.state_at(evm_chain(), number)
        for address, account in accounts.items():
            found = reader.account(Address(address))
            assert found is not None
            assert (found.nonce, found.balance) == (account.nonce, account.balance)
            assert found.code_hash == keccak256(account.code)
            for slot, value in account.storage.items():
                assert int.from_bytes(reader.storage(Address(address), Slot(slot))) == value


def test_deleted_accounts_are_absent_at_each_height(directory: Path) -> None:
    bring(history().genesis, history().file)
    states = history().states

    every = {address for accounts in states for address in accounts}
    for number, accounts in enumerate(states):
        reader = state.state_at(evm_chain(), number)
        assert {item for item in every if reader.account(Address(item)) is not None} == set(
            accounts
        )


def test_uncles_are_answered(directory: Path, rpc: Rpc) -> None:
    bring(history().genesis, history().file)

    for number in range(1, LAST + 1):
        height, count = hex(number), int(number in WITH_UNCLES)
        shown = rpc("eth_getBlockByNumber", height, False)
        assert len(shown["uncles"]) == count
        assert rpc("eth_getUncleCountByBlockNumber", height) == hex(count)
        assert rpc("eth_getUncleCountByBlockHash", shown["hash"]) == hex(count)
        assert rpc("eth_getUncleByBlockNumberAndIndex", height, hex(count)) is None
        assert int(shown["size"], 16) == len(history().chain.blocks[number].raw)
        if count:
            uncle = rpc("eth_getUncleByBlockNumberAndIndex", height, "0x0")
            assert uncle == rpc("eth_getUncleByBlockHashAndIndex", shown["hash"], "0x0")
            assert (uncle["hash"], uncle["miner"]) == (shown["uncles"][0], f"0x{UNCLE.hex()}")
            assert uncle["number"] == hex(number - 2)
            assert "transactions" not in uncle


def test_receipts_have_a_root_before_byzantium_and_a_status_since(
    directory: Path, rpc: Rpc
) -> None:
    bring(history().genesis, history().file)
    forget()

    for number in (BYZANTIUM - 1, BYZANTIUM):
        receipts = rpc("eth_getBlockReceipts", hex(number))
        if number < BYZANTIUM:
            assert len({receipt["root"] for receipt in receipts}) == len(receipts)
            assert not any("status" in entry for entry in receipts)
        else:
            assert [item["status"] for item in receipts] == ["0x1", "0x1", "0x0", *["0x1"] * 4]
            assert not any("root" in other for other in receipts)


def test_withdrawals_and_blobs_are_answered(directory: Path, rpc: Rpc) -> None:
    bring(history().genesis, history().file)
    forget()

    shown = rpc("eth_getBlockByNumber", hex(SHANGHAI), False)
    assert [(other["amount"], other["address"]) for other in shown["withdrawals"]] == [
        ("0x5", f"0x{WITHDRAWN.hex()}"),
        ("0x0", f"0x{'ef' * 20}"),
    ]
    assert rpc("eth_getBalance", f"0x{WITHDRAWN.hex()}", hex(SHANGHAI)) == hex(5 * 10**9)
    shown = rpc("eth_getBlockByNumber", hex(CANCUN), True)
    (blobs,) = [item for item in shown["transactions"] if item["type"] == "0x3"]
    assert blobs["blobVersionedHashes"] == [f"0x{BLOB_HASH.hex()}"] * 4
    assert blobs["maxFeePerBlobGas"] == hex(10**9)
    receipt = rpc("eth_getTransactionReceipt", blobs["hash"])
    assert (receipt["blobGasUsed"], receipt["blobGasPrice"]) == (hex(4 * 2**17), "0x1")
    assert rpc("eth_blobBaseFee") == "0x1"


def test_the_last_block_is_latest_safe_and_final(directory: Path, rpc: Rpc) -> None:
    bring(history().genesis, history().file)

    for tag in ("latest", "safe", "finalized"):
        assert rpc("eth_getBlockByNumber", tag, False)["number"] == hex(LAST)
    assert rpc("eth_getBalance", f"0x{'c0' * 20}", "0x1") == hex(
        history().states[1][b"\xc0" * 20].balance
    )


def test_import_builds_no_block_by_default(directory: Path) -> None:
    bring(history().genesis, history().file)

    assert evm_runtime().consensus.produce(now=clock.now(), allow_empty=True) is None
    forget()
    let_make_blocks(evm_chain(), makes=True)
    made = evm_runtime().consensus.produce(now=clock.now(), allow_empty=True)
    assert made is not None
    assert made.height == LAST + 1


def test_building_blocks_before_the_merge_is_refused(directory: Path) -> None:
    bring(history().genesis, [block.raw for block in history().chain.blocks[1:10]])

    with pytest.raises(NotMerged):
        let_make_blocks(evm_chain(), makes=True)


def test_a_later_start_finds_the_genesis_in_the_data_directory(directory: Path) -> None:
    bring(history().genesis, history().file)
    forget()

    document: dict[str, Any] = json.loads(evm_chain().genesis_file())
    assert document["timestamp"] == "0x0"
    assert document["config"]["minBaseFee"] == 0
    first = blocks.by_number(evm_chain(), 0)
    assert first is not None
    assert first.hash == Hash(history().chain.blocks[0].hash)


@engines
def test_execution_requests_are_in_the_header_and_dequeued(
    directory: Path, rpc: Rpc, engine: str
) -> None:
    bring(history().genesis, history().file)
    chain = evm_chain()
    hashes = set()

    for number in range(PRAGUE, LAST + 1):
        block = blocks.by_number(chain, number)
        assert block is not None
        sent = [transaction.to for transaction in block.transactions]
        requests = [EXITS, CONSOLIDATIONS, DEPOSITS]
        assert [item for item in sent if item in requests] == requests
        assert all(
            receipt.succeeded
            for receipt, to in zip(block.receipts, sent, strict=True)
            if to in requests
        )
        hashes.add(block.header.requests_hash)
    assert EMPTY_REQUESTS_HASH not in hashes
    assert len(hashes) == LAST + 1 - PRAGUE
    shown = rpc("eth_getBlockByNumber", hex(PRAGUE), False)
    assert shown["requestsHash"] == "0x" + history().chain.blocks[PRAGUE].header.requests_hash.hex()


@engines
def test_a_chain_of_blob_forks_has_as_many_blobs_as_its_schedule_allows(
    directory: Path, rpc: Rpc, engine: str
) -> None:
    bring(history().genesis, history().file)

    used = {
        number: int(rpc("eth_getBlockByNumber", hex(number), False)["blobGasUsed"], 16) // 2**17
        for number in (BPO1 - 1, BPO1, LAST)
    }
    assert used == {BPO1 - 1: 4, BPO1: 12, LAST: 12}
    excess = [
        int(rpc("eth_getBlockByNumber", hex(number), False)["excessBlobGas"], 16)
        for number in range(BPO1, LAST + 1)
    ]
    # Gas costs more than blobs, so only two thirds of the blobs used are subtracted (EIP-7918).
    assert [item // 2**17 for item in excess] == [0, 4, 8, 12]
    config = rpc("eth_config")["current"]
    assert config["blobSchedule"] == {
        "target": 14, "max": 21, "baseFeeUpdateFraction": 11684671,
    }  # fmt: skip
