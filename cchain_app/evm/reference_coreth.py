"""The executable specification with coreth's differences from Ethereum (coreth.md 7, 8.1, 15).

It is a further copy of a fork's modules for each phase, so that nothing changes for other chains. In it
- gas is refunded at the launch only, and the coinbase gets the whole price, as nothing is burned;
- the precompiled contracts of the phase exist: P-256, and three addresses that only revert or move other assets;
- the lowest bit of a storage key's first byte is cleared (`reference_state`), but slots are warm by the whole key;
- an account that holds another asset is not empty.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final

from ethereum.exceptions import InvalidTransaction
from ethereum_types.bytes import Bytes20
from ethereum_types.numeric import U256, Uint

from cchain_app.evm.coreth import (
    ASSET_BALANCE,
    ASSET_BALANCE_GAS,
    ASSET_CALL,
    ASSET_CALL_GAS,
    DELEGATED,
    FORBIDDEN,
    P256_VERIFY,
    P256_VERIFY_GAS,
    AssetContracts,
    CorethFeatures,
    DelegatedCalls,
    asset_slot,
)
from cchain_app.evm.reference_package import ForkModules

_PACKAGE: Final = "cchain_app_coreth_specification"
"""The beginning of the names under which copies are imported."""

_CALL_NEW_ACCOUNT_GAS: Final = 25_000
_BALANCE_INPUT: Final = 20 + 32
_CALL_INPUT: Final = 20 + 32 + 32

Contract = Callable[[Any], None]


def import_copy(fork: str, features: CorethFeatures) -> str:
    """Import the copy of a fork's package for a phase, and return its name."""
    name = "_".join(
        (
            _PACKAGE,
            fork,
            *(str(int(value)) if isinstance(value, bool) else value for value in features),
        )
    )
    if name not in sys.modules:
        origin = import_module(f"ethereum.forks.{fork}")
        assert origin.__file__ is not None
        spec = spec_from_file_location(
            name, origin.__file__, submodule_search_locations=list(origin.__path__)
        )
        assert spec is not None
        assert spec.loader is not None
        package = module_from_spec(spec)
        sys.modules[name] = package
        spec.loader.exec_module(package)
    return name


def adapt(fork: ForkModules, features: CorethFeatures) -> None:
    """Give the copy coreth's rules."""
    _add_contracts(fork, features)
    if not features.refunds:
        for module in (fork.interpreter, fork.fork):
            names = vars(module)
            names["process_message_call"] = _without_refund(names["process_message_call"])
    if fork.has_base_fee:
        names = vars(fork.fork)
        names["process_transaction"] = _paying_all(names["process_transaction"], fork)
    names = vars(_state_of(fork))
    names["destroy_account"] = _unless_it_holds_assets(names["destroy_account"])


def _state_of(fork: ForkModules) -> Any:
    return import_module(f"{fork.vm.__name__.removesuffix('.vm')}.state")


def _add_contracts(fork: ForkModules, features: CorethFeatures) -> None:
    """Add contracts to the fork's table, which `message` makes warm and `interpreter` calls."""
    table = fork.precompiles.PRE_COMPILED_CONTRACTS
    if features.p256:
        table[Bytes20(P256_VERIFY)] = _p256(fork)
    if features.asset_contracts is AssetContracts.NONE:
        return
    for address in FORBIDDEN:
        table[Bytes20(address)] = _forbidden(fork, features.delegated_calls)
    if features.asset_contracts is AssetContracts.WORKING:
        table[Bytes20(ASSET_BALANCE)] = _asset_balance(fork)
        table[Bytes20(ASSET_CALL)] = _asset_call(fork)


def _p256(fork: ForkModules) -> Contract:
    osaka = import_module("ethereum.forks.osaka.vm.precompiled_contracts.p256verify")

    def verify(evm: Any) -> None:
        # Osaka's contract takes the same gas, but its error is of Osaka's class.
        fork.gas.charge_gas(evm, Uint(P256_VERIFY_GAS))
        evm.gas_left += Uint(P256_VERIFY_GAS)
        osaka.p256verify(evm)

    return verify


def _exceptions(fork: ForkModules) -> Any:
    return import_module(f"{fork.vm.__name__}.exceptions")


def _forbidden(fork: ForkModules, delegated_calls: DelegatedCalls) -> Contract:
    exceptions = _exceptions(fork)

    class CalledByDelegate(exceptions.ExceptionalHalt):  # type: ignore[misc, name-defined]  # a module by its name
        """The contract was called by DELEGATECALL or CALLCODE: since Granite all gas is lost."""

    def refuse(evm: Any) -> None:
        message = evm.message
        if message.current_target != message.code_address:
            if delegated_calls is DelegatedCalls.FAIL:
                raise CalledByDelegate
            if delegated_calls is DelegatedCalls.INVALID:
                raise InvalidTransaction(DELEGATED)
        raise exceptions.Revert

    return refuse


