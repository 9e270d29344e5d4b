"""Recompute every block of a node's database with the reference engine, and compare the result with the rows."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ethereum.crypto.hash import keccak256

from cchain_app.evm.engine import Log, TransactionResult
from cchain_app.genesis import BUILT_IN, Genesis, built_in_text, load_genesis
from cchain_app.local_genesis import OLD_NAME, local_text
from cchain_app.models import row_id
from primitives.evm import Address, Hash, Word
from tests.builders.recompute import Recomputed, RecomputedChain, decode_header
from tests.servers.node import Ask


class Mined(NamedTuple):
    """A transaction with its receipt, read from the rows."""

    raw: bytes
    cumulative_gas_used: int
    result: TransactionResult


class Replay:
    """The chain of one database, computed by the reference engine; each block is computed once.

    Args:
        genesis: Returns the chain's genesis file, or empty bytes for a network built into the node.
    """

    def __init__(self, genesis: Callable[[], bytes] = bytes) -> None:
        self._genesis = genesis
        self._chain: RecomputedChain | None = None

    def follow(self, ask: Ask) -> int:
        """Compute all blocks since the last call and return their number.

        Raises:
            AssertionError: A header, hash or receipt differs from the computed one, or the last block that was
                computed before is no longer in the rows.
        """
        chain = self._chain = self._chain or _begun(ask, self._genesis())
        self._check_last(ask, chain)
        first = chain.height + 1
        transactions = _transactions(ask, first)
        headers = ask(
            "SELECT number, timestamp, hash, header, payload FROM cchain_app_block"
            f" WHERE number >= {first} ORDER BY number"
        )
        for number, timestamp, block_hash, encoded, payload in headers:
            mined = transactions[number]
            header = decode_header(bytes(encoded), chain.fork_of(number, timestamp))
            made = chain.follow(
                header,
                [item.raw for item in mined],
                payload=None if payload is None else bytes(payload),
            )
            assert header == made.header, f"block {number}"
            assert bytes(block_hash) == made.hash, f"block {number}"
            _check_receipts(mined, made)
        return len(headers)

    def _check_last(self, ask: Ask, chain: RecomputedChain) -> None:
        if chain.height >= 0:
            found = ask(f"SELECT hash FROM cchain_app_block WHERE number = {chain.height}")
            hashes = [Hash(bytes(one)) for (one,) in found]
            assert hashes == [chain.state.hashes[chain.height]], f"block {chain.height} is gone"


def _begun(ask: Ask, given: bytes) -> RecomputedChain:
    """Return the database's chain before its first block."""
    ((chain_id,),) = ask("SELECT chain_id FROM cchain_app_chain")
    genesis = load_genesis(given) if given else _built_in(chain_id)
    return RecomputedChain(replace(genesis.config, chain_id=chain_id), genesis.state_changes())


def _built_in(chain_id: int) -> Genesis:
    """Return the genesis of the built-in network with a chain ID."""
    texts = [local_text(), *(built_in_text(name) for name in BUILT_IN if name != OLD_NAME)]
    return next(item for item in map(load_genesis, texts) if item.config.chain_id == chain_id)


def _transactions(ask: Ask, first: int) -> defaultdict[int, list[Mined]]:
    """Return the transactions from a block on, in order, by block number."""
    logs = _logs(ask, first)
    rows = ask(
        "SELECT t.block_id, t.id, t.hash, t.raw, r.succeeded, r.gas_used, r.cumulative_gas_used,"
        " r.contract_address"
        " FROM cchain_app_transaction AS t JOIN cchain_app_receipt AS r ON r.transaction_id = t.id"
        f" WHERE t.id >= {row_id(first)} ORDER BY t.id"
    )
    found: defaultdict[int, list[Mined]] = defaultdict(list)
    for number, key, tx_hash, raw, succeeded, gas_used, cumulative, created in rows:
        assert keccak256(bytes(raw)) == bytes(tx_hash)
        address = None if created is None else Address(bytes(created))
        result = TransactionResult(bool(succeeded), gas_used, tuple(logs[key]), address)
        found[number].append(Mined(bytes(raw), cumulative, result))
    return found


def _logs(ask: Ask, first: int) -> defaultdict[int, list[Log]]:
    """Return the logs from a block on, in order, by the key of their transaction."""
    rows = ask(
        "SELECT transaction_id, address, topic0, topic1, topic2, topic3, data FROM cchain_app_log"
        f" WHERE id >= {row_id(first)} ORDER BY id"
    )
    found: defaultdict[int, list[Log]] = defaultdict(list)
    for key, address, *topics, data in rows:
        present = tuple(Word(bytes(topic)) for topic in topics if topic is not None)
        found[key].append(Log(Address(bytes(address)), present, bytes(data)))
    return found


def _check_receipts(mined: list[Mined], made: Recomputed) -> None:
    """Compare the rows of receipts and logs with the computed ones."""
    used = 0
    for row, result in zip(mined, made.results, strict=True):
        used += result.gas_used
        assert row.result == result
        assert row.cumulative_gas_used == used
