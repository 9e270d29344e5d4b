"""Read-only calls by the executable specification, as eth_call and eth_estimateGas make them."""

from dataclasses import dataclass
from typing import Any

from ethereum_types.bytes import Bytes20, Bytes32
from ethereum_types.numeric import U256, Uint

from cchain_app.evm import estimation, failures
from cchain_app.evm.engine import (
    BlockEnv,
    CallMessage,
    CallRejected,
    CallResult,
    GasEstimate,
    StateReader,
)
from cchain_app.evm.reference_block import log_value
from cchain_app.evm.reference_env import (
    MalformedTransactionError,
    block_environment,
    changed,
    fork_of,
    intrinsic_cost,
    unsigned_transaction,
)
from cchain_app.evm.reference_failures import frame_words, too_little_gas
from cchain_app.evm.reference_limits import init_code_limit
from cchain_app.evm.reference_package import ForkModules
from cchain_app.evm.reference_state import LazyState, StateSource
from cchain_app.evm.reference_stateful import predicates_refusal
from cchain_app.evm.reference_trace import Watcher, watched
from primitives.evm import Address
from primitives.hexadecimal import checksum_address


class GasTooLowError(Exception):
    """The gas does not cover the intrinsic cost of the call."""


def run_call(
    env: BlockEnv,
    message: CallMessage,
    reader: StateReader,
    watcher: Watcher,
    *,
    with_access_list: bool,
) -> CallResult:
    """Run a call under a watcher; its changes are discarded.

    Raises:
        CallRejected: It could not start.
        CallInterrupted: A limit of the watcher was reached.
    """
    source = StateSource(reader, fork_of(env))
    try:
        return _run(env, message, reader, source, watcher, with_access_list=with_access_list)
    except GasTooLowError as error:
        raise CallRejected(str(error)) from error


def run_estimate(
    env: BlockEnv, message: CallMessage, reader: StateReader, watcher: Watcher, error_ratio: float
) -> GasEstimate:
    """Find the least gas with which a call succeeds, under one watcher for all runs.

    Raises:
        CallRejected: It could not start with all its gas, for a reason other than too little gas.
        CallInterrupted: A limit of the watcher was reached.
    """
    source = StateSource(reader, fork_of(env))

    def attempt(gas: int) -> CallResult | None:
        watcher.begin()
        tried = message._replace(gas=gas)
        try:
            return _run(env, tried, reader, source, watcher, with_access_list=False)
        except GasTooLowError:
            return None

    if estimation.is_plain(message, source.state) and _transfers(attempt):
        return GasEstimate(estimation.TRANSFER_GAS)
    return estimation.least_gas(attempt, message.gas, error_ratio)


def _transfers(attempt: estimation.Attempt) -> bool:
    """Return whether the call succeeds with the gas of a transfer; an access list makes that impossible.

    Rejections are ignored here: the run with all gas reports them.
    """
    try:
        result = attempt(estimation.TRANSFER_GAS)
    except CallRejected:
        return False
    return result is not None and result.error is None


@dataclass(frozen=True, slots=True)
class ReferenceCall:
    """A call that may start, in the specification's types."""

    env: BlockEnv
    message: CallMessage
    fork: ForkModules
    state: LazyState
    block_env: Any
    tx: Any
    """The call as if it were a transaction, for its cost and its target."""
    sender: Any


def prepare_call(
    env: BlockEnv,
    message: CallMessage,
    reader: StateReader,
    source: StateSource,
    *,
    validate: bool = False,
    free: bool = False,
) -> ReferenceCall:
    """Prepare a call and check that it may start.

    Args:
        env: The block environment of the call.
        message: The call.
        reader: The state on which it runs.
        source: The same state, in the specification's types.
        validate: Check its price against the base fee even if it is 0, and its nonce if it has one.
        free: Let it read the block's base fee even if its price is 0.

    Raises:
        CallRejected: It cannot start.
        GasTooLowError: It has too little gas.
    """
    fork, state = source.fork, LazyState(source)
    due = (env.base_fee if message.gas_price or validate else 0) or 0
    try:
        tx = unsigned_transaction(message, fork)
    except MalformedTransactionError as error:
        raise CallRejected(str(error)) from error
    sender = state.account(message.sender) or fork.types.EMPTY_ACCOUNT
    if validate and message.nonce not in {None, int(sender.nonce)}:
        raise CallRejected(
            failures.nonce_mismatch(message.sender, message.nonce or 0, int(sender.nonce))
        )
    _check(message, tx, fork, sender, base_fee=due)
    shown = (env.base_fee or 0) if free else due
    block_env = block_environment(env, fork, state, reader, shown)
    return ReferenceCall(env, message, fork, state, block_env, tx, sender)


def _run(
    env: BlockEnv,
    message: CallMessage,
    reader: StateReader,
    source: StateSource,
    watcher: Watcher,
    *,
    with_access_list: bool,
) -> CallResult:
    call = prepare_call(env, message, reader, source)
    if with_access_list:
        watcher.gather(_excluded(call))
    with watched(watcher):
        output = execute_call(call)
    return _result(call, output, watcher, with_access_list=with_access_list)


