"""Blocks recomputed from their raw transactions, as any other Ethereum client would compute them.

The reference engine executes them; roots, bloom, receipts and hash come from the specification's
own code (`roots`), not from the node's. The state is kept in memory.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any
from unittest.mock import patch

from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes8, Bytes20, Bytes32, Bytes256
from ethereum_types.numeric import U64, U256, Uint

from cchain_app.config import ChainConfig
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, StateChanges, TransactionResult
from cchain_app.evm.reference import ReferenceEngine
from cchain_app.evm.reference_package import load_fork
from cchain_app.txs.codec import decode_transaction, decode_unsigned, with_sender
from cchain_app.txs.signing import named_sender, names_sender
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from tests.builders import moved_coins
from tests.builders.cchain import MemoryState
from tests.builders.roots import StateTries, fork_module, ordered_root

Header = Any
"""A block header of the specification, in the type of the block's fork."""

Shown = Mapping[str, Any]
"""A block as returned by eth_getBlockByNumber: quantities and data as 0x text."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The results of a block's transactions on its parent's state."""

    header: Header
    hash: Hash
    receipts: tuple[bytes, ...]
    """Encoded as in the trie."""
    results: tuple[TransactionResult, ...]


class RecomputedChain:
    """A chain that is recomputed from its initial state, block after block."""

    def __init__(self, config: ChainConfig, first_state: StateChanges) -> None:
        self.state, self._tries = _begin(first_state)
        self._config = config
        self._withdrawals = 0

    @property
    def height(self) -> int:
        """The number of the last block that was computed; -1 before the first one."""
        return max(self.state.hashes, default=-1)

    def fork_of(self, number: int, timestamp: int) -> str:
        """Return the name of the rule set of a block."""
        return self._config.fork_at(number, timestamp)

    def follow(
        self,
        given: Header,
        raw_transactions: Sequence[bytes],
        signers: Mapping[bytes, Address] | None = None,
        payload: bytes | None = None,
    ) -> Recomputed:
        """Compute the next block and advance the state.

        Only fields that the producer decides are taken from the header: parent, time, coinbase, gas limit,
        base fee, mix hash, extra data and the like; roots, bloom and gas used are computed here.

        Args:
            given: The header.
            raw_transactions: The transactions.
            signers: Overrides of ecrecover: the address that it returns for a signature (devnet.md 4).
            payload: The block's atomic transactions.
        """
        number = int(given.number)
        assert number == self.height + 1
        made = (
            self._first(given)
            if number == 0
            else self._next(given, raw_transactions, signers or {}, payload)
        )
        self.state.hashes[number] = made.hash
        return made

    def change(self, changes: StateChanges) -> None:
        """Apply cheats to the state before the next block (devnet.md 10)."""
        self.state.apply(changes)
        self._tries.apply(changes, self.state)

    def _first(self, given: Header) -> Recomputed:
        """Return the genesis block of the initial state; block 0 executes nothing."""
        made = {
            "gas_used": Uint(0),
            "bloom": Bytes256(bytes(256)),
            "receipt_root": ordered_root([]),
            "requests_hash": fork_module("prague", "requests").compute_requests_hash([]),
        }
        return self._block(given, (), made, (), ())

    def _next(
        self,
        given: Header,
        raw_transactions: Sequence[bytes],
        signers: Mapping[bytes, Address],
        payload: bytes | None,
    ) -> Recomputed:
        paid: list[moved_coins.Payment] = []
        if payload is not None:
            assert bytes(given.extra_data) == keccak256(payload)
            self._tries.apply(moved_coins.debit(self.state, payload), self.state)
            paid = moved_coins.payments(payload)
        env = replace(self._environment(given), signers=tuple(signers.items()))
        transactions = [_read_transaction(raw, env.chain_id) for raw in raw_transactions]
        with _remembered_jump_destinations(env.fork):
            executed = ReferenceEngine().execute_block(
                env, transactions, self.state, skip_invalid=False
            )
        self.state.apply(executed.changes)
        self._tries.apply(executed.changes, self.state)
        self._tries.apply(moved_coins.credit(self.state, paid), self.state)
        withdrawals = moved_coins.encoded(paid, self._withdrawals)
        self._withdrawals += len(paid)
        bloom, receipts = _receipts(executed, raw_transactions, env.fork)
        made = {
            "gas_used": Uint(executed.gas_used),
            "bloom": bloom,
            "receipt_root": ordered_root(receipts),
            "requests_hash": executed.requests_hash and Bytes32(executed.requests_hash),
            "withdrawals_root": ordered_root(withdrawals),
            "blob_gas_used": U64(sum(transaction.blob_gas for transaction in transactions)),
        }
        return self._block(given, raw_transactions, made, receipts, executed.results)

    def _block(
        self,
        given: Header,
        raw_transactions: Sequence[bytes],
        made: Mapping[str, Any],
        receipts: Sequence[bytes],
        results: Sequence[TransactionResult],
    ) -> Recomputed:
        values = {
            "ommers_hash": Bytes32(keccak256(rlp.encode([]))),
            "state_root": self._tries.root(),
            "transactions_root": ordered_root(raw_transactions),
            "withdrawals_root": ordered_root([]),
            "blob_gas_used": U64(0),
            **made,
        }
        known = {field.name for field in fields(given)}
        header = replace(given, **{name: values[name] for name in known & values.keys()})
        return Recomputed(header, keccak256(rlp.encode(header)), tuple(receipts), tuple(results))

    def _environment(self, given: Header) -> BlockEnv:
        number, timestamp = int(given.number), int(given.timestamp)
        blobs = self._config.blob_params_at(number, timestamp)
        beacon_root = getattr(given, "parent_beacon_block_root", None)
        return BlockEnv(
            fork=self.fork_of(number, timestamp),
            chain_id=self._config.chain_id,
            number=number,
            timestamp=timestamp,
            coinbase=Address(bytes(given.coinbase)),
            gas_limit=int(given.gas_limit),
            base_fee=int(given.base_fee_per_gas) if hasattr(given, "base_fee_per_gas") else None,
            prev_randao=Hash(bytes(_mix_hash(given))),
            difficulty=int(given.difficulty),
            excess_blob_gas=None if blobs is None else int(given.excess_blob_gas),
            blob_base_fee_update_fraction=None if blobs is None else blobs.update_fraction,
            parent_hash=Hash(bytes(given.parent_hash)),
            parent_beacon_block_root=None if beacon_root is None else Hash(bytes(beacon_root)),
            limits=self._config.limits,
        )


