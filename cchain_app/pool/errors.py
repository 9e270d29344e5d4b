"""Reasons why the pool refuses a transaction, with go-ethereum's messages (`eth_sendRawTransaction`)."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class PoolReason(StrEnum):
    """Why the pool does not accept a transaction. Fees, balances and costs are in wei."""

    FEE_ABOVE_CAP = "tx fee ({fee:.2f} ether) exceeds the configured cap ({cap:.2f} ether)"
    # A legacy transaction without a chain ID.
    NOT_REPLAY_PROTECTED = "only replay-protected (EIP-155) transactions allowed over RPC"
    # In the pool, or in a block.
    ALREADY_KNOWN = "already known"
    TYPE_NOT_ACTIVE = "transaction type not supported: type {type} rejected, pool not yet in {fork}"
    OVERSIZED_TRANSACTION = "oversized data: transaction size {size}, limit {limit}"
    # EIP-3860.
    INIT_CODE_TOO_LARGE = "max initcode size exceeded: code size {size}, limit {limit}"
    # EIP-7825, since Osaka.
    GAS_ABOVE_TRANSACTION_CAP = "transaction gas limit too high (cap: {cap}, tx: {gas})"
    GAS_ABOVE_BLOCK_LIMIT = "exceeds block gas limit"
    TIP_ABOVE_FEE_CAP = "max priority fee per gas higher than max fee per gas"
    # EIP-2681: the highest nonce has no successor.
    NONCE_AT_MAXIMUM = "nonce has max value"
    INTRINSIC_GAS_TOO_LOW = "intrinsic gas too low: gas {gas}, minimum needed {minimum}"
    # An entry of the access list for the warp precompile is no message; the words are subnet-evm's.
    NO_MESSAGE = "{problem}"
    # The transaction allow list does not have the sender; the words are subnet-evm's.
    SENDER_NOT_LISTED = "{words}"
    # EIP-7623.
    FLOOR_GAS_TOO_LOW = (
        "insufficient gas for floor data gas cost: gas {gas}, minimum needed {minimum}"
    )
    TIP_BELOW_MINIMUM = (
        "transaction gas price below minimum: gas tip cap {tip}, minimum needed {minimum}"
    )
    # Below the lowest possible base fee; the message is coreth's.
    FEE_CAP_BELOW_MINIMUM = (
        "transaction underpriced: address {sender} have gas fee cap "
        "({fee_cap}) < pool minimum fee cap ({minimum})"
    )
    NO_AUTHORIZATIONS = "set code tx must have at least one authorization tuple"
    # A blob transaction without blobs, as it is in a block.
    NO_SIDECAR = "missing sidecar in blob transaction"
    NO_BLOBS = "blobless blob transaction"
    TOO_MANY_BLOBS = "transaction blob limit exceeded: blob count {count}, limit {limit}"
    WRONG_BLOB_COUNT = "invalid number of {count} blobs compared to {hashes} blob hashes"
    WRONG_COMMITMENT_COUNT = (
        "invalid number of {count} blob commitments compared to {hashes} blob hashes"
    )
    WRONG_PROOF_COUNT = "invalid number of {count} blob proofs expected {want}"
    WRONG_BLOB_HASH = (
        "blob {index}: computed hash 0x{computed} mismatches transaction one 0x{given}"
    )
    # A proof does not prove its blob, or a blob, commitment or proof is malformed.
    WRONG_PROOF = "KZG verification error: invalid blob proof"
    BLOB_FEE_CAP_BELOW_MINIMUM = (
        "transaction gas price below minimum: blob fee cap {fee_cap}, minimum needed {minimum}"
    )
    NONCE_TOO_LOW = "nonce too low: next nonce {next_nonce}, tx nonce {nonce}"
    FUNDS_BELOW_COST = (
        "insufficient funds for gas * price + value: "
        "balance {balance}, tx cost {cost}, overshot {overshot}"
    )
    # Together with the sender's pending transactions.
    FUNDS_BELOW_QUEUED_COST = (
        "insufficient funds for gas * price + value: "
        "balance {balance}, queued cost {queued}, tx cost {cost}, overshot {overshot}"
    )
    # The same, as a replacement.
    FUNDS_BELOW_REPLACEMENT_COST = (
        "insufficient funds for gas * price + value: "
        "balance {balance}, queued cost {queued}, tx bumped {bump}, overshot {overshot}"
    )
    # The account has, or will have, code (EIP-7702).
    IN_FLIGHT_LIMIT_REACHED = "in-flight transaction limit reached for delegated accounts"
    GAPPED_NONCE_OF_DELEGATED = "gapped-nonce tx from delegated accounts"
    # An authorization by an account that has several transactions in the pool.
    AUTHORITY_RESERVED = "authority already reserved"
    # Both fees must exceed those of the replaced transaction.
    REPLACEMENT_UNDERPRICED = "replacement transaction underpriced"
    # One of them is a blob transaction, so all three fees must be doubled.
    BLOB_REPLACEMENT_UNDERPRICED = (
        "replacement transaction underpriced: new tx {fee} {have} < {before} queued + {bump}% "
        "replacement penalty"
    )
    # All queued transactions of the sender have lower nonces.
    ACCOUNT_LIMIT_EXCEEDED = "account limit exceeded: pooled {pooled} txs"
    # Does not pay more than the cheapest one in a full pool.
    UNDERPRICED = "transaction underpriced"
    # No other sender has a transaction to evict.
    POOL_FULL = "txpool is full"
    # A queued transaction does not displace pending ones, even if it pays more.
    FUTURE_REPLACES_PENDING = "future transaction tries to replace pending"


_NONCE_TAKEN = frozenset(
    {
        PoolReason.ALREADY_KNOWN,
        PoolReason.NONCE_TOO_LOW,
        PoolReason.REPLACEMENT_UNDERPRICED,
        PoolReason.BLOB_REPLACEMENT_UNDERPRICED,
    }
)


class PoolRejection(ErrorWithReason):
    """A well-formed and signed transaction that the pool does not accept."""


def is_nonce_taken(outcome: object) -> bool:
    """Return whether a transaction was rejected because another one has used its nonce meanwhile."""
    return isinstance(outcome, PoolRejection) and outcome.reason in _NONCE_TAKEN
