"""An EVM chain for the network, besides its VM: `backend.ChainBackend` with the chain's services and rows."""

from collections.abc import Mapping, Sequence

from cchain_app.atomic.transactions import parse as parse_atomic_tx
from cchain_app.blocks.candidate import EvmBlock, evm_block
from cchain_app.chain import EvmChain
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.rules.coreth.summary import first_summary
from cchain_app.selectors import atomic as atomic_txs
from cchain_app.selectors import blocks as accepted
from cchain_app.selectors import pool
from cchain_app.services import atomic, transactions
from cchain_app.services.atomic import AtomicTxRefused
from cchain_app.services.runtime import EvmRuntime
from network_app.chains.backend import BuildTiming
from network_app.chains.outer_blocks import UnwrappedBlock
from network_app.ports import ATOMIC_GOSSIP, PoolLimitReached, TransactionSource
from primitives.codec_errors import CodecError
from primitives.evm import Hash
from primitives.hashing import keccak256, sha256
from primitives.ids import ID
from utxo.errors import InvalidTx

_POOL_LIMITS = frozenset(
    {
        PoolReason.ACCOUNT_LIMIT_EXCEEDED,
        PoolReason.FUTURE_REPLACES_PENDING,
        PoolReason.IN_FLIGHT_LIMIT_REACHED,
        PoolReason.POOL_FULL,
        PoolReason.UNDERPRICED,
    }
)


class EvmBackend:
    """An EVM chain of this node.

    Args:
        runtime: The chain.
    """

    def __init__(self, runtime: EvmRuntime) -> None:
        self._runtime = runtime
        self._chain = runtime.chain

    @property
    def timing(self) -> BuildTiming:
        """When its blocks are built: with interval mining every interval, even empty ones if its rules allow those."""
        chain = self._chain
        settings = chain.settings
        if settings.mines_by_clock:
            return BuildTiming(int(settings.block_interval), allow_empty=not chain.is_of_coreth)
        return BuildTiming(0)

    def blocks(self, first: int, last: int, size: int) -> list[UnwrappedBlock]:
        """Return the accepted blocks between two heights until their total size exceeds `size`."""
        return [
            UnwrappedBlock(raw_block.number, ID(raw_block.hash), raw_block.timestamp, raw_block.raw)
            for raw_block in accepted.raw_blocks(self._chain, first, last, size)
        ]

    def read(self, block: EvmBlock) -> EvmBlock:
        """Parse the block after its header. Raises InvalidBlock."""
        return evm_block(block.candidate(self._chain.format.parse_block))

    def is_proposal(self, block: EvmBlock) -> bool:
        """Return False, because an EVM chain has no proposals."""
        del block
        return False

    def transactions_in(self, block: EvmBlock) -> int:
        """Return the number of transactions in a completely parsed block."""
        return len(block.candidate(self._chain.format.parse_block).transactions)

    @property
    def more_transactions(self) -> Mapping[int, TransactionSource]:
        """The pool of atomic transactions, if the chain has them."""
        return {} if self._chain.atomic is None else {ATOMIC_GOSSIP: AtomicPool(self._chain)}

    def state_summary(self) -> bytes | None:
        """Return the summary of block 0, of which coreth asks its first peers; None on other chains."""
        genesis = accepted.by_number(self._chain, 0) if self._chain.is_of_coreth else None
        return None if genesis is None else first_summary(genesis.hash, genesis.header.state_root)

    def waiting(self, limit: int) -> list[ID]:
        """Return hashes of pending transactions, newest last."""
        return [ID(newest_hash) for newest_hash in pool.newest_hashes(self._chain, limit)]

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return the signed envelopes of pending transactions."""
        found = pool.raws_of(self._chain, [Hash(bytes(tx_id)) for tx_id in tx_ids])
        return [found.get(Hash(bytes(tx_id))) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's hash."""
        return ID(keccak256(raw))

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Add transactions that other nodes have accepted to the pool; return each ID or the reason for rejection."""
        del now  # the pool reads the clock itself
        outcomes = transactions.submit(self._runtime, raws, gossiped=True)
        return [_outcome(item) for item in outcomes]


class AtomicPool:
    """The pending atomic transactions of an EVM chain.

    Args:
        chain: The chain.
    """

    def __init__(self, chain: EvmChain) -> None:
        self._chain = chain

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of pending transactions, newest last."""
        return atomic_txs.newest_ids(self._chain, limit)

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return the signed bytes of pending transactions."""
        found = atomic_txs.raws_of(self._chain, tx_ids)
        return [found.get(tx_id) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID."""
        return ID(sha256(raw))

    def issue(self, raws: Sequence[bytes]) -> list[ID | Exception]:
        """Add transactions that other nodes have accepted to the pool; return each ID or the reason for rejection."""
        return [self._issue(raw) for raw in raws]

    def _issue(self, raw: bytes) -> ID | Exception:
        try:
            tx = parse_atomic_tx(raw)
            atomic.issue(self._chain, tx, gossiped=True)
        except AtomicTxRefused as error:
            return PoolLimitReached(str(error))
        except (CodecError, InvalidTx) as error:
            return error
        return tx.tx_id


def _outcome(outcome: Hash | Exception) -> ID | Exception:
    if isinstance(outcome, PoolRejection) and outcome.reason in _POOL_LIMITS:
        return PoolLimitReached(str(outcome))
    return outcome if isinstance(outcome, Exception) else ID(outcome)
