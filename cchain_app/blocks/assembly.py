"""Derive a block from its parent and its transactions: first its environment, then its header.

The engine executes the transactions; the chain's rules compute the base fee (`rules.port`).
"""

from collections.abc import Callable, Sequence

from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.blobs import excess_after
from cchain_app.blocks.header import Header
from cchain_app.blocks.receipt import EncodeLogs, encode_logs, make_receipts
from cchain_app.config import ChainConfig, at_least
from cchain_app.evm.engine import BlockEnv, ExecutedBlock
from cchain_app.txs.transaction import Transaction
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
    )


def fresh_prev_randao(parent_hash: Hash, number: int) -> Hash:
    """Return the PREVRANDAO of a block on a chain where it differs from block to block.

    Unspecified: the Keccak-256 of the parent's hash and the block's number in 8 bytes, so that verifiers can
    compute it like the block's builder. It is predictable, and therefore only suitable for contracts under
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
    """
    outcomes = zip((tx.type for tx in transactions), executed.results, strict=True)
    made = make_receipts(outcomes, encode_logs=encode_logs)
    header = Header(
        parent_hash=env.parent_hash,
        coinbase=env.coinbase,
        state_root=state_root,
        transactions_root=ordered_root([tx.raw for tx in transactions]),
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
        withdrawals_root=EMPTY_ROOT if at_least(env.fork, "shanghai") else None,
        blob_gas_used=None if env.excess_blob_gas is None else 0,
        excess_blob_gas=env.excess_blob_gas,
        parent_beacon_block_root=env.parent_beacon_block_root,
        requests_hash=executed.requests_hash,
    )
    return make_block(header, tuple(transactions), made.receipts, payload=payload)
