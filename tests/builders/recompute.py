"""Blocks computed anew from their raw transactions: what any Ethereum client would make of them.

Execution is the reference engine's; roots, bloom and hash are made by the specification's own code,
not by the node's. The state is kept in memory and hashed from scratch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from types import ModuleType
from typing import Any

from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes8, Bytes20, Bytes32, Bytes256
from ethereum_types.numeric import U64, U256, Uint

from cchain_app.evm.engine import BlockEnv, ExecutedBlock
from cchain_app.evm.reference import ReferenceEngine
from cchain_app.evm.reference_package import load_fork
from cchain_app.txs.codec import decode_transaction
from primitives.evm import ZERO_WORD, Address, Hash
from primitives.hashing import keccak256
from tests.builders.cchain import MemoryState

Header = Mapping[str, Any]
"""A block as eth_getBlockByNumber answers it: quantities and data as 0x text."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What follows from a block's transactions and its parent's state."""

    hash: Hash
    state_root: Hash
    transactions_root: Hash
    receipts_root: Hash
    logs_bloom: bytes
    gas_used: int
    requests_hash: Hash | None

    def as_json(self) -> dict[str, str]:
        """Return the same under the names and in the form of eth_getBlockByNumber."""
        values = {
            "hash": self.hash,
            "stateRoot": self.state_root,
            "transactionsRoot": self.transactions_root,
            "receiptsRoot": self.receipts_root,
            "logsBloom": self.logs_bloom,
        }
        if self.requests_hash is not None:
            values["requestsHash"] = self.requests_hash
        return {
            **{name: "0x" + value.hex() for name, value in values.items()},
            "gasUsed": hex(self.gas_used),
        }


def recompute_block(
    header: Header,
    raw_transactions: Sequence[bytes],
    state: MemoryState,
    *,
    fork: str = "prague",
    chain_id: int = 43_112,
    blob_base_fee_update_fraction: int = 5_007_716,
) -> Recomputed:
    """Execute a block on its parent's state, which becomes the block's own.

    Of the header only what the producer decides is used: parent, time, coinbase, gas limit, base
    fee, mix hash, extra data and the like; the roots, bloom, hash and gas used are made here.
    """
    env = _environment(header, fork, chain_id, blob_base_fee_update_fraction)
    transactions = [decode_transaction(raw, chain_id) for raw in raw_transactions]
    block = ReferenceEngine().execute_block(env, transactions, state, skip_invalid=False)
    state.apply(block.changes)
    bloom, receipts = _receipts(block, raw_transactions, fork)
    made = {
        "state_root": state_root(state),
        "transactions_root": ordered_root(raw_transactions),
        "receipt_root": ordered_root(receipts),
        "bloom": bloom,
        "gas_used": Uint(block.gas_used),
        "requests_hash": block.requests_hash and Bytes32(block.requests_hash),
    }
    block_hash = header_hash({**_given(header), **made}, fork)
    state.hashes[env.number] = block_hash
    return Recomputed(
        hash=block_hash,
        state_root=Hash(bytes(made["state_root"])),
        transactions_root=Hash(bytes(made["transactions_root"])),
        receipts_root=Hash(bytes(made["receipt_root"])),
        logs_bloom=bytes(bloom),
        gas_used=block.gas_used,
        requests_hash=block.requests_hash,
    )


def recompute_genesis(header: Header, state: MemoryState, *, fork: str = "prague") -> Recomputed:
    """Return what follows from the first state alone; nothing is executed in block 0."""
    root, empty, bloom = state_root(state), ordered_root([]), Bytes256(bytes(256))
    requests = _hash_of_no_requests() if fork in {"prague", "osaka"} else None
    made = {
        "state_root": root,
        "transactions_root": empty,
        "receipt_root": empty,
        "bloom": bloom,
        "gas_used": Uint(0),
        "requests_hash": requests,
    }
    block_hash = header_hash({**_given(header), **made}, fork)
    state.hashes[0] = block_hash
    return Recomputed(
        hash=block_hash,
        state_root=Hash(bytes(root)),
        transactions_root=Hash(bytes(empty)),
        receipts_root=Hash(bytes(empty)),
        logs_bloom=bytes(bloom),
        gas_used=0,
        requests_hash=None if requests is None else Hash(bytes(requests)),
    )


def _hash_of_no_requests() -> Bytes32:
    """Return the EIP-7685 hash of no requests, by the specification."""
    requests = _module("prague", "requests")
    return Bytes32(requests.compute_requests_hash([]))


