"""Read-only calls by the executable specification, as eth_call and eth_estimateGas make them."""

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
    initcode_limit,
    intrinsic_cost,
    unsigned_transaction,
)
from cchain_app.evm.reference_package import Fork
from cchain_app.evm.reference_refusal import failure_words, too_little_gas
from cchain_app.evm.reference_state import LazyState, Source
from cchain_app.evm.reference_trace import Watcher, watched
from primitives.evm import Address
from primitives.hexadecimal import checksum_address


class _GasTooLowError(Exception):
    """The gas does not even pay for what a call costs before it begins."""


def run_call(
    env: BlockEnv,
    message: CallMessage,
    reader: StateReader,
    watcher: Watcher,
    *,
    with_access_list: bool,
) -> CallResult:
    """Run a call under a watcher; what it changes is thrown away.

    Raises:
        CallRejected: It could not begin.
        CallInterrupted: A limit of the watcher was reached.
    """
    source = Source(reader, fork_of(env))
    try:
        return _run(env, message, reader, source, watcher, with_access_list=with_access_list)
    except _GasTooLowError as error:
        raise CallRejected(str(error)) from error


def run_estimate(
    env: BlockEnv, message: CallMessage, reader: StateReader, watcher: Watcher, error_ratio: float
) -> GasEstimate:
    """Find the least gas with which a call works, under one watcher for all runs.

    Raises:
        CallRejected: It could not begin with all its gas, and not for too little of it.
        CallInterrupted: A limit of the watcher was reached.
    """
    source = Source(reader, fork_of(env))

    def attempt(gas: int) -> CallResult | None:
        watcher.begin()
        tried = message._replace(gas=gas)
        try:
            return _run(env, tried, reader, source, watcher, with_access_list=False)
        except _GasTooLowError:
            return None

    if estimation.is_plain(message, source.state) and _transfers(attempt):
        return GasEstimate(estimation.TRANSFER_GAS)
    return estimation.least_gas(attempt, message.gas, error_ratio)


def _transfers(attempt: estimation.Attempt) -> bool:
    """Return whether the call is a mere transfer: an access list makes even that dearer.

    What speaks against the call is told of the run with all gas.
    """
    try:
        result = attempt(estimation.TRANSFER_GAS)
    except CallRejected:
        return False
    return result is not None and result.error is None


def _run(
    env: BlockEnv,
    message: CallMessage,
    reader: StateReader,
    source: Source,
    watcher: Watcher,
    *,
    with_access_list: bool,
) -> CallResult:
    fork = source.fork
    state = LazyState(source)
    base_fee = env.base_fee if message.gas_price else 0
    block_env = block_environment(env, fork, state, reader, base_fee)
    try:
        tx = unsigned_transaction(message, fork)
    except MalformedTransactionError as error:
        raise CallRejected(str(error)) from error
    sender = state.account(message.sender) or fork.types.EMPTY_ACCOUNT
    _check(message, tx, fork, sender, base_fee=base_fee or 0)
    if with_access_list:
        watcher.gather(_excluded(message, tx, fork, sender))
    blob_base_fee = 0 if message.blob_hashes else env.blob_base_fee
    with watched(watcher), changed(env, fork, blob_base_fee):
        output = _execute(message, tx, fork, block_env, sender)
    return _result(message, tx, fork, output, watcher, with_access_list=with_access_list)


def _check(message: CallMessage, tx: Any, fork: Fork, sender: Any, *, base_fee: int) -> None:
    """Refuse a call that cannot begin, in geth's order."""
    price, tip, cost = message.gas_price, message.max_priority_fee, _cost(message)
    words = None
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
        raise _GasTooLowError(words)
    limit = initcode_limit(fork)
    if words is None and message.to is None and limit is not None and len(message.data) > limit:
        words = failures.initcode_size(len(message.data), limit)
    if words is not None:
        raise CallRejected(words)


def _cost(message: CallMessage) -> int:
    return message.gas * message.gas_price + message.value


def _excluded(message: CallMessage, tx: Any, fork: Fork, sender: Any) -> frozenset[bytes]:
    """Return the addresses of which a bare mention costs no more than a listed one."""
    recipient = message.to
    if recipient is None:
        recipient = Address(
            bytes(fork.address.compute_contract_address(Bytes20(message.sender), sender.nonce))
        )
    authorities = [
        authority
        for entry in getattr(tx, "authorizations", ())
        if (authority := _authority(fork, entry)) is not None
    ]
    precompiles = map(bytes, fork.precompiles.PRE_COMPILED_CONTRACTS)
    return frozenset([message.sender, recipient, *precompiles, *authorities])


def _authority(fork: Fork, entry: Any) -> bytes | None:
    from importlib import import_module

    from ethereum.exceptions import InvalidSignatureError

    delegation = import_module(f"{fork.vm.__name__}.eoa_delegation")
    try:
        return bytes(delegation.recover_authority(entry))
    except InvalidSignatureError:
        return None


def _execute(message: CallMessage, tx: Any, fork: Fork, block_env: Any, sender: Any) -> Any:
    intrinsic, _ = intrinsic_cost(tx, fork)
    state = block_env.state
    address = Bytes20(message.sender)
    paid = U256(message.gas * message.gas_price)
    state.set_account(
        address,
        fork.types.Account(
            nonce=sender.nonce + Uint(1), balance=sender.balance - paid, code=sender.code
        ),
    )
    accounts = {Bytes20(account) for account, _ in message.access_list}
    if initcode_limit(fork) is not None:
        accounts.add(block_env.coinbase)
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
            "authorizations": getattr(tx, "authorizations", ()),
            "index_in_block": Uint(0),
            "tx_hash": None,
        },
    )
    return fork.interpreter.process_message_call(
        fork.message.prepare_message(block_env, tx_env, tx)
    )


def _transient_storage(fork: Fork) -> Any:
    make = getattr(fork.vm, "TransientStorage", None)
    return None if make is None else make()


def _result(
    message: CallMessage,
    tx: Any,
    fork: Fork,
    output: Any,
    watcher: Watcher,
    *,
    with_access_list: bool,
) -> CallResult:
    floor = intrinsic_cost(tx, fork)[1]
    used = message.gas - int(output.gas_left)
    share = 5 if fork.has_base_fee else 2
    refund = min(used // share, int(output.refund_counter))
    error = None if watcher.succeeded else failure_words(message, watcher)
    keeps_output = error in {None, failures.REVERTED}
    return CallResult(
        output=watcher.output if keeps_output else b"",
        gas_used=max(used - refund, floor),
        gas_peak=max(used, floor),
        error=error,
        logs=tuple(map(log_value, output.logs)),
        access_list=watcher.access_list() if with_access_list else None,
    )
