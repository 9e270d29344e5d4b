"""Transactions of another chain's block with which a fork begins: requested, and rebuilt from their JSON.

Their hashes prove that they are complete, and their signatures prove their senders (devnet.md 13).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.overrides import BlockOverride
from cchain_app.forking.answers import bad, data, decode_uncounted, quantity
from cchain_app.forking.client import BLOCK, Upstream
from cchain_app.forking.errors import (
    BadUpstreamAnswer,
    ForkReason,
    ForkRefused,
    UpstreamError,
    UpstreamReason,
)
from cchain_app.forking.questions import HEADER_MEMBERS, block_of
from cchain_app.txs.codec import check_signature, decode_unsigned, recover_sender, with_sender
from cchain_app.txs.signing import UnsignedTransaction, encode_signed, named_sender, names_sender
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    AccessList,
    Authorization,
    InvalidTransaction,
    Transaction,
)
from primitives.evm import Address, Hash, Slot
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data, encode_quantity
from primitives.secp256k1 import Signature

_TYPES: Final = frozenset({LEGACY, ACCESS_LIST, DYNAMIC_FEE, BLOB, SET_CODE})
"""Types that blocks can contain here, not those that only exist on other chains."""

_PRICED: Final = frozenset({LEGACY, ACCESS_LIST})


_Block = msgspec.defstruct(
    "_Block",
    [
        *((member, str | None, None) for member in HEADER_MEMBERS),
        ("transactions", list[Raw], []),
    ],
)
"""A block with undecoded transactions; they are decoded one at a time, which bounds the memory."""


class BlockPart(NamedTuple):
    """The first part of another chain's block."""

    block: AcceptedBlock
    """The whole block with its header, without transactions."""
    transactions: tuple[Transaction, ...]
    """At least one transaction."""

    @property
    def override(self) -> BlockOverride:
        """The original values of the block's environment.

        Unspecified: its parent beacon block root reads zero, and its blob gas follows from the pin by the rules
        here.
        """
        header = self.block.header
        return BlockOverride(
            time=header.timestamp,
            gas_limit=header.gas_limit,
            fee_recipient=header.coinbase,
            prev_randao=header.mix_hash,
            base_fee=header.base_fee,
        )


def block_with(upstream: Upstream, transaction: Hash) -> Mapping[str, Any]:
    """Return the header of the block that contains a transaction, and its transactions as JSON texts.

    Args:
        upstream: The remote node.
        transaction: The transaction's hash.

    Raises:
        UpstreamError: It is unknown or not in a block yet, there is no block before that block, or the remote node does
            not return it.
    """
    text = encode_data(transaction)
    remote = upstream.ask("eth_getTransactionByHash", [text])
    if remote is None:
        raise UpstreamError(
            UpstreamReason.NO_SUCH_TRANSACTION, host=upstream.host, transaction=text
        )
    if not isinstance(remote, dict):
        raise bad()
    if remote.get("blockNumber") is None:
        raise UpstreamError(
            UpstreamReason.TRANSACTION_PENDING, host=upstream.host, transaction=text
        )
    number = quantity(remote["blockNumber"])
    if number == 0:
        raise UpstreamError(UpstreamReason.IN_FIRST_BLOCK, transaction=text)
    asked = [encode_quantity(number), True]
    block = upstream.ask("eth_getBlockByNumber", asked, _Block, limits=BLOCK)
    fields: dict[str, Any] = msgspec.structs.asdict(block)
    if quantity(fields["number"]) != number:
        raise bad()
    return fields


def read_replay(block: Mapping[str, Any], last: Hash, chain_id: int) -> BlockPart:
    """Return the part of a block that has to be executed again.

    Unspecified: unsigned transactions of another development chain of this kind are executed for the
    sender that they name, as they were there.

    Args:
        block: Its header, and its transactions as objects or their JSON texts.
        last: Hash of the last transaction to replay.
        chain_id: Chain ID of the fork.

    Raises:
        ForkRefused: A transaction has a type that is not executed here, or is signed for another chain.
        BadUpstreamAnswer: The block does not contain it, or a transaction does not match its hash.
    """
    listed = block.get("transactions")
    if not isinstance(listed, list):
        raise bad()
    whole = block_of(block)
    replayed: list[Transaction] = []
    for remote in listed:
        fields = decode_uncounted(remote) if isinstance(remote, Raw) else remote
        if not isinstance(fields, dict):
            raise bad()
        replayed.append(_transaction(fields, whole.number, chain_id))
        if replayed[-1].hash == last:
            return BlockPart(whole, tuple(replayed))
    raise BadUpstreamAnswer(
        UpstreamReason.TRANSACTION_MISSING, number=whole.number, transaction=encode_data(last)
    )