def state_root(state: MemoryState) -> Bytes32:
    """Return the root of a whole state, from scratch, by the specification."""
    module = _module("prague", "state")
    types = load_fork("prague").types
    whole = module.State()
    for address, account in state.accounts.items():
        code = state.codes.get(account.code_hash, b"")
        module.set_account(
            whole,
            Bytes20(address),
            types.Account(Uint(account.nonce), U256(account.balance), code),
        )
    for address, slots in state.storages.items():
        for slot, word in slots.items():
            if word != ZERO_WORD:
                module.set_storage(whole, Bytes20(address), Bytes32(slot), U256.from_be_bytes(word))
    return Bytes32(module.state_root(whole))


def header_hash(values: Mapping[str, Any], fork: str) -> Hash:
    """Return the hash of the header that has these values, by the specification's field order."""
    header = _module(fork, "blocks").Header
    chosen = {field.name: values[field.name] for field in fields(header)}
    return keccak256(rlp.encode(header(**chosen)))


def _environment(header: Header, fork: str, chain_id: int, fraction: int) -> BlockEnv:
    cancun = "excessBlobGas" in header
    return BlockEnv(
        fork=fork,
        chain_id=chain_id,
        number=_quantity(header, "number"),
        timestamp=_quantity(header, "timestamp"),
        coinbase=Address(_data(header, "miner")),
        gas_limit=_quantity(header, "gasLimit"),
        base_fee=_quantity(header, "baseFeePerGas") if "baseFeePerGas" in header else None,
        prev_randao=Hash(_data(header, "mixHash")),
        difficulty=_quantity(header, "difficulty"),
        excess_blob_gas=_quantity(header, "excessBlobGas") if cancun else None,
        blob_base_fee_update_fraction=fraction if cancun else None,
        parent_hash=Hash(_data(header, "parentHash")),
        parent_beacon_block_root=(Hash(_data(header, "parentBeaconBlockRoot")) if cancun else None),
    )


def _given(header: Header) -> dict[str, Any]:
    """Return what the producer decides, in the specification's names and types."""
    given: dict[str, Any] = {
        "parent_hash": Bytes32(_data(header, "parentHash")),
        "ommers_hash": Bytes32(keccak256(rlp.encode([]))),
        "coinbase": Bytes20(_data(header, "miner")),
        "difficulty": Uint(_quantity(header, "difficulty")),
        "number": Uint(_quantity(header, "number")),
        "gas_limit": Uint(_quantity(header, "gasLimit")),
        "timestamp": U256(_quantity(header, "timestamp")),
        "extra_data": _data(header, "extraData"),
        "prev_randao": Bytes32(_data(header, "mixHash")),
        "mix_digest": Bytes32(_data(header, "mixHash")),
        "nonce": Bytes8(_data(header, "nonce")),
        "withdrawals_root": ordered_root([]),
        "blob_gas_used": U64(0),
    }
    if "baseFeePerGas" in header:
        given["base_fee_per_gas"] = Uint(_quantity(header, "baseFeePerGas"))
    if "excessBlobGas" in header:
        given["excess_blob_gas"] = U64(_quantity(header, "excessBlobGas"))
        given["parent_beacon_block_root"] = Bytes32(_data(header, "parentBeaconBlockRoot"))
    return given


def _receipts(
    block: ExecutedBlock, raw_transactions: Sequence[bytes], fork: str
) -> tuple[Bytes256, list[bytes]]:
    """Return the block's bloom, and its receipts as they stand in the trie."""
    blocks, logs_bloom = _module(fork, "blocks"), _module(fork, "bloom").logs_bloom
    receipts, all_logs, cumulative = [], (), 0
    for result, raw in zip(block.results, raw_transactions, strict=True):
        cumulative += result.gas_used
        logs = tuple(
            blocks.Log(
                Bytes20(log.address), tuple(Bytes32(topic) for topic in log.topics), log.data
            )
            for log in result.logs
        )
        all_logs += logs
        receipt = blocks.Receipt(result.succeeded, Uint(cumulative), logs_bloom(logs), logs)
        kind = raw[:1] if raw[0] < 0x80 else b""
        receipts.append(kind + rlp.encode(receipt))
    return logs_bloom(all_logs), receipts


def _module(fork: str, name: str) -> ModuleType:
    """Import one of a fork's modules; the recursion limit stays what it is."""
    load_fork(fork)
    return import_module(f"ethereum.forks.{fork}.{name}")


def ordered_root(items: Sequence[bytes]) -> Bytes32:
    """Return the root of the trie of a list, by the specification."""
    specification = load_fork("prague").trie
    trie = specification.Trie(secured=False, default=None)
    for index, item in enumerate(items):
        specification.trie_set(trie, rlp.encode(Uint(index)), item)
    return Bytes32(specification.root(trie))


def _quantity(header: Header, name: str) -> int:
    return int(header[name], 16)


def _data(header: Header, name: str) -> bytes:
    return bytes.fromhex(header[name][2:])
