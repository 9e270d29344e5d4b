"""Warp messages in blocks with Ethereum's headers: who has signed them, and how a header says which do not hold."""

from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.candidate import CandidateBlock, parse_block, parse_block_with_payload
from cchain_app.blocks.effects import BlockEffects, PayloadPlace
from cchain_app.blocks.errors import BlockReason
from cchain_app.blocks.receipt import encode_logs
from cchain_app.evm.engine import StateChanges
from cchain_app.evm.select import has_native, select_engine, select_trie
from cchain_app.evm.trie import Tries
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.precompiles import addresses, predicates
from cchain_app.precompiles.active import GRANITE_WARP_GAS
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.results import MOST_BITS, decode_bits, encode_bits, without_room
from cchain_app.precompiles.schedule import PrecompileConfig, PrecompileSchedule
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.processing import NO_ROOM, BlockExecutor, EvmProcessingBlocks
from cchain_app.rules.ethereum import NO_EXTENSION, PAYLOAD_FORMAT, EthereumRules, NoExtension
from cchain_app.rules.port import BlockExtension
from cchain_app.rules.precompiles import NO_HEIGHT
from cchain_app.txs.transaction import Transaction, intrinsic_gas
from chainvm.port import BlockContext
from primitives import bls
from primitives.evm import Address, Slot
from primitives.hashing import keccak256
from primitives.ids import ID
from primitives.warp import (
    CanonicalSet,
    UnsignedMessage,
    WarpError,
    WarpReason,
    build_payload,
    build_signed,
    canonical_set,
)
from tests.builders.accepted import header
from tests.builders.bytecode import assemble
from tests.builders.cchain import BASE_FEE, COIN, SENDERS, MemoryState, transaction
from tests.builders.reasons import raises
from tests.builders.stateful import CHAIN, MESSAGE, NETWORK, SOURCE
from tests.builders.tries import MemoryNodes, state_from_scratch

pytestmark = pytest.mark.skipif(not has_native(), reason="the native engine was not built")

NOW = 1_800_000_000
SECRETS = [bytes([1]).rjust(32, b"\0"), bytes([2]).rjust(32, b"\0"), bytes([3]).rjust(32, b"\0")]
VALIDATORS = canonical_set((bls.public_key(secret), 10) for secret in SECRETS)
ORDER = [item.public_key for item in VALIDATORS.validators]
READER = Address(b"\xdd" * 20)
GENESIS = load_genesis(built_in_text("local"))
WARP = PrecompileSchedule((PrecompileConfig(PrecompileKey.WARP, 0),))


def signed_by(*secrets: bytes, network: int = NETWORK) -> tuple[Address, tuple[Slot, ...]]:
    message = UnsignedMessage(network, SOURCE, build_payload(MESSAGE))
    signers = sum(1 << ORDER.index(bls.public_key(secret)) for secret in secrets)
    signature = bls.aggregate_signatures([bls.sign(secret, message.raw) for secret in secrets])
    keys = predicates.pack(build_signed(message, signers, signature))
    return addresses.WARP, tuple(map(Slot, keys))


HOLDS = signed_by(*SECRETS)
FAILS = signed_by(SECRETS[0])


class Validators:
    """Returns the validators, and counts how often somebody asks at which height."""

    def __init__(self) -> None:
        self.asked: list[int | None] = []

    def __call__(
        self, source: ID, p_chain_height: int | None, *, primary_network: bool
    ) -> CanonicalSet:
        del primary_network
        self.asked.append(p_chain_height)
        if source != SOURCE:
            raise WarpError(WarpReason.NO_SIGNERS)
        return VALIDATORS


def processing(
    validators: Validators | None = None,
    extension: BlockExtension = NO_EXTENSION,
    schedule: PrecompileSchedule = WARP,
    code: bytes | None = None,
    storage: dict[int, int] | None = None,
) -> EvmProcessingBlocks:
    state, nodes = MemoryState(), MemoryNodes()
    for sender in SENDERS:
        state.put(sender, balance=1_000 * COIN)
    state.put(READER, nonce=1, code=code or reading(), storage=storage)
    root, nodes.stored = state_from_scratch(state.accounts, state.storages)
    head = make_block(
        header(0, state_root=root, timestamp=NOW - 100, gas_limit=GENESIS.gas_limit), (), ()
    )
    state.hashes[0] = head.hash
    rules = EthereumRules(
        replace(GENESIS.config, stateful=schedule),
        GENESIS.gas_limit,
        PAYLOAD_FORMAT,
        extension,
        WarpIdentity(NETWORK, lambda: ID(CHAIN), validators or Validators()),
    )
    executor = BlockExecutor(rules, select_engine("native"), encode_logs)
    tries = Tries(select_trie("native", cache_bytes=1 << 20), select_trie("native"))
    return EvmProcessingBlocks(executor, tries, head, state, nodes)


