"""Reasons why a transaction cannot be in a block, with geth's messages, for the reference engine.

These checks run before those of the specification, whose reasons have no numbers and which does not
check the chain ID of typed transactions.
"""

from typing import Any

from cchain_app.evm import failures
from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.reference_env import initcode_limit, intrinsic_cost
from cchain_app.evm.reference_package import ForkModules
from cchain_app.txs.transaction import DELEGATION_PREFIX, SET_CODE, Transaction
from primitives.hexadecimal import checksum_address

_MAX_NONCE = 2**64 - 1


class RefusalError(Exception):
    """A transaction cannot be in this block; `retry` says whether a later one may include it."""

    def __init__(self, reason: str, *, retry: bool = False) -> None:
        super().__init__(reason)
        self.retry = retry


def refusal(
    transaction: Transaction,
    tx: Any,
    account: Any,
    *,
    env: BlockEnv,
    fork: ForkModules,
    gas_used: int,
    accepted: bool = False,
) -> RefusalError | None:
    """Return why a transaction cannot be in the block, or None if it can.

    Args:
        transaction: The transaction.
        tx: The same transaction in the specification's type.
        account: The sender in the specification's type, None if it does not exist.
        env: The block's environment.
        fork: Its rule set.
        gas_used: Gas used by the transactions before it in the block.
        accepted: Whether the block is accepted already, so that a sender may have code (EIP-3607). An
            impersonated sender may always have code.
    """
    if transaction.gas > env.gas_limit - gas_used:
        return RefusalError("gas limit reached", retry=transaction.gas <= env.gas_limit)
    reason = _against_form(env, transaction) or _against_fee(env, transaction)
    if reason is not None:
        return reason
    words = _against_gas(fork, transaction, tx)
    if words is not None:
        return RefusalError(words)
    if not (accepted or transaction.is_impersonated) and _is_contract(account):
        return RefusalError(failures.sender_not_eoa(transaction.sender))
    return _against_sender(transaction, account)


def _against_form(env: BlockEnv, transaction: Transaction) -> RefusalError | None:
    if transaction.chain_id not in {None, env.chain_id}:
        return RefusalError(
            f"invalid chain id for signer: have {transaction.chain_id} want {env.chain_id}"
        )
    if transaction.type == SET_CODE and not transaction.authorizations:
        return RefusalError(
            f"EIP-7702 transaction with empty auth list (sender "
            f"{checksum_address(transaction.sender)})"
        )
    return None


def _against_fee(env: BlockEnv, transaction: Transaction) -> RefusalError | None:
    sender, fee, tip = (
        transaction.sender,
        transaction.max_fee_per_gas,
        transaction.max_priority_fee_per_gas,
    )
    if tip > fee:
        return RefusalError(failures.tip_above_fee(sender, tip, fee))
    if env.base_fee is not None and fee < env.base_fee:
        return RefusalError(failures.fee_below_base_fee(sender, fee, env.base_fee), retry=True)
    return None


def _against_gas(fork: ForkModules, transaction: Transaction, tx: Any) -> str | None:
    cap = getattr(fork.transactions, "TX_MAX_GAS_LIMIT", None)
    if cap is not None and transaction.gas > int(cap):
        return failures.gas_cap(transaction.gas, int(cap))
    limit = initcode_limit(fork)
    if transaction.to is None and limit is not None and len(transaction.data) > limit:
        return failures.initcode_size(len(transaction.data), limit)
    return too_little_gas(transaction.gas, tx, fork)


def too_little_gas(gas: int, tx: Any, fork: ForkModules) -> str | None:
    """Return the message for gas below the minimum cost of the transaction, or None if it is enough."""
    intrinsic, floor = intrinsic_cost(tx, fork)
    if gas < intrinsic:
        return failures.intrinsic_gas(gas, intrinsic)
    if gas < floor:
        return failures.floor_gas(gas, floor)
    return None


def _is_contract(account: Any) -> bool:
    code = b"" if account is None else bytes(account.code)
    return bool(code) and not is_delegation(code)


def is_delegation(code: bytes) -> bool:
    """Return whether code is an EIP-7702 delegation."""
    return code.startswith(DELEGATION_PREFIX) and len(code) == len(DELEGATION_PREFIX) + 20


def _against_sender(transaction: Transaction, account: Any) -> RefusalError | None:
    nonce = 0 if account is None else int(account.nonce)
    balance = 0 if account is None else int(account.balance)
    sender = transaction.sender
    if transaction.nonce != nonce:
        return RefusalError(
            failures.nonce_mismatch(sender, transaction.nonce, nonce),
            retry=transaction.nonce > nonce,
        )
    if nonce == _MAX_NONCE:
        return RefusalError(
            f"nonce has max value: address {checksum_address(sender)}, nonce: {nonce}"
        )
    if transaction.cost >> 256:
        return RefusalError(
            f"insufficient funds for gas * price + value: address "
            f"{checksum_address(sender)} required balance exceeds 256 bits"
        )
    if balance < transaction.cost:
        return RefusalError(failures.insufficient_funds(sender, balance, transaction.cost))
    return None
