"""A local chain keeps the genesis file of its first start, whatever file this version brings."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from cchain_app.apps import evm_chain
from cchain_app.blocks.assembly import fresh_prev_randao
from cchain_app.config import CHOSEN_FORKS, ETHEREUM_LIMITS, at_least
from cchain_app.genesis import built_in_text
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.genesis_source import GenesisSource
from cchain_app.local_genesis import LocalChoices, local_text, without_coins_of_zero
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.services.genesis import (
    StoredGenesisReason,
    WrongChainInDatabase,
    genesis_text,
    load_genesis,
    remarks,
)
from cchain_app.store.chain import first_block
from cchain_app.txs.transaction import LEGACY
from chaindb import clock
from jsonrpc.errors import JsonRpcError
from primitives.evm import ZERO_ADDRESS, ZERO_HASH
from primitives.hashing import EMPTY_ROOT
from tests.builders.node_settings import updated
from tests.builders.platform import NOW
from tests.builders.process import restart_node
from tests.builders.reasons import raises
from tests.integration.conftest import Chain, Rpc
from tests.integration.recomputed import assert_recomputes

pytestmark = pytest.mark.sqlite_only

PREV_RANDAO = "0x445f5260205ff3"
"""Code that returns PREVRANDAO."""
CREATE2_DEPLOYER = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
MULTICALL3 = "0xca11bde05977b3631167028862be2a173976ca11"
AT = "0x00000000000000000000000000000000000000aa"

Begin = Callable[..., None]


@pytest.fixture
def begin(db: None, node_settings: Any, tmp_path: Path, settings: Any) -> Begin:
    """Return a function that starts a node with settings, on the test's own data directory."""
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path), mining="manual")

    def anew(**changes: Any) -> None:
        settings.NODE = updated(settings.NODE, **changes)
        restart_node()

    return anew