def reading() -> bytes:
    """Return code that stores in slot 1 whether the first message holds, plus one."""
    head = assemble(0x6F825350 << 224, 0, "MSTORE")
    called = assemble(96, 64, 36, 0, 0, int.from_bytes(addresses.WARP, "big"), "GAS CALL POP")
    return head + called + assemble(96, "MLOAD", 1, "ADD", 1, "SSTORE")


def reader(sender: int, *entries: Any, **changes: Any) -> Transaction:
    values = {"value": 0, "nonce": 0, "gas": 900_000, "max_fee_per_gas": 2 * BASE_FEE}
    return transaction(sender, to=READER, access_list=entries, **{**values, **changes})


def built(blocks: EvmProcessingBlocks, *txs: Transaction, **changes: Any) -> Any:
    made = blocks.build(txs, BlockContext(NOW, 7), **changes)
    assert made.made is not None
    return made


def candidate(block: AcceptedBlock) -> CandidateBlock:
    parse = parse_block if block.payload is None else parse_block_with_payload
    return parse(block.raw)


def stored(made: Any) -> int:
    changes = made.made.executed.changes.storage
    return int.from_bytes(changes[READER, Slot((1).to_bytes(32, "big"))].after, "big")


def test_a_block_whose_messages_hold_has_an_ordinary_header() -> None:
    here, there = processing(), processing()

    made = built(here, reader(0, HOLDS))
    there.verify(candidate(made.made.block), made.made.block.transactions, BlockContext(NOW, 7))

    assert made.made.block.header.extra_data == b""
    assert stored(made) == 2


def test_the_header_names_those_that_do_not_hold() -> None:
    here, there = processing(), processing()

    made = built(
        here, reader(0, HOLDS), reader(1, FAILS, HOLDS), reader(2, signed_by(*SECRETS, network=9))
    )
    block = made.made.block
    there.verify(candidate(block), block.transactions, BlockContext(NOW, 7))

    assert block.header.extra_data == bytes([0b1010])
    assert stored(made) == 1


def test_another_result_is_refused() -> None:
    block = built(processing(), reader(0, FAILS)).made.block
    claimed = candidate(block)
    other = replace(claimed, header=replace(claimed.header, extra_data=b""))

    with raises(BlockReason.OTHER_RESULTS):
        processing().verify(other, block.transactions, BlockContext(NOW, 7))


@pytest.mark.parametrize(
    ("offered", "changes", "reason"),
    [
        (reader(0, HOLDS, gas=100_000), {}, BlockReason.MESSAGE_GAS),
        (reader(0, *5 * [HOLDS]), {}, BlockReason.MESSAGES_GAS),
        (reader(0, HOLDS), {"gas_used": 10**9}, BlockReason.GAS_ABOVE_LIMIT),
    ],
    ids=["of the transaction", "of the block", "above the limit"],
)
def test_no_signature_is_verified_that_a_block_does_not_pay(
    offered: Transaction, changes: dict[str, int], reason: BlockReason
) -> None:
    claimed = candidate(built(processing(), reader(0, HOLDS)).made.block)
    claimed = replace(claimed, header=replace(claimed.header, **changes))
    validators = Validators()
    rules = processing(validators)._rules

    with raises(reason):
        rules.verify_messages(rules.env_of(claimed), [offered], BlockContext(NOW, 7), claimed)
    assert validators.asked == []


def test_a_block_whose_refunds_exceed_its_execution_pays() -> None:
    numbers = range(1, 11)
    account = {
        "code": b"".join(assemble(0, number, "SSTORE") for number in numbers),
        "storage": dict.fromkeys(numbers, 7),
    }
    slots = (READER, tuple(Slot(number.to_bytes(32, "big")) for number in numbers))
    given = reader(0, HOLDS, slots)

    block = built(processing(**account), given).made.block
    there = processing(**account)
    there.verify(candidate(block), block.transactions, BlockContext(NOW, 7))

    needed = predicates.extra_gas(predicates.parse_predicates([HOLDS]), GRANITE_WARP_GAS)
    assert block.header.gas_used < intrinsic_gas(given, "cancun") + needed


def test_without_a_height_nodes_that_vote_put_no_message_into_a_block() -> None:
    validators = Validators()
    context = BlockContext(NOW, voted=True)
    alone = built(processing(validators), reader(0, HOLDS), reader(1)).made.block
    validators.asked.clear()

    made = processing().build([reader(0, HOLDS), reader(1)], context)

    assert made.made is not None
    assert made.made.block.transactions == (reader(1),)
    assert [(item.index, item.reason, item.retry) for item in made.skipped] == [
        (0, NO_HEIGHT, True)
    ]
    processing().verify(candidate(made.made.block), made.made.block.transactions, context)
    with raises(BlockReason.NO_PREDICATE_CONTEXT):
        processing(validators).verify(candidate(alone), alone.transactions, context)
    assert validators.asked == []
    decided = context._replace(decided=True)
    processing(validators).verify(candidate(alone), alone.transactions, decided)


