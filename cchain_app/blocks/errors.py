"""Reasons to refuse a block from another node, and classes for those that callers distinguish."""

from enum import StrEnum

from cchain_app.blocks.header import Header
from chainvm.errors import InvalidBlock, UnknownParent
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data
from primitives.ids import ID
from primitives.reasons import ErrorWithReason

_SHOWN = 32


class BlockReason(StrEnum):
    """Why a block is invalid."""

    BLOCK_TOO_LARGE = "block too large: {size} bytes, at most {most}"
    # Not the canonical RLP of a block; the cause says where.
    BLOCK_ENCODING = "{problem}"
    TRANSACTION_TOO_SHORT = "transaction {index} has {size} bytes, fewer than any transaction"
    TOO_MANY_TRANSACTIONS = "more than {most} transactions, more than the block's gas allows"
    UNCLES_NOT_EMPTY = "uncles not allowed"
    WITHDRAWALS_NOT_EMPTY = "withdrawals not allowed"
    # The header has a root of withdrawals, but the body has no list of them; and the reverse.
    WITHDRAWALS_MISSING = "missing withdrawals in block body"
    WITHDRAWALS_UNEXPECTED = "withdrawals present in block body"

    BLOCK_BEFORE_PARENT = "timestamp {time} older than parent's {parent}"
    BLOCK_IN_FUTURE = "block in the future: timestamp {time}, at most {latest} now"
    EXTRA_DATA_TOO_LONG = "extra-data too long: {size} > {most}"
    # The payload of the chain's extension (atomic.md 12.1).
    PAYLOAD_UNEXPECTED = "payload not allowed"
    PAYLOAD_TOO_LARGE = "payload too large: {size} bytes, at most {most}"
    OTHER_PAYLOAD = "extra data is not the hash of the payload"
    # Managers or much use have brought the fees out of the range of this node's blocks.
    FEES_OUT_OF_RANGE = "no block can have gas limit {gas_limit} and base fee {base_fee}"
    # Of verifying the warp messages in access lists (`precompiles.results`).
    RESULTS_MALFORMED = "{problem}"
    NO_PREDICATE_CONTEXT = "missing predicate context"
    MESSAGE_GAS = (
        "intrinsic gas too low for predicate verification of transaction {index}: {have} < {want}"
    )
    MESSAGES_GAS = "gas used {have} does not pay for the warp messages, which need {want}"
    GAS_ABOVE_LIMIT = "gas used {have} exceeds the gas limit {want}"
    OTHER_RESULTS = "invalid predicate results: have {have}, want {want}"
    PAYLOAD_GAS = "atomic gas used ({gas}) exceeds atomic gas limit ({most})"
    PAYLOAD_REFUSED = "{problem}"
    WITHDRAWALS_TOO_LARGE = "withdrawals too large: {size} bytes, at most {most}"
    OTHER_BODY = "the body is not that of the processing block with this header"
    OTHER_WITHDRAWALS = "withdrawals are not those of the payload"
    # A transaction cannot run at its place, or a system call fails; the engine says why.
    EXECUTION_REFUSED = "{failure}"

    # A field of the header, by its name in JSON, differs from the value that follows from the parent, the rules or the
    # body; `compare` in `blocks.verification` raises these.
    WRONG_NUMBER = "invalid number: have {have}, want {want}"
    WRONG_EXTRA_DATA = "invalid extraData: have {have}, want {want}"
    WRONG_GAS_LIMIT = "invalid gasLimit: have {have}, want {want}"
    WRONG_BASE_FEE = "invalid baseFeePerGas: have {have}, want {want}"
    WRONG_COINBASE = "invalid miner: have {have}, want {want}"
    WRONG_DIFFICULTY = "invalid difficulty: have {have}, want {want}"
    WRONG_MIX_HASH = "invalid mixHash: have {have}, want {want}"
    WRONG_NONCE = "invalid nonce: have {have}, want {want}"
    WRONG_UNCLES_HASH = "invalid sha3Uncles: have {have}, want {want}"
    WRONG_WITHDRAWALS_ROOT = "invalid withdrawalsRoot: have {have}, want {want}"
    WRONG_EXCESS_BLOB_GAS = "invalid excessBlobGas: have {have}, want {want}"
    WRONG_BEACON_ROOT = "invalid parentBeaconBlockRoot: have {have}, want {want}"
    WRONG_TRANSACTIONS_ROOT = "invalid transactionsRoot: have {have}, want {want}"
    WRONG_GAS_USED = "invalid gasUsed: have {have}, want {want}"
    TOO_MUCH_BLOB_GAS = "blob gas used {have} exceeds maximum allowance {want}"
    WRONG_BLOB_GAS_USED = "invalid blobGasUsed: have {have}, want {want}"
    WRONG_STATE_ROOT = "invalid stateRoot: have {have}, want {want}"
    WRONG_RECEIPTS_ROOT = "invalid receiptsRoot: have {have}, want {want}"
    WRONG_BLOOM = "invalid logsBloom: have {have}, want {want}"
    WRONG_REQUESTS_HASH = "invalid requestsHash: have {have}, want {want}"
    WRONG_HASH = "invalid hash: have {have}, want {want}"


class BlockRefused(ErrorWithReason, InvalidBlock):
    """A block that breaks a rule, or whose fields do not follow from its parent."""


def unknown_parent(header: Header, head: Hash, reason: str = "") -> UnknownParent:
    """Return the error for a block whose parent is neither processing nor the head, with other words if they are given."""
    parent = header.parent_hash
    if not reason:
        reason = f"unknown parent {encode_data(parent)}: the head is {encode_data(head)}"
    return UnknownParent(ID(keccak256(header.raw)), ID(parent), reason)


class TransactionRefused(InvalidBlock):
    """The block contains something that is not a valid transaction of this chain; the cause says why."""

    def __init__(self, index: int, reason: Exception) -> None:
        super().__init__(f"transaction {index}: {reason}")
        self.index = index
        self.__cause__ = reason


def wrong_field(
    reason: BlockReason, have: int | bytes | None, want: int | bytes | None
) -> BlockRefused:
    """Return the error for a field of the header that differs from its required value."""
    return BlockRefused(reason, have=_text(have), want=_text(want))


def _text(value: int | bytes | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    return encode_data(value) if len(value) <= _SHOWN else f"{encode_data(value[:_SHOWN])}…"
