"""Why the pool refuses a transaction, in go-ethereum's words (`eth_sendRawTransaction`).

PoolRejection
├── FeeAboveCap                     dearer than the endpoint's cap
├── NotReplayProtected              legacy without a chain ID
├── AlreadyKnown                    waiting already, or mined
├── TypeNotActive                   a type that the fork does not have yet
├── OversizedTransaction            too many bytes
├── InitCodeTooLarge                EIP-3860
├── GasAboveTransactionCap          EIP-7825, since Osaka
├── GasAboveBlockLimit              more gas than a block has
├── TipAboveFeeCap                  priority fee above the fee cap
├── NonceAtMaximum                  EIP-2681
├── IntrinsicGasTooLow              less gas than it costs to begin
├── FloorGasTooLow                  less gas than its data costs at least (EIP-7623)
├── TipBelowMinimum                 below the pool's least tip
├── FeeCapBelowMinimum              below the pool's least fee cap
├── NoAuthorizations                type 4 without any
├── NonceTooLow                     used already
├── InsufficientFunds
│   ├── FundsBelowCost              for this transaction alone
│   ├── FundsBelowQueuedCost        together with those that wait
│   └── FundsBelowReplacementCost   together with those that wait, as a replacement
├── InFlightLimitReached            not the only pending one of a delegated account
├── GappedNonceOfDelegated          not the next one of a delegated account
├── AuthorityReserved               its authority has several waiting itself
├── ReplacementUnderpriced          not 10 % above what it would replace
├── AccountLimitExceeded            too many queued of one sender
├── Underpriced                     the pool is full of better ones
├── PoolFull                        the pool is full, and nothing can leave
└── FutureReplacesPending           the pool is full, and only pending ones could leave
"""

from primitives.evm import Address
from primitives.hexadecimal import checksum_address

_ETHER = 10**18


class PoolRejection(Exception):
    """A transaction that the pool does not take, although it is well formed and signed."""


class FeeAboveCap(PoolRejection):
    """Gas that may cost more than the endpoint lets anybody pay by mistake; both in wei."""

    def __init__(self, fee: int, cap: int) -> None:
        super().__init__(
            f"tx fee ({fee / _ETHER:.2f} ether) exceeds the configured cap ({cap / _ETHER:.2f} ether)"
        )
        self.fee = fee
        self.cap = cap


class NotReplayProtected(PoolRejection):
    """A legacy transaction that could be repeated on every chain."""

    def __init__(self) -> None:
        super().__init__("only replay-protected (EIP-155) transactions allowed over RPC")


class AlreadyKnown(PoolRejection):
    """The same transaction waits already, or a block has it."""

    def __init__(self) -> None:
        super().__init__("already known")


class TypeNotActive(PoolRejection):
    """A type of transaction that a later fork brings."""

    def __init__(self, type_: int, fork: str) -> None:
        super().__init__(
            f"transaction type not supported: type {type_} rejected, pool not yet in {fork.title()}"
        )
        self.type = type_
        self.fork = fork


class OversizedTransaction(PoolRejection):
    """An envelope of too many bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"oversized data: transaction size {size}, limit {limit}")
        self.size = size
        self.limit = limit


class InitCodeTooLarge(PoolRejection):
    """Init code of too many bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"max initcode size exceeded: code size {size}, limit {limit}")
        self.size = size
        self.limit = limit


class GasAboveTransactionCap(PoolRejection):
    """More gas than a single transaction may have."""

    def __init__(self, gas: int, cap: int) -> None:
        super().__init__(f"transaction gas limit too high (cap: {cap}, tx: {gas})")
        self.gas = gas
        self.cap = cap


class GasAboveBlockLimit(PoolRejection):
    """More gas than a block has."""

    def __init__(self) -> None:
        super().__init__("exceeds block gas limit")


class TipAboveFeeCap(PoolRejection):
    """A priority fee that can never be paid in full."""

    def __init__(self) -> None:
        super().__init__("max priority fee per gas higher than max fee per gas")


class NonceAtMaximum(PoolRejection):
    """A nonce after which there is none."""

    def __init__(self) -> None:
        super().__init__("nonce has max value")


