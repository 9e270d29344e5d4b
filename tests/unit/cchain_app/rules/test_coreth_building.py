"""Blocks of coreth that this node builds: a second node, which knows only their bytes, verifies them."""

from collections.abc import Sequence

from cchain_app.atomic.transactions import (
    AtomicTx,
    EvmInput,
    UnsignedExportTx,
    build,
    join_payload,
    sign_bytes,
)
from cchain_app.blocks.effects import PayloadPlace
from cchain_app.filling import MORE_PASSES
from cchain_app.processing import NO_ROOM, VerifiedBlock
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.gas_state import MAX_TARGET_EXCESS_CHANGE, GasState
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.votes import NO_VOTES, Votes
from cchain_app.rules.precompiles import NO_HEIGHT
from cchain_app.txs.transaction import Transaction
from chainvm.port import BlockContext
from primitives.hashing import sha256
from primitives.ids import P_CHAIN_ID, ShortID
from primitives.keys import EWOQ_KEY
from primitives.secp256k1 import address_of_private_key, sign_sha256
from primitives.upgrades import OWN_NETWORK
from tests.builders.coreth import MemoryCoreth, local_genesis, local_parameters
from tests.builders.reasons import raises
from tests.builders.stateful import predicate
from tests.builders.transactions import signed
from utxo.components import (
    OutputOwners,
    SignatureCredential,
    TransferableOutput,
    TransferOutput,
)

START = 1_800_000_000
EWOQ_ADDRESS = address_of_private_key(EWOQ_KEY)
PARAMETERS = local_parameters()
ENDLESS = bytes.fromhex("5b600056")
"""Code that never ends, so that it uses all of its gas."""


def network(votes: Votes = NO_VOTES) -> tuple[MemoryCoreth, MemoryCoreth]:
    """Return a builder and a verifier."""
    return (
        MemoryCoreth(local_genesis(), OWN_NETWORK, PARAMETERS, votes=votes, engine_name="native"),
        MemoryCoreth(local_genesis(), OWN_NETWORK, PARAMETERS, engine_name="native"),
    )


def transfer(nonce: int, gas: int = 21_000, **fields: object) -> Transaction:
    return signed(
        key=EWOQ_KEY,
        chain_id=43_112,
        nonce=nonce,
        gas=gas,
        max_fee_per_gas=10**9,
        max_priority_fee_per_gas=nonce + 1,
        **fields,
    )


def export(nonce: int, amount: int = 5_000_000) -> AtomicTx:
    """Return an export to the P-Chain that pays a million units for its gas."""
    owners = OutputOwners(0, 1, (ShortID(b"\x05" * 20),))
    unsigned = UnsignedExportTx(
        network_id=PARAMETERS.network_id,
        blockchain_id=PARAMETERS.blockchain_id,
        destination_chain=P_CHAIN_ID,
        inputs=(EvmInput(EWOQ_ADDRESS, amount + 1_000_000, PARAMETERS.asset_id, nonce),),
        exported_outputs=(TransferableOutput(PARAMETERS.asset_id, TransferOutput(amount, owners)),),
    )
    signature = sign_sha256(sha256(sign_bytes(unsigned)), EWOQ_KEY)
    return build(unsigned, [SignatureCredential((signature,))])


def make(
    chain: MemoryCoreth,
    transactions: Sequence[Transaction],
    now: int,
    exports: Sequence[AtomicTx] = (),
) -> VerifiedBlock | None:
    def payload(place: PayloadPlace) -> bytes:
        del place
        return join_payload(exports)

    built = chain.tree.build(
        transactions,
        BlockContext(now, p_chain_height=7),
        choose_payload=payload if exports else None,
    )
    return built.made


def adopt(chain: MemoryCoreth, other: MemoryCoreth, made: VerifiedBlock, now: int) -> None:
    """Let both nodes accept a block, the other one from its bytes."""
    other.accept(made.block.raw, BlockContext(now, p_chain_height=7))
    chain.accept(made.block.raw, BlockContext(now, p_chain_height=7))
    assert other.blocks[-1].hash == chain.blocks[-1].hash == made.block.hash


def test_blocks_that_are_built_are_valid() -> None:
    ours, theirs = network()
    for height in range(3):
        now = START + 2 * height
        nonce = 2 * height
        made = make(ours, [transfer(nonce), transfer(nonce + 1)], now)
        assert made is not None
        assert len(made.block.transactions) == 2
        adopt(ours, theirs, made, now)


def test_without_a_height_a_block_has_no_message() -> None:
    ours, _ = network()
    plain, message = transfer(0), transfer(1, gas=900_000, access_list=(predicate(),))

    built = ours.tree.build([plain, message], BlockContext(START, voted=True))

    assert built.made is not None
    assert built.made.block.transactions == (plain,)
    assert [(item.index, item.reason) for item in built.skipped] == [(1, NO_HEIGHT)]


def test_an_export_follows_the_transactions_of_its_account() -> None:
    ours, theirs = network()
    made = make(ours, [transfer(0), transfer(1)], START, [export(2)])
    assert made is not None
    header = made.block.header
    assert isinstance(header, CorethHeader)
    assert header.ext_data_gas_used
    account = made.executed.changes.accounts[EWOQ_ADDRESS].after
    assert account is not None
    assert account.nonce == 3
    adopt(ours, theirs, made, START)


