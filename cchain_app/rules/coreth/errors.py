"""Reasons to refuse a block of coreth, with the reference's messages (coreth.md 4, 6)."""

from enum import StrEnum

_SYNTAX = "syntactic block verification failed: "
_PARENT = "failed to verify block: "
_INTRINSIC = _PARENT + "failed to verify intrinsic gas: "
_CAPACITY = _INTRINSIC + "invalid gas used relative to capacity: "
_PREDICATES = _PARENT + "failed to verify predicates: "
_FINALIZE = "engine finalization check failed: "


class CorethReason(StrEnum):
    """Why a block is invalid. Raised as `blocks.errors.BlockRefused`."""

    # The bytes are not those of a block.
    EMPTY_INPUT = "EOF"
    NOT_A_LIST = "rlp: expected List"
    TOO_FEW_ITEMS = "rlp: end of list"
    TOO_MANY_ITEMS = "rlp: call of ListEnd not positioned at EOL"
    ENCODING = "rlp: {problem}"
    ITEM = "rlp: {problem} for {kind}"
    TRANSACTION_TOO_SHORT = "typed transaction too short"
    HEADER = "{problem}"
    EXT_DATA = (
        "failed to create block extension: atomic tx extraction failed\n"
        "failed to unmarshal atomic tx (AP5) due to {problem}"
    )
    EXT_DATA_OF_ONE = (
        "failed to create block extension: atomic tx extraction failed\n"
        "failed to unmarshal atomic transaction (pre-AP5): {problem}"
    )
    EXT_DATA_EMPTY = (
        "failed to create block extension: atomic tx extraction failed\n"
        "cannot build a block with non-empty extra data and zero atomic transactions"
    )

    # Without the parent (A).
    NUMBER_SIZE = _SYNTAX + "invalid block number: {have}"
    DIFFICULTY = _SYNTAX + "invalid difficulty: {have}"
    NONCE = _SYNTAX + "expected nonce to be 0 but got {have}: invalid nonce"
    MIX_DIGEST = _SYNTAX + "invalid mix digest: 0x{have}"
    EXTRA_LENGTH = _SYNTAX + "invalid header.Extra length: expected {want} but got {have}"
    VERSION = _SYNTAX + "invalid version: {have}"
    TRANSACTIONS_ROOT = (
        _SYNTAX + "invalid txs hash 0x{have} does not match calculated txs hash 0x{want}"
    )
    UNCLE_HASH = (
        _SYNTAX + "invalid uncle hash 0x{have} does not match calculated uncle hash 0x{want}"
    )
    COINBASE = _SYNTAX + "invalid coinbase {have} does not match required blackhole address {want}"
    UNCLES = _SYNTAX + "uncles unsupported"
    PRICE_TOO_LOW = _SYNTAX + "block contains tx 0x{hash} with gas price too low ({have} < {least})"
    NO_BASE_FEE = _SYNTAX + "nil base fee is invalid after apricotPhase3"
    BASE_FEE_SIZE = _SYNTAX + "too large base fee: bitlen {bits}"
    NO_BLOCK_GAS_COST = _SYNTAX + "nil blockGasCost is invalid after apricotPhase4"
    BLOCK_GAS_COST_SIZE = _SYNTAX + "too large blockGasCost: {have}"
    NO_BEACON_ROOT = _SYNTAX + "header is missing parentBeaconRoot"
    BEACON_ROOT = _SYNTAX + "invalid non-empty parentBeaconRoot: have {have}, expected empty hash"
    NO_BLOB_GAS_USED = _SYNTAX + "blob gas used must not be nil in Cancun"
    BEACON_ROOT_TOO_SOON = (
        _SYNTAX + "invalid parentBeaconRoot before cancun: have {have}, expected nil"
    )
    EXCESS_BLOB_GAS_TOO_SOON = (
        _SYNTAX + "invalid excessBlobGas before cancun: have {have}, expected nil"
    )
    BLOB_GAS_USED_TOO_SOON = (
        _SYNTAX + "invalid blobGasUsed before cancun: have {have}, expected nil"
    )
    BLOB_GAS_USED = (
        _SYNTAX + "blobs not enabled on avalanche networks: used {have} blob gas, expected 0"
    )
    EXCESS_BLOB_GAS = _SYNTAX + "invalid excessBlobGas: have {have}, expected 0"
    EXT_DATA_HASH = _SYNTAX + "extra data hash mismatch: have {have}, want {want}"
    EXT_DATA_HASH_TOO_SOON = _SYNTAX + "expected ExtDataHash to be empty but got {have}"
    EMPTY_BLOCK = _SYNTAX + "empty block"

    # Against the parent (B).
    NO_PARENT = _PARENT + "parent header not found: 0x{parent} at height {height}"
    NO_MIN_DELAY = _PARENT + "remote min delay excess should not be nil: 0x{hash}"
    MIN_DELAY = _PARENT + "incorrect min delay excess: expected {want}, found {have}"
    TARGET_EXPONENT = _PARENT + "remote target exponent should be nil: 0x{hash}"
    MIN_PRICE_EXPONENT = _PARENT + "remote min price exponent should be nil: 0x{hash}"
    TOO_OLD = _PARENT + "block timestamp is too old: {have} < parent {parent}"
    TOO_EARLY = _PARENT + "block timestamp is too far in the future: {have} > allowed {allowed}"
    MILLISECONDS_TOO_SOON = _PARENT + "TimeMilliseconds should be nil before Granite activation"
    NO_MILLISECONDS = _PARENT + "TimeMilliseconds is required after Granite activation"
    OTHER_SECONDS = (
        _PARENT + "TimeMilliseconds does not match header.Time: header.Time ({have}) != "
        "TimeMilliseconds/1000 = ({want})"
    )
    DELAY = _PARENT + "minimum block delay not met: actual delay {have}ms < required {want}ms"
    SETTLED = _PARENT + "remote settled block marker should be nil: 0x{hash}"
    # Unspecified: the reference executes blocks of Helicon with another virtual machine. Its words are the first half.
    HELICON = _PARENT + (
        "helicon blocks are not valid pre-SAE: since Helicon the C-Chain executes its blocks later than it accepts them "
        "(ACP-194), which this version cannot do; it follows the C-Chain up to Granite"
    )
    EXT_DATA_GAS_SIZE = _CAPACITY + "invalid extra data gas used: {have} is not a uint64"
    GAS_OVERFLOW = _CAPACITY + "overflow while calculating gas used"
    GAS_ABOVE_CAPACITY = _CAPACITY + "invalid gas used: have {have}, capacity {capacity}"
    INTRINSIC_GAS = (
        _INTRINSIC + "total intrinsic gas cost is greater than claimed gas used: intrinsic gas "
        "({want}) > claimed gas used ({have})"
    )
    TRANSACTION_GAS = (
        _PREDICATES + "intrinsic gas too low for predicate verification ({have}) < intrinsic gas "
        "({want})"
    )
    PREDICATE_RESULTS = (
        _PREDICATES + "invalid header predicate results (remote: {have} local: {want})"
    )
    PREDICATE_BYTES = _PREDICATES + "{problem}"
    NO_PREDICATE_CONTEXT = _PREDICATES + "missing predicate context"
    MUCH_EXT_DATA_GAS = _PARENT + "too large extDataGasUsed: {have}"
    EXT_DATA_GAS_USED = _PARENT + "invalid extDataGasUsed: have {have}, want {want}"
    NO_UTXOS = _PARENT + "missing UTXOs: not found"

    # The header's values and the execution (C).
    GAS_LIMIT = "invalid gas limit: have {have}, want {want}"
    GAS_LIMIT_OF_PHASE = "invalid gas limit: expected to be {want} in {phase}, but found {have}"
    GAS_LIMIT_RANGE = "invalid gas limit: {have} not in range [{least}, {most}]"
    GAS_LIMIT_STEP = "invalid gas limit: have {have}, want {parent} += {step}"
    EXTRA_PREFIX = "invalid header.Extra prefix: expected {want} as prefix, found {have}"
    EXT_DATA_GAS_TOO_SOON = "invalid extDataGasUsed before fork: have {have}, want <nil>"
    NO_EXT_DATA_GAS = "extDataGasUsed is nil"
    FEE_STATE = "incorrect fee state: expected {want}, found {have}"
    GAS_STATE = "{problem}"
    BASE_FEE = "expected base fee {want}, found {have}"
    BLOCK_GAS_COST = "invalid block gas cost: have {have}, want {want}"
    NUMBER = "invalid block number"
    ATOMIC_INVALID = (
        _FINALIZE + "invalid block due to failed semantic verify: {problem} at height {height}"
    )
    ATOMIC_REFUSED = _FINALIZE + "{problem}"
    ATOMIC_GAS = (
        _FINALIZE + "atomic gas used exceeds atomic gas limit: ({have}) by block (0x{hash}), "
        "limit ({limit})"
    )
    FEE_WITHOUT_BASE_FEE = _FINALIZE + "invalid base fee in apricot phase 4: {have}"
    FEE_WITHOUT_COST = _FINALIZE + "invalid block gas cost in apricot phase 4: {have}"
    NEGATIVE_CONTRIBUTION = _FINALIZE + "invalid extra state change contribution: {have}"
    BLOCK_FEE = (
        _FINALIZE + "insufficient gas to cover the block cost: expected {want} but got {have}"
    )
    TRANSACTION = "could not apply tx {index} [0x{hash}]: {problem}"
    GAS_USED = "invalid gas used (remote: {have} local: {want})"
    BLOOM = "invalid bloom (remote: {have}  local: {want})"
    RECEIPTS_ROOT = "invalid receipt root hash (remote: {have} local: {want})"
    STATE_ROOT = "invalid merkle root (remote: {have} local: {want}) dberr: %!w(<nil>)"
