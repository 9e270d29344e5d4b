"""Checks of a new transaction that need neither its sender's account nor the other transactions of the pool.

The checks and their order are go-ethereum's (`eth_sendRawTransaction`). The check of the signature is in `txs.codec`;
`queues` has the checks that follow: nonce, funds, and the price of a replacement.
"""

from dataclasses import dataclass, field
from typing import Final

from cchain_app.config import ETHEREUM_LIMITS, ExecutionLimits, at_least
from cchain_app.pool.entry import PoolLimits
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.precompiles.active import NO_STATEFUL, StatefulPrecompiles, WarpRules
from cchain_app.precompiles.fee_config import MAX_GAS_LIMIT
from cchain_app.precompiles.predicates import (
    PredicateError,
    extra_gas,
    has_predicates,
    parse_predicates,
)
from cchain_app.txs.blobs import MAX_BLOBS_PER_TX
from cchain_app.txs.codec import DecodedTransaction
from cchain_app.txs.transaction import (
    BLOB,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    Transaction,
    floor_gas,
    intrinsic_gas,
)

MAXIMUM_NONCE: Final = 2**64 - 1
"""The first nonce that no transaction may have (EIP-2681)."""

_ETHER: Final = 10**18


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """The rules that a transaction must satisfy before its sender's account is read."""

    fork: str
    """Rule set of the next block."""
    block_gas_limit: int
    """Gas limit of the head."""
    limits: PoolLimits = field(default_factory=PoolLimits)
    execution: ExecutionLimits = ETHEREUM_LIMITS
    max_blobs: int = 0
    """Blobs of the next block; 0 where there are no blob transactions."""
    stateful: StatefulPrecompiles = NO_STATEFUL
    """The stateful precompiles of the next block."""

    @property
    def most_blobs(self) -> int:
        """Maximum number of blobs of one transaction (EIP-7594)."""
        if at_least(self.fork, "osaka"):
            return min(self.max_blobs, MAX_BLOBS_PER_TX)
        return self.max_blobs


def check_before_sender(
    transaction: Transaction | DecodedTransaction, rules: AdmissionRules
) -> None:
    """Run the checks that go-ethereum runs before that of the signature.

    Raises:
        PoolRejection: A check fails.
    """
    check_endpoint(transaction, rules.limits)
    check_size(len(transaction.raw), rules.limits)
    _check_type(transaction, rules.fork)
    _check_gas_limits(transaction, rules)
    if transaction.max_priority_fee_per_gas > transaction.max_fee_per_gas:
        raise PoolRejection(PoolReason.TIP_ABOVE_FEE_CAP)


def check_after_sender(
    transaction: Transaction | DecodedTransaction, rules: AdmissionRules
) -> None:
    """Run go-ethereum's checks that follow the recovery of the sender and do not need its account.

    Raises:
        PoolRejection: A check fails.
    """
    if transaction.nonce >= MAXIMUM_NONCE:
        raise PoolRejection(PoolReason.NONCE_AT_MAXIMUM)
    _check_gas_needed(transaction, rules)
    tip, minimum_tip = transaction.max_priority_fee_per_gas, rules.limits.minimum_tip
    if tip < minimum_tip:
        raise PoolRejection(PoolReason.TIP_BELOW_MINIMUM, tip=tip, minimum=minimum_tip)
    if transaction.type == SET_CODE and not transaction.authorizations:
        raise PoolRejection(PoolReason.NO_AUTHORIZATIONS)


def check_endpoint(transaction: Transaction | DecodedTransaction, limits: PoolLimits) -> None:
    """Check the rules for transactions that arrive over RPC.

    Raises:
        PoolRejection: Its gas may cost more than the cap, or it is legacy and names no chain.
    """
    fee = transaction.gas * transaction.max_fee_per_gas
    if limits.fee_cap is not None and fee > limits.fee_cap:
        raise PoolRejection(PoolReason.FEE_ABOVE_CAP, fee=fee / _ETHER, cap=limits.fee_cap / _ETHER)
    if (
        transaction.type == LEGACY
        and transaction.chain_id is None
        and not limits.unprotected_allowed
    ):
        raise PoolRejection(PoolReason.NOT_REPLAY_PROTECTED)


def check_size(size: int, limits: PoolLimits) -> None:
    """Check the size of an envelope in bytes; best done before the envelope is decoded.

    Raises:
        PoolRejection: It is too large.
    """
    if size > limits.transaction_bytes:
        raise PoolRejection(
            PoolReason.OVERSIZED_TRANSACTION, size=size, limit=limits.transaction_bytes
        )


def _check_type(transaction: Transaction | DecodedTransaction, fork: str) -> None:
    for applies, required in (
        (transaction.type != LEGACY, "berlin"),
        (transaction.type == DYNAMIC_FEE, "london"),
        (transaction.type == BLOB, "cancun"),
        (transaction.type == SET_CODE, "prague"),
    ):
        if applies and not at_least(fork, required):
            raise PoolRejection(
                PoolReason.TYPE_NOT_ACTIVE, type=transaction.type, fork=required.title()
            )


def _check_gas_limits(transaction: Transaction | DecodedTransaction, rules: AdmissionRules) -> None:
    size, most = len(transaction.data), rules.execution.init_code_size
    if transaction.to is None and size > most and at_least(rules.fork, "shanghai"):
        raise PoolRejection(PoolReason.INIT_CODE_TOO_LARGE, size=size, limit=most)
    cap = rules.execution.of_transaction(rules.fork)
    if transaction.gas > cap:
        raise PoolRejection(PoolReason.GAS_ABOVE_TRANSACTION_CAP, gas=transaction.gas, cap=cap)
    # Also where blocks have no limit, rows have one.
    if transaction.gas > min(rules.execution.in_block(rules.block_gas_limit), MAX_GAS_LIMIT):
        raise PoolRejection(PoolReason.GAS_ABOVE_BLOCK_LIMIT)


def _check_gas_needed(transaction: Transaction | DecodedTransaction, rules: AdmissionRules) -> None:
    fork = rules.fork
    minimum = intrinsic_gas(transaction, fork) + _gas_of_messages(transaction, rules.stateful.warp)
    if transaction.gas < minimum:
        raise PoolRejection(PoolReason.INTRINSIC_GAS_TOO_LOW, gas=transaction.gas, minimum=minimum)
    minimum = floor_gas(transaction.data, fork)
    if transaction.gas < minimum:
        raise PoolRejection(PoolReason.FLOOR_GAS_TOO_LOW, gas=transaction.gas, minimum=minimum)


def _gas_of_messages(transaction: Transaction | DecodedTransaction, warp: WarpRules | None) -> int:
    """Return the gas of the warp messages in the access list beyond the list's; signatures are not verified here."""
    if warp is None or not has_predicates(transaction.access_list):
        return 0
    try:
        return extra_gas(parse_predicates(transaction.access_list), warp.gas)
    except PredicateError as error:
        raise PoolRejection(PoolReason.NO_MESSAGE, problem=error) from error
