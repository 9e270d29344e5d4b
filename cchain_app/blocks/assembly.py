"""Derive a block from its parent and its transactions: first its environment, then its header.

The engine executes the transactions; the chain's rules compute the base fee (`rules.port`). The excess blob gas and its
price are computed here: EIP-4844, with parameters by schedule (EIP-7840, EIP-7892) and Osaka's reserve price (EIP-7918).
Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal, encode_withdrawal, make_block
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.header import Header
from cchain_app.blocks.receipt import EncodeLogs, encode_logs, make_receipts
from cchain_app.config import BlobParameters, ChainConfig, at_least
from cchain_app.evm.engine import BlockEnv, ExecutedBlock
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.trie import TrieUpdate
from cchain_app.txs.transaction import GAS_PER_BLOB, Transaction
from primitives.evm import ZERO_HASH, Hash
from primitives.hashing import EMPTY_ROOT, keccak256

OrderedRoot = Callable[[Sequence[bytes]], Hash]
"""Root of the trie of a list, as `StateTrie.ordered_root` computes it."""


def next_env(
    parent: AcceptedBlock,
    config: ChainConfig,
    *,
    timestamp: int,
    gas_limit: int,
    base_fee: int | None,
) -> BlockEnv:
    """Return the environment of the block after `parent`.

    Unspecified: PREVRANDAO reads zero, as the header's mixHash shows (`cchain.md` 7), unless the chain's
    rules want a fresh one (`fresh_prev_randao`).

    Args:
        parent: The block before.
        config: The chain's rules.
        timestamp: Unix seconds, not below the parent's.
        gas_limit: Gas limit of the new block.
        base_fee: Base fee of the new block, in wei; None before London.
    """
    number = parent.number + 1
    fork = config.fork_at(number, timestamp)
    blobs = config.blob_params_at(number, timestamp)
    return BlockEnv(
        fork=fork,
        chain_id=config.chain_id,
        number=number,
        timestamp=timestamp,
        coinbase=config.coinbase,
        gas_limit=gas_limit,
        base_fee=base_fee,
        prev_randao=fresh_prev_randao(parent.hash, number)
        if config.fresh_prev_randao and at_least(fork, "paris")
        else ZERO_HASH,
        excess_blob_gas=None if blobs is None else excess_after(parent.header, blobs, fork),
        blob_base_fee_update_fraction=None if blobs is None else blobs.update_fraction,
        parent_hash=parent.hash,
        parent_beacon_block_root=ZERO_HASH if at_least(fork, "cancun") else None,
        deposit_contract=config.deposit_contract,
        limits=config.limits,
    )


def fresh_prev_randao(parent_hash: Hash, number: int) -> Hash:
    """Return the PREVRANDAO of a block on a chain where it differs from block to block.

    Unspecified: the Keccak-256 of the parent's hash and the block's number in 8 bytes, so that verifiers
    compute the same value as the block's builder. It is predictable, and therefore only suitable for contracts under
    development, not for a lottery.
    """
    return Hash(keccak256(parent_hash + number.to_bytes(8, "big")))


def env_of(header: Header, config: ChainConfig) -> BlockEnv:
    """Return the environment that a block with this header was executed in."""
    blobs = config.blob_params_at(header.number, header.timestamp)
    return BlockEnv(
        fork=config.fork_at(header.number, header.timestamp, header.difficulty),
        chain_id=config.chain_id,
        number=header.number,
        timestamp=header.timestamp,
        coinbase=header.coinbase,
        gas_limit=header.gas_limit,
        base_fee=header.base_fee,
        prev_randao=header.mix_hash,
        difficulty=header.difficulty,
        excess_blob_gas=header.excess_blob_gas,
        blob_base_fee_update_fraction=None if blobs is None else blobs.update_fraction,
        parent_hash=header.parent_hash,
        parent_beacon_block_root=header.parent_beacon_block_root,
        deposit_contract=config.deposit_contract,
        limits=config.limits,
    )


def assemble(
    env: BlockEnv,
    transactions: Sequence[Transaction],
    executed: ExecutedBlock,
    *,
    state_root: Hash,
    ordered_root: OrderedRoot,
    encode_logs: EncodeLogs = encode_logs,
    extra_data: bytes = b"",
    payload: bytes | None = None,
    withdrawals: Sequence[Withdrawal] = (),
    parent: AcceptedBlock | None = None,
    claimed: CandidateBlock | None = None,
) -> AcceptedBlock:
    """Return the block that executing transactions in this environment makes.

    Args:
        env: The environment in which the block was executed.
        transactions: The transactions of the block, in order.
        executed: The results of executing them.
        state_root: State root after the block.
        ordered_root: Computes the roots of transactions and receipts.
        encode_logs: Encodes the logs of receipts.
        extra_data: At most 32 bytes for the header.
        payload: The extension's payload; None: the block has none.
        withdrawals: The payments of the payload; none before Shanghai.
        parent: The block before; Ethereum's header does not depend on it beyond the environment.
        claimed: Another node's block, whose root of transactions has been verified; every other field of its header is
            computed again.
    """
    del parent
    outcomes = zip((tx.type for tx in transactions), executed.results, strict=True)
    made = make_receipts(outcomes, encode_logs=encode_logs)
    header = Header(
        parent_hash=env.parent_hash,
        coinbase=env.coinbase,
        state_root=state_root,
        transactions_root=transactions_root(transactions, claimed, ordered_root),
        receipts_root=ordered_root(made.envelopes),
        logs_bloom=made.bloom,
        difficulty=env.difficulty,
        number=env.number,
        gas_limit=env.gas_limit,
        gas_used=executed.gas_used,
        timestamp=env.timestamp,
        extra_data=extra_data,
        mix_hash=env.prev_randao,
        base_fee=env.base_fee,
        withdrawals_root=_withdrawals_root(env, withdrawals, ordered_root),
        blob_gas_used=None
        if env.excess_blob_gas is None
        else sum(transaction.blob_gas for transaction in transactions),
        excess_blob_gas=env.excess_blob_gas,
        parent_beacon_block_root=env.parent_beacon_block_root,
        requests_hash=executed.requests_hash,
    )
    return make_block(
        header, tuple(transactions), made.receipts, (), tuple(withdrawals), payload=payload
    )


def transactions_root(
    transactions: Sequence[Transaction], claimed: CandidateBlock | None, ordered_root: OrderedRoot
) -> Hash:
    """Return the root of a block's transactions; that of another node's block has been verified (`verify_body`)."""
    if claimed is not None:
        return claimed.header.transactions_root
    return ordered_root([tx.raw for tx in transactions])


def _withdrawals_root(
    env: BlockEnv, withdrawals: Sequence[Withdrawal], ordered_root: OrderedRoot
) -> Hash | None:
    if withdrawals:
        return ordered_root([encode_withdrawal(withdrawal) for withdrawal in withdrawals])
    return EMPTY_ROOT if at_least(env.fork, "shanghai") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingBlock(AcceptedBlock):
    """An executed block that is not accepted. It is read like an accepted block, but no row has it or its state."""

    parent: AcceptedBlock
    """The head on which it was built."""
    state: PendingState
    """The state after it."""
    trie: TrieUpdate
    """Its changes to the state trie of its parent, including those of state edits on the parent."""


MIN_BASE_FEE_PER_BLOB_GAS: Final = 1
"""Wei per blob gas."""

_BLOB_BASE_COST: Final = 2**13
"""EIP-7918 (BLOB_BASE_COST): a blob pays for at least this much execution gas."""


def excess_after(parent: Header, blobs: BlobParameters, fork: str) -> int:
    """Return the excess blob gas of the block after `parent`; before Cancun it is 0.

    Args:
        parent: The block before.
        blobs: The new block's parameters.
        fork: The new block's rule set.
    """
    parent_excess, used = parent.excess_blob_gas or 0, parent.blob_gas_used or 0
    target = blobs.target * GAS_PER_BLOB
    if parent_excess + used < target:
        return 0
    if at_least(fork, "osaka") and _is_below_reserve(parent, parent_excess, blobs):
        return parent_excess + used * (blobs.maximum - blobs.target) // blobs.maximum
    return parent_excess + used - target


def blob_base_fee(excess: int, update_fraction: int) -> int:
    """Return the price of one blob gas in wei, which grows exponentially with the excess.

    EIP-4844's approximation of `MINIMUM_PRICE * e ** (excess / update_fraction)`.
    """
    factor = 1
    total = 0
    term = MIN_BASE_FEE_PER_BLOB_GAS * update_fraction
    while term > 0:
        total += term
        term = term * excess // (update_fraction * factor)
        factor += 1
    return total // update_fraction


class BlobFees(NamedTuple):
    """The price and the use of a block's blob gas."""

    base_fee: int
    """Wei; 0 before Cancun."""
    used_ratio: float
    """Blob gas used by its limit."""


def blob_fees(header: Header, config: ChainConfig) -> BlobFees:
    """Return the price and the use of blob gas in the block with a header."""
    return blob_fees_at(
        header.number, header.timestamp, header.excess_blob_gas, header.blob_gas_used, config
    )


def blob_fees_at(
    number: int, timestamp: int, excess: int | None, used: int | None, config: ChainConfig
) -> BlobFees:
    """Return the price and the use of blob gas in the block with these values."""
    params = config.blob_params_at(number, timestamp)
    if params is None:
        return BlobFees(0, 0.0)
    limit = max(params.maximum * GAS_PER_BLOB, 1)
    return BlobFees(blob_base_fee(excess or 0, params.update_fraction), (used or 0) / limit)


def _is_below_reserve(parent: Header, excess: int, blobs: BlobParameters) -> bool:
    price = GAS_PER_BLOB * blob_base_fee(excess, blobs.update_fraction)
    return _BLOB_BASE_COST * (parent.base_fee or 0) > price
