"""Blocks of a chain of a subnet whose managers decide, on undecided parents: built by one node, verified by another."""

import json
from dataclasses import replace
from typing import Any

import pytest

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason
from cchain_app.blocks.receipt import encode_logs
from cchain_app.config import BLACKHOLE
from cchain_app.evm.engine import AccountState
from cchain_app.evm.overrides import BlockOverride
from cchain_app.evm.select import has_native, select_engine, select_trie
from cchain_app.evm.trie import Tries
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.precompiles import addresses
from cchain_app.precompiles.fee_config import DEFAULT_FEE_CONFIG, FeeConfig
from cchain_app.precompiles.predicates import NO_RESULTS, encode_results
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.processing import BlockExecutor, EvmProcessingBlocks
from cchain_app.rules.subnet_evm.fees import WINDOW_SIZE
from cchain_app.rules.subnet_evm.genesis import load_genesis
from cchain_app.rules.subnet_evm.rules import SUBNET_EVM_FORMAT, SubnetEvmRuleSet
from cchain_app.txs.transaction import Transaction
from chainvm.port import BlockContext
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH
from primitives.hexadecimal import encode_data
from primitives.ids import ID
from primitives.upgrades import OWN_NETWORK
from primitives.warp import CanonicalSet
from tests.builders.cchain import COIN, SENDERS, MemoryState, transaction
from tests.builders.reasons import raises
from tests.builders.stateful import CHAIN, NETWORK, predicate
from tests.builders.subnet_evm import FEES, subnet_genesis
from tests.builders.transactions import CHAIN_ID
from tests.builders.tries import MemoryNodes, state_from_scratch

pytestmark = pytest.mark.skipif(not has_native(), reason="the native engine was not built")

GENESIS_TIME = 0x6553F100
NOW = GENESIS_TIME + 100
GWEI = 10**9
REWARDED = Address(b"\x71" * 20)
ROLES = {"blockTimestamp": GENESIS_TIME, "adminAddresses": [encode_data(SENDERS[0])]}
NEW_FEES = DEFAULT_FEE_CONFIG._replace(gas_limit=9_000_000, min_base_fee=7 * GWEI)


def nobody(source: ID, p_chain_height: int | None, *, primary_network: bool) -> CanonicalSet:
    """Return no validators, so that no message holds."""
    del source, p_chain_height, primary_network
    return CanonicalSet((), 0)


def processing(
    *,
    warp: bool = True,
    enforces_delay: bool = False,
    engine: str = "native",
    balance: int = 1_000 * COIN,
    **of_config: Any,
) -> EvmProcessingBlocks:
    document = json.loads(
        subnet_genesis(
            CHAIN_ID,
            feeManagerConfig=ROLES,
            rewardManagerConfig=ROLES,
            warpConfig={"blockTimestamp": GENESIS_TIME} if warp else None,
            **of_config,
        )
    )
    document["alloc"] = {account.hex(): {"balance": hex(balance)} for account in SENDERS}
    state, nodes = MemoryState(), MemoryNodes()
    identity = WarpIdentity(NETWORK, lambda: ID(CHAIN), nobody)
    rule_set = SubnetEvmRuleSet(OWN_NETWORK, lambda _: state, enforces_delay=enforces_delay)
    genesis = rule_set.load_genesis(json.dumps(document).encode())
    state.apply(genesis.state_changes())
    root, nodes.stored = state_from_scratch(state.accounts, state.storages)
    head = SUBNET_EVM_FORMAT.genesis_block(genesis, root)
    state.hashes[0] = head.hash
    executor = BlockExecutor(rule_set.rules(genesis, identity), select_engine(engine), encode_logs)
    tries = Tries(select_trie("native", cache_bytes=1 << 20), select_trie("native"))
    return EvmProcessingBlocks(executor, tries, head, state, nodes)


def sent(sender: int = 0, **changes: Any) -> Transaction:
    values = {"value": 0, "nonce": 0, "gas": 500_000, "max_fee_per_gas": 50 * GWEI}
    return transaction(sender, **{**values, "max_priority_fee_per_gas": 0, **changes})


def set_fees(fees: FeeConfig = NEW_FEES, **changes: Any) -> Transaction:
    data = bytes.fromhex("8f10b586") + b"".join(value.to_bytes(32, "big") for value in fees)
    return sent(to=addresses.FEE_MANAGER, data=data, **changes)


def set_rewards(**changes: Any) -> Transaction:
    data = bytes.fromhex("5e00e679") + REWARDED.rjust(32, b"\0")
    return sent(to=addresses.REWARD_MANAGER, data=data, **changes)


def built(blocks: EvmProcessingBlocks, *txs: Transaction, now: int = NOW) -> AcceptedBlock:
    """Build a block on the last one that was built here."""
    made = blocks.build(txs, BlockContext(now), allow_empty=True).made
    assert made is not None
    blocks.prefer(ID(made.block.hash))
    return made.block


