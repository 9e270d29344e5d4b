"""Requests to the remote node of a fork, and their answers as values."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock, header_only_block
from cchain_app.evm.engine import AccountState
from cchain_app.forking.answers import bad, data, quantity
from cchain_app.forking.client import Upstream
from cchain_app.forking.errors import UpstreamAway, UpstreamError, UpstreamReason
from primitives.evm import ZERO_HASH, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT, keccak256
from primitives.hexadecimal import encode_data, encode_quantity

_OPTIONAL: Final = (
    ("base_fee", "baseFeePerGas"), ("withdrawals_root", "withdrawalsRoot"), ("blob_gas_used", "blobGasUsed"),
    ("excess_blob_gas", "excessBlobGas"), ("parent_beacon_block_root", "parentBeaconBlockRoot"),
    ("requests_hash", "requestsHash"),
)  # fmt: skip


HEADER_MEMBERS: Final = (
    "number", "hash", "parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom",
    "difficulty", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce",
    *(member for _, member in _OPTIONAL),
)  # fmt: skip
"""The members of a block that `block_of` reads, except the size."""


class UpstreamAccount(NamedTuple):
    """An account as of the pin."""

    state: AccountState | None
    """None: it does not exist there."""
    code: bytes


def chain_id(upstream: Upstream) -> int:
    """Return the chain's EIP-155 ID."""
    return quantity(upstream.ask("eth_chainId", []))


def pinned_block(upstream: Upstream, number: int | None) -> Mapping[str, Any]:
    """Return the block from which to continue, with its transactions' hashes.

    Args:
        upstream: The remote node.
        number: The block's height; negative: this many before the latest block; None: the latest block.

    Raises:
        UpstreamError: The block does not exist, or the remote node does not return it.
    """
    if number is None or number < 0:
        try:
            last = upstream.ask("eth_blockNumber", [])
        except UpstreamAway as error:
            raise UpstreamAway(UpstreamReason.NO_BLOCK_NUMBER, problem=error) from error
        number = quantity(last) + (number or 0)
    if number < 0:
        raise UpstreamError(UpstreamReason.TOO_FEW_BLOCKS, host=upstream.host)
    block = upstream.ask("eth_getBlockByNumber", [encode_quantity(number), False])
    if block is None:
        raise UpstreamError(UpstreamReason.NO_SUCH_BLOCK, host=upstream.host, number=number)
    if not isinstance(block, dict):
        raise bad()
    return block


def block_of(fields_by_name: Mapping[str, Any]) -> AcceptedBlock:
    """Return a block as upstream sent it, with the header fields of Ethereum's layout and without transactions.

    Header fields after a gap are left out. The header has the block's hash only if no field is left out or added.

    Raises:
        BadUpstreamAnswer: A field that every block has is missing or malformed.
    """
    fields: dict[str, Any] = {
        "parent_hash": Hash(data(fields_by_name.get("parentHash"), 32)),
        "ommers_hash": Hash(data(fields_by_name.get("sha3Uncles", encode_data(ZERO_HASH)), 32)),
        "coinbase": Address(data(fields_by_name.get("miner", encode_data(bytes(20))), 20)),
        "state_root": Hash(data(fields_by_name.get("stateRoot"), 32)),
        "transactions_root": Hash(
            data(fields_by_name.get("transactionsRoot", encode_data(EMPTY_ROOT)), 32)
        ),
        "receipts_root": Hash(
            data(fields_by_name.get("receiptsRoot", encode_data(EMPTY_ROOT)), 32)
        ),
        "logs_bloom": data(fields_by_name.get("logsBloom", encode_data(bytes(256))), 256),
        "difficulty": quantity(fields_by_name.get("difficulty") or "0x0"),
        "number": quantity(fields_by_name.get("number")),
        "gas_limit": quantity(fields_by_name.get("gasLimit")),
        "gas_used": quantity(fields_by_name.get("gasUsed")),
        "timestamp": quantity(fields_by_name.get("timestamp")),
        "extra_data": data(fields_by_name.get("extraData", "0x")),
        "mix_hash": Hash(data(fields_by_name.get("mixHash") or encode_data(ZERO_HASH), 32)),
        "nonce": data(fields_by_name.get("nonce") or encode_data(bytes(8)), 8),
    }
    for name, member in _OPTIONAL:
        value = fields_by_name.get(member)
        if value is None:
            break
        plain = name in ("base_fee", "blob_gas_used", "excess_blob_gas")
        fields[name] = quantity(value) if plain else Hash(data(value, 32))
    return header_only_block(fields, hash_of(fields_by_name), size_of(fields_by_name))


def hash_of(block: Mapping[str, Any]) -> Hash:
    """Return a block's hash as upstream sent it."""
    return Hash(data(block.get("hash"), 32))


def size_of(block: Mapping[str, Any]) -> int:
    """Return the size of a block as RLP in bytes, as upstream sent it; 0 if upstream sent no size."""
    return quantity(block.get("size") or "0x0")


def block_hash(upstream: Upstream, number: int) -> Hash:
    """Return the hash of a block before the pin."""
    block = upstream.ask("eth_getBlockByNumber", [encode_quantity(number), False])
    if not isinstance(block, dict):
        raise bad()
    return hash_of(block)


def account(upstream: Upstream, address: Address, number: int) -> UpstreamAccount:
    """Return an account at a height, by one request if upstream supports eth_getAccountInfo, else by three.

    An empty account does not exist.
    """
    params = [encode_data(address), encode_quantity(number)]
    if upstream.has_account_info is not False:
        try:
            info = upstream.ask(
                "eth_getAccountInfo", params, again=upstream.has_account_info is True
            )
            state = _account(info["balance"], info["nonce"], info["code"])
        except UpstreamAway:
            if upstream.has_account_info:
                raise
        except (UpstreamError, KeyError, TypeError):
            upstream.has_account_info = False
        else:
            upstream.has_account_info = True
            return state
    balance, nonce, code = upstream.ask_all(
        lambda method: upstream.ask(method, params),
        ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"],
    )
    return _account(balance, nonce, code)


def slot(
    upstream: Upstream, address: Address, key: Slot, number: int, *, again: bool = True
) -> Word:
    """Return the value of a slot at a height; `again` as in `Upstream.ask`."""
    params = [
        encode_data(address),
        encode_quantity(int.from_bytes(key, "big")),
        encode_quantity(number),
    ]
    value = upstream.ask("eth_getStorageAt", params, again=again)
    return Word(data(value).rjust(32, b"\0")[-32:])


def _account(balance: Any, nonce: Any, code: Any) -> UpstreamAccount:
    runtime = data(code)
    state = AccountState(quantity(nonce), quantity(balance), keccak256(runtime))
    if state == AccountState(0, 0, EMPTY_HASH):
        return UpstreamAccount(None, b"")
    return UpstreamAccount(state, runtime)
