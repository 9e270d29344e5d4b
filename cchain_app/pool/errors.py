"""Reasons why the pool refuses a transaction, with go-ethereum's messages (`eth_sendRawTransaction`).

PoolRejection
├── FeeAboveCap                     fee above the endpoint's cap
├── NotReplayProtected              legacy without a chain ID
├── AlreadyKnown                    in the pool already, or mined
├── TypeNotActive                   a type that the fork does not have yet
├── OversizedTransaction            too many bytes
├── InitCodeTooLarge                EIP-3860
├── GasAboveTransactionCap          EIP-7825, since Osaka
├── GasAboveBlockLimit              gas above the block gas limit
├── TipAboveFeeCap                  priority fee above the fee cap
├── NonceAtMaximum                  EIP-2681
├── IntrinsicGasTooLow              gas below the intrinsic gas
├── FloorGasTooLow                  gas below the floor for its data (EIP-7623)
├── TipBelowMinimum                 below the pool's minimum tip
├── FeeCapBelowMinimum              below the pool's minimum fee cap
├── NoAuthorizations                type 4 without authorizations
├── NonceTooLow                     used already
├── InsufficientFunds
│   ├── FundsBelowCost              for this transaction alone
│   ├── FundsBelowQueuedCost        together with the pending ones
│   └── FundsBelowReplacementCost   together with the pending ones, as a replacement
├── InFlightLimitReached            not the only pending one of a delegated account
├── GappedNonceOfDelegated          not the next one of a delegated account
├── AuthorityReserved               its authority has several transactions in the pool
├── ReplacementUnderpriced          not 10 % above the replaced transaction
├── AccountLimitExceeded            too many queued transactions of one sender
├── Underpriced                     the pool is full of better ones
├── PoolFull                        the pool is full, and nothing can be evicted
└── FutureReplacesPending           the pool is full, and only pending ones could be evicted
"""

from primitives.evm import Address
from primitives.hexadecimal import checksum_address

_ETHER = 10**18


class PoolRejection(Exception):
    """A well-formed and signed transaction that the pool does not accept."""


class FeeAboveCap(PoolRejection):
    """The gas may cost more than the endpoint's cap, which guards against mistakes; both in wei."""

    def __init__(self, fee: int, cap: int) -> None:
        super().__init__(
            f"tx fee ({fee / _ETHER:.2f} ether) exceeds the configured cap ({cap / _ETHER:.2f} ether)"
        )
        self.fee = fee
        self.cap = cap


class NotReplayProtected(PoolRejection):
    """A legacy transaction that could be replayed on other chains."""

    def __init__(self) -> None:
        super().__init__("only replay-protected (EIP-155) transactions allowed over RPC")


class AlreadyKnown(PoolRejection):
    """The same transaction is in the pool or in a block already."""

    def __init__(self) -> None:
        super().__init__("already known")


class TypeNotActive(PoolRejection):
    """A type of transaction that only a later fork has."""

    def __init__(self, type_: int, fork: str) -> None:
        super().__init__(
            f"transaction type not supported: type {type_} rejected, pool not yet in {fork.title()}"
        )
        self.type = type_
        self.fork = fork


class OversizedTransaction(PoolRejection):
    """The envelope has too many bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"oversized data: transaction size {size}, limit {limit}")
        self.size = size
        self.limit = limit


class InitCodeTooLarge(PoolRejection):
    """The init code has too many bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"max initcode size exceeded: code size {size}, limit {limit}")
        self.size = size
        self.limit = limit


class GasAboveTransactionCap(PoolRejection):
    """Its gas is above the maximum for a single transaction."""

    def __init__(self, gas: int, cap: int) -> None:
        super().__init__(f"transaction gas limit too high (cap: {cap}, tx: {gas})")
        self.gas = gas
        self.cap = cap


class GasAboveBlockLimit(PoolRejection):
    """Its gas is above the block gas limit."""

    def __init__(self) -> None:
        super().__init__("exceeds block gas limit")


class TipAboveFeeCap(PoolRejection):
    """The priority fee is above the fee cap, so it could never be paid in full."""

    def __init__(self) -> None:
        super().__init__("max priority fee per gas higher than max fee per gas")


class NonceAtMaximum(PoolRejection):
    """The highest possible nonce, which has no successor."""

    def __init__(self) -> None:
        super().__init__("nonce has max value")


class IntrinsicGasTooLow(PoolRejection):
    """Its gas does not cover the intrinsic gas."""

    def __init__(self, gas: int, minimum: int) -> None:
        super().__init__(f"intrinsic gas too low: gas {gas}, minimum needed {minimum}")
        self.gas = gas
        self.minimum = minimum