def test_votes_move_target_and_delay() -> None:
    ours, theirs = network(Votes(target_excess=10**6, min_delay_excess=7_900_000))
    made = make(ours, [transfer(0)], START)
    assert made is not None
    header = made.block.header
    assert isinstance(header, CorethHeader)
    assert GasState.read(header.extra_data).target_excess == MAX_TARGET_EXCESS_CHANGE
    assert header.min_delay_excess == 7_970_124 - 200
    adopt(ours, theirs, made, START)


def test_transactions_above_the_capacity_wait() -> None:
    ours, theirs = network()
    endless = transfer(0, 6_000_000, to=None, data=ENDLESS)
    made = make(ours, [endless, transfer(1, 6_000_000), transfer(2)], START)
    assert made is not None
    assert made.block.transactions == (endless,)
    adopt(ours, theirs, made, START)


def test_transactions_fit_by_the_gas_that_those_before_them_use() -> None:
    ours, theirs = network()
    wanted = [transfer(nonce, 6_000_000) for nonce in range(3)]
    made = make(ours, wanted, START)
    assert made is not None
    assert made.block.transactions == tuple(wanted)
    assert made.block.header.gas_used == 63_000
    adopt(ours, theirs, made, START)


def test_a_block_is_executed_a_bounded_number_of_times() -> None:
    ours, theirs = network()
    wanted = [transfer(nonce, 6_000_000) for nonce in range(7)]
    now, found = START, []
    while wanted:
        built = ours.tree.build(wanted, BlockContext(now, p_chain_height=7))
        assert built.made is not None
        waiting = [(item.reason, item.retry) for item in built.skipped]
        assert waiting == [(NO_ROOM, True)] * len(waiting)
        found.append(len(built.made.block.transactions))
        adopt(ours, theirs, built.made, now)
        wanted = wanted[found[-1] :]
        now += 2
    assert found == [1 + MORE_PASSES, 3]


def test_a_pass_that_adds_few_transactions_is_the_last() -> None:
    ours, theirs = network()
    small = [transfer(nonce) for nonce in range(9)]
    # Only one of these fits beside the others, and each pass finds that it used little of its limit.
    large = [transfer(nonce, 6_000_000) for nonce in range(9, 14)]
    made = make(ours, [*small, *large], START)
    assert made is not None
    assert made.block.transactions == (*small, *large[:2])
    adopt(ours, theirs, made, START)


def test_a_block_waits_for_the_delay_after_its_parent_and_for_capacity() -> None:
    ours, theirs = network()
    endless = transfer(0, 9_000_000, to=None, data=ENDLESS)
    made = make(ours, [endless], START)
    assert made is not None
    assert made.block.header.gas_used == 9_000_000
    adopt(ours, theirs, made, START)
    # The delay is two seconds, and each millisecond restores 2,000 gas: 7,000,000 are missing.
    parent, begins = ours.blocks[-1], 1_000 * START + 3_500
    for asked in (0, 1_000 * START + 1_000, 1_000 * START + 2_000, begins - 1, begins):
        assert ours.rules.builds_from(parent, asked) == begins
    assert ours.rules.builds_from(parent, begins + 1) == begins + 1
    fees = [ours.rules.fees_after(parent, time) for time in (begins - 1, begins)]
    assert [one.capacity for one in fees] == [7_998_000, 8_000_000]


def test_a_block_is_built_at_the_millisecond() -> None:
    ours, theirs = network()
    times = [1_000 * START + 345, 1_000 * START + 2_345, 1_000 * START + 5_999]
    for nonce, time in enumerate(times):
        assert ours.rules.builds_from(ours.blocks[-1], time) == time
        built = ours.tree.build([transfer(nonce)], BlockContext.at(time))
        assert built.made is not None
        header = built.made.block.header
        assert isinstance(header, CorethHeader)
        assert (header.timestamp, header.time_milliseconds) == (time // 1_000, time)
        adopt(ours, theirs, built.made, time // 1_000)
    early = ours.rules.builds_from(ours.blocks[-1], times[-1])
    assert early == times[-1] + 2_000


def test_a_block_is_at_most_ten_seconds_ahead_to_the_millisecond() -> None:
    ours, theirs = network()
    time = 1_000 * START + 345
    built = ours.tree.build([transfer(0)], BlockContext.at(time))
    assert built.made is not None
    raw = built.made.block.raw
    with raises(CorethReason.TOO_EARLY):
        theirs.verify(raw, BlockContext.at(time - 10_001))
    theirs.verify(raw, BlockContext.at(time - 10_000))


def test_the_time_of_a_parent_ahead_of_the_clock_counts() -> None:
    ours, _ = network()
    made = make(ours, [transfer(0)], START)
    assert made is not None
    ours.accept(made.block.raw, BlockContext(START, p_chain_height=7))
    assert ours.rules.builds_from(ours.blocks[-1], 1_000 * START - 7_000) == 1_000 * START + 2_000
    built = ours.tree.build([transfer(1)], BlockContext.at(1_000 * START - 345))
    assert built.made is not None
    header = built.made.block.header
    assert isinstance(header, CorethHeader)
    assert header.time_milliseconds == 1_000 * START