@pytest.fixture
def old(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data directory created by an older version."""
    with monkeypatch.context() as older:
        older.setattr("cchain_app.chain.local_text", lambda *_, **__: built_in_text("local"))
        older.setattr(GenesisSource, "keep", lambda *_: None)
        load_genesis(evm_chain())
    begin()
    assert not evm_chain().genesis_source.kept.exists()


def prev_randao_of_call(rpc: Rpc, block: str, **override: str) -> str:
    answer: str = rpc("eth_call", {"to": AT}, block, {AT: {"code": PREV_RANDAO}}, override)
    return answer


@pytest.mark.usefixtures("begin")
def test_new_chain_keeps_its_genesis_file() -> None:
    load_genesis(evm_chain())

    kept = evm_chain().genesis_source.kept.read_bytes()
    assert kept == local_text(LocalChoices()) == evm_chain().genesis_file()
    assert first_block(evm_chain().db) is not None


@pytest.mark.parametrize("began", [1_600_000_000, 4_000_000_000])
def test_chain_starts_at_the_given_time(begin: Begin, began: int) -> None:
    begin(timestamp=began)

    assert load_genesis(evm_chain()).header.timestamp == began
    assert 0 <= clock.cchain_now() - began < 3600
    assert remarks(evm_chain()) == []

    begin(timestamp=began + 5)
    assert load_genesis(evm_chain()).header.timestamp == began
    (remark,) = remarks(evm_chain())
    assert remark.startswith(
        f"NODE_TIMESTAMP is {began + 5}, but this chain began with {began} and keeps"
    )


@pytest.mark.usefixtures("old")
def test_an_old_directory_continues_as_it_began() -> None:
    first = first_block(evm_chain().db)
    chain = Chain()

    assert evm_chain().genesis_file() == built_in_text("local")
    assert first is not None
    assert chain.genesis.hash == first[0]
    blocks = [chain.do()[1], chain.mine()]
    assert [block.header.mix_hash for block in blocks] == [ZERO_HASH, ZERO_HASH]
    assert remarks(evm_chain()) == []


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("hardfork", ["", "osaka", "cancun"])
def test_a_directory_of_version_0_1_0_keeps_its_rules(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, hardfork: str, *, kept: bool
) -> None:
    begin(hardfork=hardfork)
    with monkeypatch.context() as older:
        older.setattr(
            "cchain_app.chain.local_text",
            lambda choices, **_: local_text(choices, as_in_0_1_0=True),
        )
        first = load_genesis(evm_chain())
    if not kept:
        evm_chain().genesis_source.kept.unlink()

    begin()

    assert load_genesis(evm_chain()) == first
    config = evm_chain().config
    assert config.fork_at(1, 2**40) == (hardfork or "prague")
    assert config.limits == ETHEREUM_LIMITS
    assert remarks(evm_chain()) == []


@pytest.mark.parametrize("kept", [True, False])
def test_a_directory_that_began_without_coins_of_the_zero_address_is_kept(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    begin(hardfork="osaka")
    with monkeypatch.context() as older:
        older.setattr(
            "cchain_app.chain.local_text",
            lambda choices, **_: without_coins_of_zero(local_text(choices)),
        )
        first = load_genesis(evm_chain())
    if not kept:
        evm_chain().genesis_source.kept.unlink()

    begin()

    assert load_genesis(evm_chain()) == first
    assert ZERO_ADDRESS not in evm_chain().genesis.alloc


def test_settings_that_differ_from_an_existing_chain_are_reported(begin: Begin) -> None:
    begin(hardfork="cancun", gas_limit=10_000_000, base_fee=5)
    first = load_genesis(evm_chain())
    assert (first.header.gas_limit, first.header.base_fee) == (10_000_000, 5)
    assert first.header.requests_hash is None
    assert remarks(evm_chain()) == []

    begin(hardfork="", gas_limit=0, base_fee=-1)
    assert load_genesis(evm_chain()).hash == first.hash
    assert evm_chain().config.fork_at(1, 2**40) == "cancun"
    assert remarks(evm_chain()) == []

    begin(
        hardfork="London", gas_limit=20_000_000, base_fee=0,
        tx_gas_limit=True, block_gas_limit=False, code_size_limit=9, memory_limit=7,
    )  # fmt: skip
    assert load_genesis(evm_chain()).hash == first.hash
    keeps = "and keeps that value: the setting is for new local chains, in a new data directory and without NODE_GENESIS."
    assert remarks(evm_chain()) == [
        f"NODE_HARDFORK is london, but this chain began with cancun {keeps}",
        f"NODE_GAS_LIMIT is 20000000, but this chain began with 10000000 {keeps}",
        f"NODE_BASE_FEE is 0, but this chain began with 5 {keeps}",
        f"NODE_BLOCK_GAS_LIMIT is False, but this chain began with True {keeps}",
        f"NODE_CODE_SIZE_LIMIT is 9, but this chain began with 24576 {keeps}",
        f"NODE_MEMORY_LIMIT is 7, but this chain began with none {keeps}",
    ]


def test_without_the_kept_file_the_settings_that_it_began_with_are_needed(begin: Begin) -> None:
    """As on the second machine of the production profile, which has the rows but not the file."""
    begin(hardfork="cancun")
    first = load_genesis(evm_chain())
    evm_chain().genesis_source.kept.unlink()

    begin(hardfork="cancun")
    assert load_genesis(evm_chain()).hash == first.hash
    begin(hardfork="")
    with raises(StoredGenesisReason.GENESIS_FILE_MISMATCH, kind=WrongChainInDatabase):
        load_genesis(evm_chain())


@pytest.mark.parametrize("text", [b"", b"{}", b'{"config": 1}'])
@pytest.mark.usefixtures("old")
def test_a_kept_file_that_makes_no_chain_is_passed_over(text: bytes) -> None:
    evm_chain().genesis_source.kept.write_bytes(text)

    assert evm_chain().genesis_file() == built_in_text("local")


@pytest.mark.usefixtures("old")
def test_another_chain_id_is_refused(begin: Begin) -> None:
    begin(chain_id=31337)

    with raises(
        StoredGenesisReason.OTHER_CHAIN_ID,
        kind=WrongChainInDatabase,
        match="has chain ID 43112, but the settings give 31337",
    ):
        load_genesis(evm_chain())


def test_a_given_file_is_taken_as_it_is(begin: Begin, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(json.loads(built_in_text("local")) | {"timestamp": "0x5"}))
    begin(genesis=str(path), gas_limit=9_000_000)
    load_genesis(evm_chain())

    assert not evm_chain().genesis_source.kept.exists()
    assert evm_chain().genesis_file() == path.read_bytes()
    assert [remark.split(",")[0] for remark in remarks(evm_chain())] == [
        "NODE_GAS_LIMIT is 9000000"
    ]


@pytest.fixture
def begin_at_zero(begin: Begin, tmp_path: Path) -> Begin:
    """Start a chain whose genesis file has timestamp 0 and forks at later times."""
    path = tmp_path / "mine.json"
    document = json.loads(built_in_text("local"))
    document["config"] |= {"cancunTime": 1000, "pragueTime": 2000}
    path.write_text(json.dumps(document | {"timestamp": "0x0"}))
    begin(genesis=str(path))
    return begin


def test_a_given_file_keeps_timestamp_0(begin_at_zero: Begin) -> None:
    first = load_genesis(evm_chain())

    assert first.header.timestamp == 0
    assert (first.header.withdrawals_root, first.header.excess_blob_gas) == (EMPTY_ROOT, None)
    assert json.loads(genesis_text(evm_chain()))["timestamp"] == "0x0"
    begin_at_zero()
    assert load_genesis(evm_chain()) == first


def test_the_first_block_after_timestamp_0_has_the_time_and_the_fork_of_the_clock(
    begin_at_zero: Begin, rpc: Rpc
) -> None:
    chain = Chain()
    chain.now = NOW

    block = chain.do()[1]

    assert block.header.timestamp == NOW + 1
    assert (block.header.excess_blob_gas, block.header.requests_hash is None) == (0, False)
    assert rpc("eth_getBlockByNumber", "0x0", False)["timestamp"] == "0x0"
    assert_recomputes(chain.evm)


def test_a_directory_of_an_older_version_that_began_with_timestamp_0_is_kept(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(built_in_text("local"))
    begin(genesis=str(path))
    with monkeypatch.context() as older:
        older.setattr("cchain_app.services.genesis.begin_time", lambda _chain, now: now)
        first = load_genesis(evm_chain())
    assert first.header.timestamp > 0

    begin()

    assert load_genesis(evm_chain()) == first
    assert int(json.loads(genesis_text(evm_chain()))["timestamp"], 16) == first.header.timestamp


def test_another_chain_than_that_of_a_file_with_timestamp_0_is_refused(
    begin: Begin, begin_at_zero: Begin
) -> None:
    begin(genesis="")
    load_genesis(evm_chain())
    begin_at_zero(genesis=str(evm_chain().genesis_source.kept.with_name("mine.json")))

    with raises(StoredGenesisReason.GENESIS_FILE_MISMATCH, kind=WrongChainInDatabase):
        load_genesis(evm_chain())


def test_no_chain_is_started_that_would_need_eip_1283(begin: Begin, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    document = json.loads(built_in_text("local"))
    document["config"] |= dict.fromkeys(("petersburgBlock", "istanbulBlock", "berlinBlock"), 5)
    document["config"] |= {"londonBlock": 5}
    path.write_text(json.dumps(document))
    begin(genesis=str(path))

    with pytest.raises(GenesisFileError, match="EIP-1283"):
        load_genesis(evm_chain())


def test_a_chain_begins_with_the_number_that_a_flag_names(begin: Begin, rpc: Rpc) -> None:
    begin(genesis_number=100)
    chain = Chain()
    assert chain.genesis.number == 100
    hashes = [chain.genesis.hash, chain.do()[1].hash]

    begin(genesis_number=0)  # the stored chain keeps its number

    assert load_genesis(evm_chain()).hash == hashes[0]
    numbers = ("earliest", "0x64", "latest", "0x65")
    found = [rpc("eth_getBlockByNumber", number, False)["hash"][2:] for number in numbers]
    assert found == [hashes[0].hex()] * 2 + [hashes[1].hex()] * 2
    assert rpc("eth_getBlockByNumber", "0x63", False) is None
    begin(genesis_number=7)
    assert [remark.split(",")[0] for remark in remarks(evm_chain())] == ["NODE_GENESIS_NUMBER is 7"]
    assert json.loads(genesis_text(evm_chain()))["number"] == "0x64"
    rpc("anvil_reset")
    assert rpc("eth_blockNumber") == "0x64"
    assert rpc("eth_getBlockByNumber", "latest", False)["hash"] == f"0x{hashes[0].hex()}"


@pytest.mark.parametrize("changes", [{"consensus": "snowman"}, {"bootstrap": ("127.0.0.1:9",)}])
def test_first_number_above_0_needs_a_chain_of_one_node(
    begin: Begin, changes: dict[str, Any]
) -> None:
    begin(genesis_number=100, **changes)

    with pytest.raises(GenesisFileError, match=r"^number: 100, want 0$"):
        load_genesis(evm_chain())


def test_database_without_tables_has_no_chain(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_genesis(evm_chain())
    assert first_block(evm_chain().db) is not None
    monkeypatch.setattr(connection.introspection, "table_names", lambda _cursor: ["others"])
    assert first_block(evm_chain().db) is None


def test_prev_randao_changes_with_each_block(chain: Chain, rpc: Rpc) -> None:
    blocks = [chain.genesis, chain.do()[1], chain.mine(), chain.mine()]

    randaos = [block.header.mix_hash for block in blocks[1:]]
    assert randaos == [fresh_prev_randao(block.hash, block.number + 1) for block in blocks[:-1]]
    assert len(set(randaos)) == len(randaos)
    for tag in ("latest", "0x3"):
        assert prev_randao_of_call(rpc, tag) == f"0x{randaos[-1].hex()}"
    assert prev_randao_of_call(rpc, "0x1") == f"0x{randaos[0].hex()}"
    assert rpc("eth_chainConfig")["freshPrevRandao"] is True


def test_pending_call_sees_the_prev_randao_of_the_next_block(chain: Chain, rpc: Rpc) -> None:
    seen = prev_randao_of_call(rpc, "pending")
    own = "0x" + "77" * 32
    assert prev_randao_of_call(rpc, "pending", prevRandao=own) == own

    assert seen == f"0x{chain.mine().header.mix_hash.hex()}"


def test_predeployed_contracts_work(chain: Chain, rpc: Rpc) -> None:
    # Salt zero, and code that deploys one byte: STOP.
    deploy = bytes(32) + bytes.fromhex("60015f5360015ff3")
    chain.do(to=bytes.fromhex(CREATE2_DEPLOYER[2:]), data=deploy, gas=200_000, value=0)
    made = rpc("eth_call", {"to": CREATE2_DEPLOYER, "data": "0x" + deploy.hex()}, "0x0")
    assert rpc("eth_getCode", made, "latest") == "0x01"

    chain_id = rpc("eth_call", {"to": MULTICALL3, "data": "0x3408e470"}, "latest")
    assert int(chain_id, 16) == 43112


def test_a_chain_may_have_other_limits_of_gas_and_code(begin: Begin, rpc: Rpc) -> None:
    begin(block_gas_limit=False, code_size_limit=50_000, gas_limit=100_000)
    chain = Chain()
    deploy = bytes.fromhex("61c3505ff3")  # 50,000 bytes

    transaction, block = chain.do(to=None, value=0, data=deploy, gas=40_000_000)

    assert (block.header.gas_limit, block.receipts[0].succeeded) == (100_000, True)
    assert block.header.gas_used > 10_000_000
    assert chain.evm.format.parse_block(block.raw).header == block.header
    address = rpc("eth_getTransactionReceipt", f"0x{transaction.hash.hex()}")["contractAddress"]
    assert rpc("eth_getCode", address, "latest") == "0x" + "00" * 50_000
    assert rpc("eth_chainConfig")["codeSizeLimit"] == 50_000
    assert rpc("eth_chainConfig")["noBlockGasLimit"] is True
    trace = rpc("debug_traceTransaction", f"0x{transaction.hash.hex()}", {"tracer": "callTracer"})
    assert int(trace["gasUsed"], 16) == block.header.gas_used
    assert_recomputes(chain.evm)


def test_a_chain_may_limit_memory(begin: Begin, rpc: Rpc) -> None:
    begin(memory_limit=64)
    chain = Chain()
    words = "memory limit of 64 bytes reached"

    transaction, block = chain.do(to=None, value=0, data=bytes.fromhex("6001604052"), gas=100_000)

    assert (block.receipts[0].succeeded, block.header.gas_used) == (False, 100_000)
    assert chain.evm.format.parse_block(block.raw).header == block.header
    assert rpc("eth_chainConfig")["memoryLimit"] == 64
    trace = rpc("debug_traceTransaction", f"0x{transaction.hash.hex()}", {"tracer": "callTracer"})
    assert trace["error"] == words
    for method in ("eth_call", "eth_estimateGas"):
        with pytest.raises(JsonRpcError, match=words):
            rpc(method, {"data": "0x6001604052"}, "latest")
    assert rpc("eth_call", {"data": "0x600160205260406000f3"}, "latest") == "0x" + "00" * 63 + "01"
    assert_recomputes(chain.evm)


@pytest.mark.parametrize("limited", [True, False])
def test_the_gas_limit_of_transactions_is_a_switch(
    begin: Begin, rpc: Rpc, *, limited: bool
) -> None:
    begin(tx_gas_limit=limited)
    chain = Chain()
    if limited:
        with raises(PoolReason.GAS_ABOVE_TRANSACTION_CAP, kind=PoolRejection):
            chain.do(gas=2**24 + 1)
        chain.do(gas=2**24)
    else:
        chain.do(gas=30_000_000)
    assert ("noTransactionGasLimit" in rpc("eth_chainConfig")) is not limited
    assert_recomputes(chain.evm)


@pytest.mark.parametrize("fork", CHOSEN_FORKS)
def test_a_chain_of_each_hard_fork_makes_blocks(begin: Begin, fork: str) -> None:
    begin(hardfork=fork)
    chain = Chain()
    assert chain.evm.config.fork_at(1, chain.now) == fork

    transaction, block = chain.do(type=LEGACY, max_fee_per_gas=2 * 10**9)

    assert [item.hash for item in block.transactions] == [transaction.hash]
    assert block.receipts[0].succeeded
    if at_least(fork, "byzantium"):  # earlier receipts contain state roots, which differ
        assert_recomputes(chain.evm)