def candidate(block: AcceptedBlock) -> CandidateBlock:
    return SUBNET_EVM_FORMAT.parse_block(block.raw)


def test_managers_decide_on_children_of_undecided_blocks() -> None:
    here, there = processing(), processing()

    line = [
        built(here, set_fees(), set_rewards(nonce=1)),
        built(here, sent(1, to=REWARDED), now=NOW + 2),
    ]
    for block in line:
        there.verify(candidate(block), block.transactions, BlockContext(NOW + 5))

    assert [receipt.succeeded for block in line for receipt in block.receipts] == [True] * 3
    parent, child = (block.header for block in line)
    assert (parent.gas_limit, parent.base_fee) == (12_000_000, GWEI)
    assert (child.gas_limit, child.base_fee, child.coinbase) == (9_000_000, 7 * GWEI, REWARDED)
    assert parent.coinbase == BLACKHOLE
    burned = parent.gas_used * GWEI
    after = [here.executed(ID(block.hash))[1].account for block in line]
    assert [account(BLACKHOLE) for account in after] == 2 * [AccountState(0, burned, EMPTY_HASH)]
    rewarded = after[1](REWARDED)
    assert rewarded is not None
    assert rewarded.balance == child.gas_used * 7 * GWEI
    found = there.get(ID(line[1].hash))
    assert found is not None
    assert found.block == line[1]


def test_fees_and_precompiles_are_those_of_a_time_that_a_cheat_has_set() -> None:
    minter = {"contractNativeMinterConfig": {**ROLES, "blockTimestamp": NOW + 30}}
    here, there = processing(**minter), processing(**minter)
    line = [
        built(here, set_fees()),
        built(here, set_fees(NEW_FEES._replace(min_base_fee=GWEI), nonce=1)),
    ]
    minting = bytes.fromhex("4f5aaaba") + REWARDED.rjust(32, b"\0") + (5).to_bytes(32)
    made = here.build(
        (sent(to=addresses.NATIVE_MINTER, data=minting, nonce=2),),
        BlockContext(NOW + 1),
        override=BlockOverride(time=NOW + 60),
    ).made
    assert made is not None

    for block in (*line, made.block):
        there.verify(candidate(block), block.transactions, BlockContext(NOW + 60))

    assert [block.header.base_fee for block in line] == [GWEI, 7 * GWEI]
    fallen = 7 * GWEI - 6 * (7 * GWEI // DEFAULT_FEE_CONFIG.base_fee_change_denominator)
    assert (made.block.header.timestamp, made.block.header.base_fee) == (NOW + 60, fallen)
    rewarded = here.state_after(made.block_id).account(REWARDED)
    assert rewarded == AccountState(0, 5, EMPTY_HASH)


def test_a_block_that_ignores_a_manager_is_refused() -> None:
    here, there = processing(), processing()
    parent = built(here, set_rewards())
    child = candidate(built(here, now=NOW + 2))
    there.verify(candidate(parent), parent.transactions, BlockContext(NOW + 5))
    other = replace(child, header=replace(child.header, coinbase=Address(bytes(20))))

    with raises(BlockReason.WRONG_COINBASE):
        there.verify(other, (), BlockContext(NOW + 5))


@pytest.mark.parametrize(
    ("asked", "limit"), [(2**63, 2**63), (2**64 - 1, 2**64 - 1), (2**64 + 9_000_000, 9_000_000)]
)
def test_a_gas_limit_above_63_bits_does_not_stop_the_chain(asked: int, limit: int) -> None:
    here, there = processing(), processing()
    line = [
        built(here, set_fees(NEW_FEES._replace(gas_limit=asked))),
        built(here, sent(1, to=REWARDED, value=5), now=NOW + 2),
    ]
    for block in line:
        there.verify(candidate(block), block.transactions, BlockContext(NOW + 5))
    assert line[1].header.gas_limit == limit
    assert line[1].receipts[0].succeeded


@pytest.mark.parametrize("least", [2**64, 2**130])
def test_a_chain_goes_on_with_a_base_fee_of_more_than_64_bits(least: int) -> None:
    here, there = (processing(engine=name, balance=2**200) for name in ("native", "reference"))
    fees = NEW_FEES._replace(min_base_fee=least)
    dear = {"max_fee_per_gas": 2 * least, "max_priority_fee_per_gas": 3, "gas": 300_000}
    line = [
        built(here, set_fees(fees)),
        built(here, now=NOW + 2),
        built(here, sent(1, to=REWARDED, value=5, **dear), now=NOW + 4),
        built(here, set_fees(nonce=1, **dear), now=NOW + 6),
        built(here, now=NOW + 8),
    ]
    for block in line:
        there.verify(candidate(block), block.transactions, BlockContext(NOW + 9))

    assert all(receipt.succeeded for block in line for receipt in block.receipts)
    assert [block.header.base_fee for block in line[:4]] == [GWEI, least, least, least]
    assert (line[4].header.base_fee or 0) < least, "a lower least fee is in force, and it falls"
    paid = here.executed(ID(line[3].hash))[1].account(BLACKHOLE)
    assert paid is not None
    gas = [block.header.gas_used for block in line]
    assert paid.balance == gas[0] * GWEI + (gas[2] + gas[3]) * (least + 3)


def test_no_header_has_a_base_fee_of_more_than_256_bits() -> None:
    here = processing(feeConfig={**FEES, "targetGas": 10, "baseFeeChangeDenominator": 1})
    block = built(here, sent(to=REWARDED))
    rules = here._rules
    for base_fee, follows in ((2**240, True), (2**255, False)):
        parent = replace(block, header=replace(block.header, base_fee=base_fee))
        if follows:
            rules.env_after(parent, NOW + 1)
            continue
        with raises(BlockReason.FEES_OUT_OF_RANGE):
            rules.env_after(parent, NOW + 1)
        assert (rules.env_after(parent, NOW + 60).base_fee or 0) < base_fee, "it falls with time"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"feeConfig": {**FEES, "minBaseFee": 2**256}},
            "invalid fee config: minBaseFee exceeds hash length: 32 bytes",
        ),
        (
            {"feeManagerConfig": {**ROLES, "initialFeeConfig": {**FEES, "gasLimit": 2**63}}},
            "invalid precompile upgrades: gasLimit cannot be greater than 9223372036854775807",
        ),
    ],
    ids=["of the chain", "of the manager"],
)
def test_a_genesis_with_such_fees_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(GenesisFileError, match=words):
        load_genesis(subnet_genesis(CHAIN_ID, **changes), OWN_NETWORK)


