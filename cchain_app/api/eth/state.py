"""Accounts at a block: balance, nonce, code, storage and proofs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cchain_app.api import block_tags
from cchain_app.api.errors import LIMIT_OF_CLIENT
from cchain_app.api.params.values import BlockParam, StorageKey, Tag
from cchain_app.api.rpc import EvmRpc, outcome
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.evm.engine import AccountState, StateReader
from cchain_app.selectors import pool, proofs, state
from jsonrpc.errors import JsonRpcError, invalid_params
from primitives.evm import ZERO_HASH, Address, Hash, Slot
from primitives.hashing import EMPTY_HASH
from primitives.hexadecimal import encode_data, encode_quantity

T = TypeVar("T")

MAX_PROOF_KEYS = 1024
MAX_STORAGE_SLOTS = 1024
"""Maximum number of slots of all accounts in one eth_getStorageValues, as in geth."""

_NOBODY = AccountState(nonce=0, balance=0, code_hash=EMPTY_HASH)


def get_balance(rpc: EvmRpc, address: Address, block: BlockParam) -> str:
    """eth_getBalance: the balance of an account in wei; 0 for an account that does not exist."""
    return encode_quantity(_account(rpc, address, block).balance)


def get_balances(rpc: EvmRpc, calls: Sequence[tuple[Address, BlockParam]]) -> list[str | Exception]:
    """eth_getBalance for all calls of a batch, whose accounts are read together."""
    head = block_tags.height_of(rpc, Tag.LATEST)
    latest = [address for address, block in calls if block is Tag.LATEST]
    if len(latest) > 1:
        state.prefetch_accounts(rpc.chain, latest, head)
    at_head = state.state_at(rpc.chain, head)
    outcomes: list[str | Exception] = []
    for address, block in calls:
        if block is Tag.LATEST:
            outcomes.append(encode_quantity((at_head.account(address) or _NOBODY).balance))
        else:
            outcomes.append(outcome(get_balance, (rpc, address, block)))
    return outcomes


def get_transaction_count(rpc: EvmRpc, address: Address, block: BlockParam) -> str:
    """eth_getTransactionCount: the nonce; for `pending`, the nonce after the sender's pending transactions."""
    if block is Tag.PENDING:
        return encode_quantity(pool.next_nonce(rpc.chain, address))
    return encode_quantity(_account(rpc, address, block).nonce)


def get_transaction_counts(
    rpc: EvmRpc, calls: Sequence[tuple[Address, BlockParam]]
) -> list[str | Exception]:
    """eth_getTransactionCount for all calls of a batch; the pool's transactions are read together."""
    pending = [address for address, block in calls if block is Tag.PENDING]
    nonces = pool.next_nonces(rpc.chain, pending) if pending else {}
    outcomes: list[str | Exception] = []
    for address, block in calls:
        if block is Tag.PENDING:
            outcomes.append(encode_quantity(nonces[address]))
        else:
            outcomes.append(outcome(get_transaction_count, (rpc, address, block)))
    return outcomes


def get_code(rpc: EvmRpc, address: Address, block: BlockParam) -> str:
    """eth_getCode: the code of an account, `0x` if it has none."""
    return _read(rpc, block, lambda at: encode_data(state.code_at(at, address)))


def get_storage_at(rpc: EvmRpc, address: Address, key: StorageKey, block: BlockParam) -> str:
    """eth_getStorageAt: the value of a slot, always 32 bytes."""
    slot = rpc.chain.stored_slot(key.slot)
    return _read(rpc, block, lambda at: encode_data(at.storage(address, slot)))


def get_storage_values(
    rpc: EvmRpc, requests: Mapping[Address, Sequence[Hash]], block: BlockParam
) -> dict[str, list[str]]:
    """eth_getStorageValues: the values of slots of several accounts, each 32 bytes, in the order of the slots.

    Raises:
        JsonRpcError: -32602, no slot is named; -38026, more than 1024 slots are named.
    """
    count = sum(map(len, requests.values()))
    if count > MAX_STORAGE_SLOTS:
        raise JsonRpcError(LIMIT_OF_CLIENT, f"too many slots (max {MAX_STORAGE_SLOTS})")
    if not count:
        raise invalid_params("empty request")
    return _read(
        rpc,
        block,
        lambda at: {
            encode_data(address): [
                encode_data(at.storage(address, rpc.chain.stored_slot(Slot(key)))) for key in keys
            ]
            for address, keys in requests.items()
        },
    )