class IntrinsicGasTooLow(PoolRejection):
    """Less gas than is charged before execution."""

    def __init__(self, gas: int, minimum: int) -> None:
        super().__init__(f"intrinsic gas too low: gas {gas}, minimum needed {minimum}")
        self.gas = gas
        self.minimum = minimum


class FloorGasTooLow(PoolRejection):
    """Less gas than its data costs at least."""

    def __init__(self, gas: int, minimum: int) -> None:
        super().__init__(
            f"insufficient gas for floor data gas cost: gas {gas}, minimum needed {minimum}"
        )
        self.gas = gas
        self.minimum = minimum


class TipBelowMinimum(PoolRejection):
    """A priority fee below the pool's least; in wei."""

    def __init__(self, tip: int, minimum: int) -> None:
        super().__init__(
            f"transaction gas price below minimum: gas tip cap {tip}, minimum needed {minimum}"
        )
        self.tip = tip
        self.minimum = minimum


class FeeCapBelowMinimum(PoolRejection):
    """A fee cap that no block's base fee will ever be as low as; in wei. Words are coreth's."""

    def __init__(self, sender: Address, fee_cap: int, minimum: int) -> None:
        super().__init__(
            f"transaction underpriced: address {checksum_address(sender)} have gas fee cap "
            f"({fee_cap}) < pool minimum fee cap ({minimum})"
        )
        self.sender = sender
        self.fee_cap = fee_cap
        self.minimum = minimum


class NoAuthorizations(PoolRejection):
    """A transaction of type 4 that sets no code."""

    def __init__(self) -> None:
        super().__init__("set code tx must have at least one authorization tuple")


class NonceTooLow(PoolRejection):
    """A nonce that is used already."""

    def __init__(self, next_nonce: int, nonce: int) -> None:
        super().__init__(f"nonce too low: next nonce {next_nonce}, tx nonce {nonce}")
        self.next_nonce = next_nonce
        self.nonce = nonce


class InsufficientFunds(PoolRejection):
    """More than the sender can pay; all in wei."""

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
    """With the pending ones of the same sender it costs more than the balance."""

    def __init__(self, balance: int, queued: int, cost: int) -> None:
        super().__init__(balance, f"queued cost {queued}, tx cost {cost}", queued + cost - balance)


class FundsBelowReplacementCost(InsufficientFunds):
    """In place of another it raises what the sender's pending ones cost above the balance."""

    def __init__(self, balance: int, queued: int, bump: int) -> None:
        super().__init__(
            balance, f"queued cost {queued}, tx bumped {bump}", queued + bump - balance
        )


class InFlightLimitReached(PoolRejection):
    """A further transaction of an account with a delegation (EIP-7702), made or waiting."""

    def __init__(self) -> None:
        super().__init__("in-flight transaction limit reached for delegated accounts")


class GappedNonceOfDelegated(PoolRejection):
    """A nonce that is not the next one of an account with a delegation, made or waiting."""

    def __init__(self) -> None:
        super().__init__("gapped-nonce tx from delegated accounts")


class AuthorityReserved(PoolRejection):
    """An authorization of an account of which several transactions wait."""

    def __init__(self) -> None:
        super().__init__("authority already reserved")


class ReplacementUnderpriced(PoolRejection):
    """A replacement whose fees are not both enough above those of what it would replace."""

    def __init__(self) -> None:
        super().__init__("replacement transaction underpriced")


class AccountLimitExceeded(PoolRejection):
    """As many queued ones as a sender may have, all with lower nonces."""

    def __init__(self, pooled: int) -> None:
        super().__init__(f"account limit exceeded: pooled {pooled} txs")
        self.pooled = pooled


class Underpriced(PoolRejection):
    """No better than the cheapest one in a full pool."""

    def __init__(self) -> None:
        super().__init__("transaction underpriced")


class PoolFull(PoolRejection):
    """The pool is full, and nobody else's transaction could make room."""

    def __init__(self) -> None:
        super().__init__("txpool is full")


class FutureReplacesPending(PoolRejection):
    """A future transaction, dearer than pending ones in a full pool: it must not displace them."""

    def __init__(self) -> None:
        super().__init__("future transaction tries to replace pending")