def _asset_balance(fork: ForkModules) -> Contract:
    exceptions = _exceptions(fork)

    def balance(evm: Any) -> None:
        fork.gas.charge_gas(evm, Uint(ASSET_BALANCE_GAS))
        data = bytes(evm.message.data)
        if len(data) != _BALANCE_INPUT:
            raise exceptions.Revert
        state = evm.message.block_env.state
        evm.output = state.stored_slot(data[:20], asset_slot(data[20:])).to_be_bytes32()

    return balance


def _asset_call(fork: ForkModules) -> Contract:
    """Move an amount of an asset and call its recipient, as the caller of the contract."""
    exceptions, of_state = _exceptions(fork), _state_of(fork)

    class AssetCallFailed(exceptions.ExceptionalHalt):  # type: ignore[misc, name-defined]  # a module by its name
        """The caller has too little of the asset, or the call failed: all gas is lost."""

    def call(evm: Any) -> None:
        fork.gas.charge_gas(evm, Uint(ASSET_CALL_GAS))
        message, data = evm.message, bytes(evm.message.data)
        if message.is_static or len(data) < _CALL_INPUT:
            raise exceptions.Revert
        to, slot = Bytes20(data[:20]), asset_slot(data[20:52])
        amount, state = int.from_bytes(data[52:84], "big"), message.block_env.state
        if int(state.stored_slot(message.caller, slot)) < amount:
            raise AssetCallFailed
        if not of_state.account_exists(state, to):
            fork.gas.charge_gas(evm, Uint(_CALL_NEW_ACCOUNT_GAS))
            of_state.set_account(state, to, fork.types.EMPTY_ACCOUNT)
        for account, change in ((message.caller, -amount), (to, amount)):
            held = int(state.stored_slot(account, slot)) + change
            state.set_stored_slot(account, slot, U256(held % 2**256))
        _call_recipient(evm, to, data[_CALL_INPUT:])

    def _call_recipient(evm: Any, to: Bytes20, data: bytes) -> None:
        message, gas = evm.message, evm.gas_left
        if int(message.depth) + 1 > int(fork.interpreter.STACK_DEPTH_LIMIT):
            raise AssetCallFailed
        account = of_state.get_account(message.block_env.state, to)
        inner = replace(
            message,
            target=to,
            current_target=to,
            gas=gas,
            value=U256(0),
            data=data,
            code_address=to,
            code=account.code,
            depth=message.depth + Uint(1),
            should_transfer_value=True,
            parent_evm=evm,
        )
        evm.gas_left = Uint(0)
        child = fork.interpreter.process_message(inner)
        evm.output = child.output
        if child.error is None:
            fork.vm.incorporate_child_on_success(evm, child)
            return
        fork.vm.incorporate_child_on_error(evm, child)
        raise exceptions.Revert if isinstance(child.error, exceptions.Revert) else AssetCallFailed

    return call


def _unless_it_holds_assets(destroy: Callable[..., None]) -> Callable[..., None]:
    """Keep an empty account with other assets; those that destruct themselves have code, and are destroyed.

    Unspecified: the reference also keeps an empty account that once held another asset.
    """

    def destroy_account(state: Any, address: Any) -> None:
        account = state.account(address)
        is_empty = account is not None and not (account.nonce or account.balance or account.code)
        if is_empty and state.has_storage(address):
            return
        destroy(state, address)

    return destroy_account


def _without_refund(process: Callable[[Any], Any]) -> Callable[[Any], Any]:
    # No `functools.wraps`: `reference_hooks` recognizes its own functions by the attribute that it sets.
    def process_message_call(message: Any) -> Any:
        output = process(message)
        output.refund_counter = U256(0)
        return output

    return process_message_call


def _paying_all(process: Callable[..., None], fork: ForkModules) -> Callable[..., None]:
    """Pay the base fee to the coinbase too, which the specification burns."""

    def process_transaction(block_env: Any, block_output: Any, tx: Any, index: Any) -> None:
        before = block_output.block_gas_used
        process(block_env, block_output, tx, index)
        burned = (block_output.block_gas_used - before) * block_env.base_fee_per_gas
        balance = fork.fork.get_account(block_env.state, block_env.coinbase).balance
        fork.fork.set_account_balance(
            block_env.state, block_env.coinbase, balance + U256(int(burned))
        )

    return process_transaction