def _read_transaction(raw: bytes, chain_id: int) -> Transaction:
    """Return a transaction with its signer, or with the sender that an unsigned one names."""
    decoded = decode_unsigned(raw)
    if names_sender(decoded):
        return with_sender(decoded, named_sender(decoded))
    return decode_transaction(raw, chain_id)


_begun: deque[tuple[StateChanges, MemoryState, StateTries]] = deque(maxlen=8)
"""The latest initial states of chains in this process; there are few, and most tests need a chain."""


def _begin(first_state: StateChanges) -> tuple[MemoryState, StateTries]:
    """Return a copy of a chain's initial state and of its tries."""
    found = next((item for item in _begun if item[0] == first_state), None)
    if found is None:
        state, tries = MemoryState(), StateTries()
        state.apply(first_state)
        tries.apply(first_state, state)
        tries.root()
        found = (first_state, state, tries)
        _begun.append(found)
    _, state, tries = found
    return state.copy(), tries.copy()


@contextmanager
def _remembered_jump_destinations(fork: str) -> Iterator[None]:
    """Make the specification compute the jump destinations of a code once, not in every call.

    That takes half of its time, because the system contracts run in every block.
    """
    find = _jump_destinations(fork)
    with patch.object(load_fork(fork).interpreter, "get_valid_jump_destinations", find):
        yield


@cache
def _jump_destinations(fork: str) -> Callable[[bytes], Any]:
    return lru_cache(1000)(load_fork(fork).interpreter.get_valid_jump_destinations)


def decode_header(encoded: bytes, fork: str) -> Header:
    """Return a header decoded from its RLP."""
    return rlp.decode_to(fork_module(fork, "blocks").Header, encoded)


def header_as_shown(shown: Shown, fork: str) -> Header:
    """Return the header of a block in the format for clients."""
    header = fork_module(fork, "blocks").Header
    return header(**{field.name: _read(shown, field.name) for field in fields(header)})


def _receipts(
    block: ExecutedBlock, raw_transactions: Sequence[bytes], fork: str
) -> tuple[Bytes256, list[bytes]]:
    """Return the block's bloom and its receipts."""
    used = accumulate(result.gas_used for result in block.results)
    receipts = []
    for raw, result, cumulative in zip(raw_transactions, block.results, used, strict=True):
        values = (result.succeeded, Uint(cumulative), _bloom(fork, result.logs), result.logs)
        receipts.append((raw[:1] if raw[0] < 0x80 else b"") + rlp.encode(values))
    return _bloom(fork, [log for result in block.results for log in result.logs]), receipts


def _bloom(fork: str, logs: Sequence[Any]) -> Bytes256:
    return Bytes256(fork_module(fork, "bloom").logs_bloom(logs))


_SHOWN = {
    "parent_hash": ("parentHash", Bytes32),
    "ommers_hash": ("sha3Uncles", Bytes32),
    "coinbase": ("miner", Bytes20),
    "state_root": ("stateRoot", Bytes32),
    "transactions_root": ("transactionsRoot", Bytes32),
    "receipt_root": ("receiptsRoot", Bytes32),
    "bloom": ("logsBloom", Bytes256),
    "difficulty": ("difficulty", Uint),
    "number": ("number", Uint),
    "gas_limit": ("gasLimit", Uint),
    "gas_used": ("gasUsed", Uint),
    "timestamp": ("timestamp", U256),
    "extra_data": ("extraData", bytes),
    "prev_randao": ("mixHash", Bytes32),
    "mix_digest": ("mixHash", Bytes32),
    "nonce": ("nonce", Bytes8),
    "base_fee_per_gas": ("baseFeePerGas", Uint),
    "withdrawals_root": ("withdrawalsRoot", Bytes32),
    "blob_gas_used": ("blobGasUsed", U64),
    "excess_blob_gas": ("excessBlobGas", U64),
    "parent_beacon_block_root": ("parentBeaconBlockRoot", Bytes32),
    "requests_hash": ("requestsHash", Bytes32),
}
"""Names of header fields in JSON, and their types."""


def _read(shown: Shown, name: str) -> Any:
    key, kind = _SHOWN[name]
    text = shown[key]
    return kind(int(text, 16)) if kind in {Uint, U64, U256} else kind(bytes.fromhex(text[2:]))


def _mix_hash(header: Header) -> bytes:
    """Return a header's mixHash, whose field has had two names."""
    before_paris = hasattr(header, "mix_digest")
    return bytes(header.mix_digest if before_paris else header.prev_randao)