def _check(message: CallMessage, tx: Any, fork: ForkModules, sender: Any, *, base_fee: int) -> None:
    """Refuse a call that cannot start, with the checks in geth's order."""
    price, tip, cost = message.gas_price, message.max_priority_fee, _cost(message)
    words = predicates_refusal()
    if words is not None:
        raise CallRejected(words)
    if tip is not None and tip > price:
        words = failures.tip_above_fee(message.sender, tip, price)
    elif price < base_fee:
        words = failures.fee_below_base_fee(message.sender, price, base_fee)
    elif message.authorizations and message.to is None:
        address = checksum_address(message.sender)
        words = f"EIP-7702 transaction cannot be used to create contract (sender {address})"
    elif int(sender.balance) < cost:
        words = failures.insufficient_funds(message.sender, int(sender.balance), cost)
    elif (words := too_little_gas(message.gas, tx, fork)) is not None:
        raise GasTooLowError(words)
    limit = init_code_limit(fork)
    if words is None and message.to is None and limit is not None and len(message.data) > limit:
        words = failures.initcode_size(len(message.data), limit)
    if words is not None:
        raise CallRejected(words)


def _cost(message: CallMessage) -> int:
    return message.gas * message.gas_price + message.value


def _excluded(call: ReferenceCall) -> frozenset[bytes]:
    """Return the addresses that are warm in any case, so that listing them without slots saves no gas."""
    message, fork = call.message, call.fork
    recipient = message.to
    if recipient is None:
        recipient = Address(
            bytes(fork.address.compute_contract_address(Bytes20(message.sender), call.sender.nonce))
        )
    authorities = [
        authority
        for entry in getattr(call.tx, "authorizations", ())
        if (authority := authority_of(fork, entry)) is not None
    ]
    precompiles = map(bytes, fork.precompiles.PRE_COMPILED_CONTRACTS)
    return frozenset([message.sender, recipient, *precompiles, *authorities])


def authority_of(fork: ForkModules, entry: Any) -> Address | None:
    """Return the signer of an authorization, or None if its signature is invalid."""
    from importlib import import_module

    from ethereum.exceptions import InvalidSignatureError

    delegation = import_module(f"{fork.vm.__name__}.eoa_delegation")
    try:
        return Address(bytes(delegation.recover_authority(entry)))
    except InvalidSignatureError:
        return None


def execute_call(call: ReferenceCall) -> Any:
    """Run a call and return the specification's output; remaining gas is not refunded."""
    blob_base_fee = 0 if call.message.blob_hashes else call.env.blob_base_fee
    with changed(call.env, call.fork, blob_base_fee):
        return call.fork.interpreter.process_message_call(_message(call))


def _message(call: ReferenceCall) -> Any:
    message, fork, state, sender = call.message, call.fork, call.state, call.sender
    intrinsic, _ = intrinsic_cost(call.tx, fork)
    address = Bytes20(message.sender)
    paid = U256(message.gas * message.gas_price)
    state.set_account(
        address,
        fork.types.Account(
            nonce=sender.nonce + Uint(1), balance=sender.balance - paid, code=sender.code
        ),
    )
    accounts = {Bytes20(account) for account, _ in message.access_list}
    if init_code_limit(fork) is not None:
        accounts.add(call.block_env.coinbase)
    tx_env = fork.build(
        "TransactionEnvironment",
        {
            "origin": address,
            "gas_price": Uint(message.gas_price),
            "gas": Uint(message.gas - intrinsic),
            "access_list_addresses": accounts,
            "access_list_storage_keys": {
                (Bytes20(account), Bytes32(slot))
                for account, slots in message.access_list
                for slot in slots
            },
            "transient_storage": _transient_storage(fork),
            "blob_versioned_hashes": tuple(map(Bytes32, message.blob_hashes)),
            "authorizations": getattr(call.tx, "authorizations", ()),
            "index_in_block": Uint(0),
            "tx_hash": None,
        },
    )
    return fork.message.prepare_message(call.block_env, tx_env, call.tx)


def _transient_storage(fork: ForkModules) -> Any:
    make = getattr(fork.vm, "TransientStorage", None)
    return None if make is None else make()


def gas_of(call: ReferenceCall, output: Any) -> tuple[int, int]:
    """Return the gas that a call used, after and before refunds."""
    floor = intrinsic_cost(call.tx, call.fork)[1]
    used = call.message.gas - int(output.gas_left)
    share = 5 if call.fork.has_base_fee else 2
    refund = min(used // share, int(output.refund_counter))
    return max(used - refund, floor), max(used, floor)


def _result(
    call: ReferenceCall, output: Any, watcher: Watcher, *, with_access_list: bool
) -> CallResult:
    gas_used, gas_peak = gas_of(call, output)
    error = _failure(call.message, watcher)
    keeps_output = error in {None, failures.REVERTED}
    return CallResult(
        output=watcher.output if keeps_output else b"",
        gas_used=gas_used,
        gas_peak=gas_peak,
        error=error,
        logs=tuple(map(log_value, output.logs)),
        access_list=watcher.access_list() if with_access_list else None,
    )


def _failure(message: CallMessage, watcher: Watcher) -> str | None:
    if watcher.succeeded:
        return None
    if watcher.error is None:
        return failures.ADDRESS_COLLISION
    return frame_words(
        watcher.error,
        watcher.last_step,
        creation=message.to is None,
        returned=watcher.returned,
    )
