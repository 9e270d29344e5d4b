"""Conversion of a simulation's call to a transaction without a signature, and a message for the engine.

Omitted fields are chosen, and calls that could not be executed are rejected, in geth's order
(tracing.md 14).
"""

from typing import Final, NamedTuple

from cchain_app.blocks.assembly import blob_base_fee
from cchain_app.evm import failures
from cchain_app.evm.engine import AccountState, BlockEnv, CallMessage
from cchain_app.simulation.plan import SimulationReason, SimulationRefused, not_applied
from cchain_app.txs.request import CallRequest, unsigned
from cchain_app.txs.signing import encode_authorization
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH
from primitives.hexadecimal import checksum_address

NOBODY: Final = AccountState(0, 0, EMPTY_HASH)
MAXIMUM_NONCE: Final = 2**64 - 1


class GasLeft(NamedTuple):
    """The gas that a call may use."""

    block: int
    """Gas left in the block's gas limit."""
    request: int
    """Gas left for all calls of the request together."""


class PreparedCall(NamedTuple):
    """A call that is ready for execution."""

    request: CallRequest
    transaction: Transaction
    message: CallMessage
    capped: bool
    """Whether it gets less gas than it requests, because of the limit for all calls together."""
    blob_fee: int
    """Price of its blobs in wei, which the engine does not charge."""


def prepare(
    request: CallRequest,
    account: AccountState | None,
    env: BlockEnv,
    left: GasLeft,
    *,
    validate: bool,
) -> PreparedCall:
    """Return a call with all omitted fields chosen.

    Unspecified: as for a transaction, the sender must be able to pay the fee cap. If the call names a fee cap, this
    holds without validation too.

    Args:
        request: The call.
        account: Its sender.
        env: The environment of its block.
        left: The gas that it may use.
        validate: Whether nonce and price are checked against the state and the block.

    Raises:
        SimulationRefused: It requests more gas than the block has left, or nonce, price or funds are not right.
    """
    account = account or NOBODY
    wanted = left.block if request.gas is None else request.gas
    if wanted > left.block:
        raise SimulationRefused(
            SimulationReason.BLOCK_GAS_LIMIT, remaining=left.block, required=wanted
        )
    gas = min(wanted, left.request)
    nonce = account.nonce if request.nonce is None else request.nonce
    transaction = unsigned(request, chain_id=env.chain_id, nonce=nonce, gas=gas)
    blob_price = _blob_price(env)
    words = _refusal(transaction, account, env, blob_price, validate=validate)
    if words is not None:
        raise not_applied(words, gas)
    message = _message(transaction, request, env, validate=validate)
    blob_fee = transaction.blob_gas * blob_price
    return PreparedCall(request, transaction, message, gas < wanted, blob_fee)


def _blob_price(env: BlockEnv) -> int:
    """Return the price of one unit of blob gas in a block, in wei; 0 before Cancun."""
    if env.blob_base_fee is not None:
        return env.blob_base_fee
    if env.excess_blob_gas is None or env.blob_base_fee_update_fraction is None:
        return 0
    return blob_base_fee(env.excess_blob_gas, env.blob_base_fee_update_fraction)


def _message(
    transaction: Transaction, request: CallRequest, env: BlockEnv, *, validate: bool
) -> CallMessage:
    return CallMessage(
        sender=transaction.sender,
        to=transaction.to,
        gas=transaction.gas,
        gas_price=transaction.effective_gas_price(env.base_fee or 0),
        value=transaction.value,
        data=transaction.data,
        access_list=transaction.access_list,
        authorizations=tuple(map(encode_authorization, transaction.authorizations)),
        max_priority_fee=request.max_priority_fee_per_gas,
        blob_hashes=transaction.blob_hashes,
        nonce=transaction.nonce if validate else None,
    )


def _refusal(
    transaction: Transaction,
    account: AccountState,
    env: BlockEnv,
    blob_price: int,
    *,
    validate: bool,
) -> str | None:
    """Return geth's message if a call cannot be executed, else None."""
    if validate and (words := _wrong_nonce(transaction, account)) is not None:
        return words
    sender, cap = transaction.sender, transaction.max_fee_per_gas
    tip = transaction.max_priority_fee_per_gas
    if env.base_fee is not None and (validate or cap or tip):
        if tip > cap:
            return failures.tip_above_fee(sender, tip, cap)
        if cap < env.base_fee:
            return failures.fee_below_base_fee(sender, cap, env.base_fee)
    blob_cap = transaction.max_fee_per_blob_gas
    if transaction.blob_hashes and blob_cap < blob_price and (validate or blob_cap):
        return failures.blob_fee_below_price(sender, blob_cap, blob_price)
    return _unpaid(sender, account.balance, transaction.cost)


def _wrong_nonce(transaction: Transaction, account: AccountState) -> str | None:
    if transaction.nonce != account.nonce:
        return failures.nonce_mismatch(transaction.sender, transaction.nonce, account.nonce)
    if account.nonce < MAXIMUM_NONCE:
        return None
    address = checksum_address(transaction.sender)
    return f"nonce has max value: address {address}, nonce: {account.nonce}"


def _unpaid(sender: Address, have: int, want: int) -> str | None:
    if want >> 256:
        return (
            "insufficient funds for gas * price + value: "
            f"address {checksum_address(sender)} required balance exceeds 256 bits"
        )
    return failures.insufficient_funds(sender, have, want) if have < want else None