def test_a_lone_node_takes_the_height_that_it_has() -> None:
    validators = Validators()

    made = processing(validators).build([reader(0, HOLDS)], BlockContext(NOW)).made

    assert made is not None
    assert len(made.block.transactions) == 1
    assert validators.asked == [None]


def test_the_results_of_a_decided_block_are_its_own() -> None:
    block = built(processing(), reader(0, FAILS)).made.block
    validators = Validators()
    there = processing(validators)

    there.verify(candidate(block), block.transactions, BlockContext(NOW, decided=True))

    assert validators.asked == []
    found = there.get(ID(block.hash))
    assert found is not None
    assert found.block == block


def test_a_block_is_executed_again_with_its_results() -> None:
    blocks = processing()
    made = built(blocks, reader(0, FAILS)).made
    rules = blocks._rules
    for one in (made.block, candidate(made.block)):
        warp = rules.env_of(one).stateful.warp
        assert warp is not None
        assert warp.failed == ((made.block.transactions[0].hash, 1),)


def test_validators_are_those_at_the_context_s_height_and_are_not_asked_twice_for_a_result() -> (
    None
):
    validators = Validators()
    blocks = processing(validators)

    built(blocks, reader(0, HOLDS, HOLDS))

    assert validators.asked == [7]
    identity = blocks._rules.identity  # type: ignore[attr-defined]
    assert len(identity._results._entries) == 1


class Payloads(NoExtension):
    """Takes any payload, which does nothing."""

    @override
    def extra_data(self, payload: bytes | None) -> bytes:
        return b"" if payload is None else keccak256(payload)

    @override
    def verify(self, candidate: CandidateBlock, context: BlockContext) -> None:
        pass

    @override
    def effects(self, payload: bytes, place: PayloadPlace) -> BlockEffects:
        return BlockEffects(StateChanges(), ())


def test_beside_a_payload_there_is_no_room_for_a_message_that_does_not_hold() -> None:
    blocks = processing(extension=Payloads())
    offered = [reader(0, FAILS), reader(1, HOLDS), reader(2, HOLDS, nonce=4)]

    made = built(blocks, *offered, choose_payload=lambda _: b"payload")

    assert made.made.block.transactions == (offered[1],)
    assert made.made.block.header.extra_data == keccak256(b"payload")
    assert [(item.index, item.retry) for item in made.skipped] == [(2, True), (0, True)]
    assert made.skipped[1].reason == NO_ROOM


def test_a_block_with_payload_and_such_a_message_is_refused() -> None:
    block = built(
        processing(extension=Payloads()), reader(0, HOLDS), choose_payload=lambda _: b"p"
    ).made.block
    other = [reader(0, FAILS)]

    with raises(BlockReason.OTHER_RESULTS):
        processing(extension=Payloads())._rules.verify_messages(
            processing()._rules.env_of(block),
            other,
            BlockContext(NOW, 7),
            candidate(block),
        )


def test_before_the_precompile_begins_messages_are_not_looked_at() -> None:
    later = PrecompileSchedule((PrecompileConfig(PrecompileKey.WARP, NOW + 1),))
    validators = Validators()

    made = built(processing(validators, schedule=later), reader(0, FAILS)).made

    assert validators.asked == []
    assert made.block.header.extra_data == b""


def test_the_block_in_which_it_begins_makes_its_account() -> None:
    begins = PrecompileSchedule((PrecompileConfig(PrecompileKey.WARP, NOW - 50),))
    here, there = processing(schedule=begins), processing(schedule=begins)

    made = built(here, reader(0, HOLDS))
    block = made.made.block
    there.verify(candidate(block), block.transactions, BlockContext(NOW, 7))
    here.prefer(ID(block.hash))
    child = built(here, reader(0, nonce=1)).made

    account = made.made.executed.changes.accounts[addresses.WARP].after
    assert account is not None
    assert account.nonce == 1
    assert stored(made) == 2
    assert addresses.WARP not in child.executed.changes.accounts


def lists(*counts: int) -> list[Any]:
    return [(bytes([place]), [HOLDS] * count) for place, count in enumerate(counts)]


def test_bits_are_read_as_they_were_written() -> None:
    access_lists, failed = lists(2, 0, 3, 1), {b"\0": 0b10, b"\2": 0b101}

    data = encode_bits(access_lists, failed)

    assert data == bytes([0b10110])
    assert decode_bits(data, access_lists) == failed
    assert encode_bits(access_lists, {}) == b""


def test_transactions_without_bits_are_left_out() -> None:
    access_lists = lists(MOST_BITS - 1, 1, 1, 1)

    out = without_room(access_lists, {b"\1": 1, b"\2": 1}, most=MOST_BITS)

    assert out == {2}
    assert without_room(access_lists, {b"\1": 1}, most=0) == {1}