class FloorGasTooLow(PoolRejection):
    """Its gas is below the minimum for its data."""

    def __init__(self, gas: int, minimum: int) -> None:
        super().__init__(
            f"insufficient gas for floor data gas cost: gas {gas}, minimum needed {minimum}"
        )
        self.gas = gas
        self.minimum = minimum


class TipBelowMinimum(PoolRejection):
    """The priority fee is below the pool's minimum; in wei."""

    def __init__(self, tip: int, minimum: int) -> None:
        super().__init__(
            f"transaction gas price below minimum: gas tip cap {tip}, minimum needed {minimum}"
        )
        self.tip = tip
        self.minimum = minimum


class FeeCapBelowMinimum(PoolRejection):
    """The fee cap is below the lowest possible base fee; in wei. The message is coreth's."""

    def __init__(self, sender: Address, fee_cap: int, minimum: int) -> None:
        super().__init__(
            f"transaction underpriced: address {checksum_address(sender)} have gas fee cap "
            f"({fee_cap}) < pool minimum fee cap ({minimum})"
        )
        self.sender = sender
        self.fee_cap = fee_cap
        self.minimum = minimum


class NoAuthorizations(PoolRejection):
    """A transaction of type 4 without authorizations."""

    def __init__(self) -> None:
        super().__init__("set code tx must have at least one authorization tuple")


class NonceTooLow(PoolRejection):
    """The nonce is used already."""

    def __init__(self, next_nonce: int, nonce: int) -> None:
        super().__init__(f"nonce too low: next nonce {next_nonce}, tx nonce {nonce}")
        self.next_nonce = next_nonce
        self.nonce = nonce


class InsufficientFunds(PoolRejection):
    """The sender cannot pay the cost; all values in wei."""

    def __init__(self, balance: int, sums: str, overshot: int) -> None:
        super().__init__(
            "insufficient funds for gas * price + value: "
            f"balance {balance}, {sums}, overshot {overshot}"
        )
        self.balance = balance
        self.overshot = overshot


class FundsBelowCost(InsufficientFunds):
    """The transaction alone costs more than the balance."""

    def __init__(self, balance: int, cost: int) -> None:
        super().__init__(balance, f"tx cost {cost}", cost - balance)


class FundsBelowQueuedCost(InsufficientFunds):
    """Together with the sender's pending transactions it costs more than the balance."""

    def __init__(self, balance: int, queued: int, cost: int) -> None:
        super().__init__(balance, f"queued cost {queued}, tx cost {cost}", queued + cost - balance)


class FundsBelowReplacementCost(InsufficientFunds):
    """As a replacement it raises the cost of the sender's pending transactions above the balance."""

    def __init__(self, balance: int, queued: int, bump: int) -> None:
        super().__init__(
            balance, f"queued cost {queued}, tx bumped {bump}", queued + bump - balance
        )


class InFlightLimitReached(PoolRejection):
    """A further transaction of an account with an existing or pending delegation (EIP-7702)."""

    def __init__(self) -> None:
        super().__init__("in-flight transaction limit reached for delegated accounts")


class GappedNonceOfDelegated(PoolRejection):
    """The nonce is not the next one of an account with an existing or pending delegation."""

    def __init__(self) -> None:
        super().__init__("gapped-nonce tx from delegated accounts")


class AuthorityReserved(PoolRejection):
    """An authorization by an account that has several transactions in the pool."""

    def __init__(self) -> None:
        super().__init__("authority already reserved")


class ReplacementUnderpriced(PoolRejection):
    """A replacement whose fees do not both exceed those of the replaced transaction by enough."""

    def __init__(self) -> None:
        super().__init__("replacement transaction underpriced")


class AccountLimitExceeded(PoolRejection):
    """The sender has the maximum number of queued transactions, all with lower nonces."""

    def __init__(self, pooled: int) -> None:
        super().__init__(f"account limit exceeded: pooled {pooled} txs")
        self.pooled = pooled


class Underpriced(PoolRejection):
    """The transaction does not pay more than the cheapest one in a full pool."""

    def __init__(self) -> None:
        super().__init__("transaction underpriced")


class PoolFull(PoolRejection):
    """The pool is full, and no other sender has a transaction to evict."""

    def __init__(self) -> None:
        super().__init__("txpool is full")


class FutureReplacesPending(PoolRejection):
    """A queued transaction must not displace pending ones in a full pool, even if it pays more."""

    def __init__(self) -> None:
        super().__init__("future transaction tries to replace pending")