def test_extra_data_ends_with_the_results_of_messages() -> None:
    here, there = processing(), processing()
    plain = built(here)
    failing = sent(to=REWARDED, access_list=(predicate(),), gas=900_000)
    with_message = built(here, failing, now=NOW + 2)
    for block in (plain, with_message):
        there.verify(candidate(block), block.transactions, BlockContext(NOW + 5))

    assert plain.header.extra_data[WINDOW_SIZE:] == NO_RESULTS
    assert with_message.header.extra_data[WINDOW_SIZE:] == encode_results({failing.hash: 1})


def test_without_a_height_nodes_that_vote_put_no_message_into_a_block() -> None:
    context = BlockContext(NOW, voted=True)
    txs = [sent(to=REWARDED, access_list=(predicate(),), gas=900_000), sent(1, to=REWARDED)]
    alone = built(processing(), *txs)

    made = processing().build(txs, context)

    assert made.made is not None
    assert made.made.block.transactions == (txs[1],)
    with raises(BlockReason.NO_PREDICATE_CONTEXT):
        processing().verify(candidate(alone), alone.transactions, context)
    old = processing(warp=False)
    plain = old.build(txs, context).made
    assert plain is not None
    assert plain.block.transactions == tuple(txs)


def test_a_block_must_pay_for_its_messages() -> None:
    claimed = candidate(built(processing(), sent(to=REWARDED)))
    rules = processing()._rules
    offered = [sent(to=REWARDED, access_list=(predicate(),), gas=100_000)]

    with raises(BlockReason.MESSAGE_GAS):
        rules.verify_messages(rules.env_of(claimed), offered, BlockContext(NOW + 5), claimed)


@pytest.mark.parametrize("results", [b"", encode_results({bytes(32): 1})], ids=["none", "other"])
def test_other_results_are_refused(results: bytes) -> None:
    block = built(processing(), sent(to=REWARDED))
    claimed = candidate(block)
    header = replace(claimed.header, extra_data=claimed.header.extra_data[:WINDOW_SIZE] + results)

    with raises(BlockReason.OTHER_RESULTS):
        processing().verify(
            replace(claimed, header=header), block.transactions, BlockContext(NOW + 5)
        )


def test_a_decided_block_s_results_must_be_readable() -> None:
    block = built(processing(), sent(to=REWARDED))
    claimed = candidate(block)
    header = replace(claimed.header, extra_data=claimed.header.extra_data[:WINDOW_SIZE] + b"\x01")

    with raises(BlockReason.RESULTS_MALFORMED):
        processing().verify(
            replace(claimed, header=header),
            block.transactions,
            BlockContext(NOW + 5, decided=True),
        )


def test_without_warp_there_are_no_results_but_their_place() -> None:
    here, there = processing(warp=False), processing(warp=False)
    block = built(here, sent(to=REWARDED, access_list=(predicate(),), gas=900_000))
    there.verify(candidate(block), block.transactions, BlockContext(NOW + 5))

    claimed = candidate(block)
    header = replace(claimed.header, extra_data=claimed.header.extra_data[:WINDOW_SIZE])
    with raises(BlockReason.OTHER_RESULTS):
        processing(warp=False).verify(
            replace(claimed, header=header), block.transactions, BlockContext(NOW + 5)
        )
    assert block.header.extra_data[WINDOW_SIZE:] == NO_RESULTS