def get_account_info(rpc: EvmRpc, address: Address, block: BlockParam) -> dict[str, str]:
    """eth_getAccountInfo: balance, nonce and code in one answer."""

    def read(at: StateReader) -> dict[str, str]:
        account = at.account(address) or _NOBODY
        return {
            "balance": encode_quantity(account.balance),
            "nonce": encode_quantity(account.nonce),
            "code": encode_data(at.code(account.code_hash)),
        }

    return _read(rpc, block, read)


def get_account(rpc: EvmRpc, address: Address, block: BlockParam) -> dict[str, str]:
    """eth_getAccount: nonce, balance, storage root and code hash of an account, its leaf in the state trie.

    Unspecified: available for NODE_PROOF_WINDOW blocks, as eth_getProof, because the storage root comes from the
    trie. An account that does not exist has the empty trie's root and the empty code's hash, as in Anvil.

    Raises:
        ProofWindowPassed: The block is too old.
    """
    proof = proofs.prove(rpc.chain, address, (), block_tags.require_height(rpc, block))
    account = proof.account or _NOBODY
    return {
        "nonce": encode_quantity(account.nonce),
        "balance": encode_quantity(account.balance),
        "storageRoot": encode_data(proof.storage_root),
        "codeHash": encode_data(account.code_hash),
    }


def get_proof(
    rpc: EvmRpc, address: Address, keys: Sequence[StorageKey], block: BlockParam
) -> dict[str, Any]:
    """eth_getProof: an account and some of its slots, with the trie nodes from the root down.

    Unspecified: proofs are available for NODE_PROOF_WINDOW blocks; older blocks are refused. An account
    that does not exist has the empty code's hash and the empty trie's root, where geth, and a chain of coreth here, has
    zeros.

    Raises:
        JsonRpcError: -32602, there are too many keys.
        ProofWindowPassed: The block is too old.
    """
    if len(keys) > MAX_PROOF_KEYS:
        raise invalid_params(f"too many slots (max {MAX_PROOF_KEYS})")
    found = block_tags.require_height(rpc, block)
    proof = proofs.prove(rpc.chain, address, [key.slot for key in keys], found)
    account, root = proof.account or _NOBODY, proof.storage_root
    if proof.account is None and rpc.chain.is_of_coreth:
        account, root = AccountState(0, 0, ZERO_HASH), ZERO_HASH
    return {
        "address": encode_data(address),
        "accountProof": [encode_data(node) for node in proof.account_proof],
        "balance": encode_quantity(account.balance),
        "codeHash": encode_data(account.code_hash),
        "nonce": encode_quantity(account.nonce),
        "storageHash": encode_data(root),
        "storageProof": [
            {
                "key": _echo(key),
                "value": encode_quantity(int.from_bytes(value, "big")),
                "proof": [encode_data(node) for node in nodes],
            }
            for key, (value, nodes) in zip(keys, proof.storage, strict=True)
        ],
    }


def _echo(key: StorageKey) -> str:
    """Return a key as geth repeats it: in full if it was given in full, else as a quantity."""
    if key.length == len(key.slot):
        return encode_data(key.slot)
    return encode_quantity(int.from_bytes(key.slot, "big"))


def _account(rpc: EvmRpc, address: Address, block: BlockParam) -> AccountState:
    return _read(rpc, block, lambda at: at.account(address) or _NOBODY)


def _read(rpc: EvmRpc, block: BlockParam, read: Callable[[StateReader], T]) -> T:
    """Read from the state after a block; old blocks may be read from a replica."""
    found = block_tags.require_height(rpc, block)
    if isinstance(found, PendingBlock):
        return read(found.state)
    at = state.state_at(rpc.chain, found)
    return state.read_at(rpc.chain, found, lambda: read(at))