def _transaction(remote: Mapping[str, Any], number: int, chain_id: int) -> Transaction:
    text = encode_data(data(remote.get("hash"), 32))
    type_ = quantity(remote.get("type") or "0x0")
    if type_ not in _TYPES:
        raise ForkRefused(
            ForkReason.CANNOT_REPLAY,
            transaction=text,
            number=number,
            problem=f"transactions of type {type_:#x} are not executed here",
        )
    raw = encode_signed(*_read(remote, type_))
    if encode_data(keccak256(raw)) != text:
        raise BadUpstreamAnswer(UpstreamReason.OTHER_HASH, transaction=text)
    try:
        decoded = decode_unsigned(raw)
        if names_sender(decoded):
            return with_sender(decoded, named_sender(decoded))
        check_signature(decoded, chain_id)
        return with_sender(decoded, recover_sender(decoded))
    except InvalidTransaction as error:
        raise ForkRefused(
            ForkReason.CANNOT_REPLAY, transaction=text, number=number, problem=str(error)
        ) from error


def _read(remote: Mapping[str, Any], type_: int) -> tuple[UnsignedTransaction, Signature]:
    """Return the signed fields and the signature."""
    v = _number(remote.get("v", remote.get("yParity")))
    if type_ == LEGACY:
        chain_id, y_parity = (None, v - 27) if v < 35 else divmod(v - 35, 2)  # EIP-155
    else:
        chain_id, y_parity = quantity(remote.get("chainId")), v
    if not 0 <= y_parity <= 1:
        raise bad()
    fee, tip = (
        ("gasPrice", "gasPrice") if type_ in _PRICED else ("maxFeePerGas", "maxPriorityFeePerGas")
    )
    unsigned = UnsignedTransaction(
        type=type_,
        chain_id=chain_id,
        nonce=quantity(remote.get("nonce")),
        gas=quantity(remote.get("gas")),
        to=Address(data(remote["to"], 20)) if remote.get("to") else None,
        value=quantity(remote.get("value")),
        max_fee_per_gas=quantity(remote.get(fee)),
        max_priority_fee_per_gas=quantity(remote.get(tip)),
        data=data(remote.get("input", remote.get("data"))),
        access_list=_access_list(_list(remote, "accessList")),
        authorizations=tuple(map(_authorization, _list(remote, "authorizationList"))),
        max_fee_per_blob_gas=quantity(remote.get("maxFeePerBlobGas")) if type_ == BLOB else 0,
        blob_hashes=tuple(Hash(data(item, 32)) for item in _list(remote, "blobVersionedHashes")),
    )
    return unsigned, Signature(_number(remote.get("r")), _number(remote.get("s")), y_parity)


def _access_list(remote: Sequence[Mapping[str, Any]]) -> AccessList:
    return tuple(
        (
            Address(data(item.get("address"), 20)),
            tuple(Slot(data(key, 32)) for key in _list(item, "storageKeys")),
        )
        for item in remote
    )


def _authorization(remote: Mapping[str, Any]) -> Authorization:
    return Authorization(
        quantity(remote.get("chainId")),
        Address(data(remote.get("address"), 20)),
        quantity(remote.get("nonce")),
        _number(remote.get("yParity", remote.get("v"))),
        _number(remote.get("r")),
        _number(remote.get("s")),
    )


def _list(remote: Mapping[str, Any], member: str) -> Sequence[Any]:
    """Return a list, empty if it is missing; the entries are objects, or storage keys and hashes."""
    elements = remote.get(member) or []
    wanted = str if member in {"storageKeys", "blobVersionedHashes"} else dict
    if not isinstance(elements, list) or not all(isinstance(item, wanted) for item in elements):
        raise bad()
    return elements


def _number(value: Any) -> int:
    """Return a number of a signature; some nodes write it with leading zeros."""
    try:
        return quantity("0x" + (value.removeprefix("0x").lstrip("0") or "0"))
    except AttributeError as error:
        raise bad() from error
