"""The executable specification with coreth's differences from Ethereum (coreth.md 7, 8.1, 15).

It is a further copy of a fork's modules for each phase, so that nothing changes for other chains. In it
- gas is refunded at the launch only, and the coinbase gets the whole price, as nothing is burned;
- the precompiled contracts of the phase exist: P-256, and three addresses that only revert or move other assets;
- the lowest bit of a storage key's first byte is cleared (`reference_state`), but slots are warm by the whole key;
- an account that ever held another asset is not empty (`reference_assets`);
- at the launch SSTORE reads committed values by the whole key.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final

from ethereum.exceptions import InvalidTransaction
from ethereum_types.bytes import Bytes20
from ethereum_types.numeric import U256, Uint

from cchain_app.evm.coreth import (
    ASSET_BALANCE,
    ASSET_CALL,
    DELEGATED,
    FORBIDDEN,
    P256_VERIFY,
    P256_VERIFY_GAS,
    AssetContracts,
    CorethFeatures,
    DelegatedCalls,
    is_of_asset,
)
from cchain_app.evm.reference_assets import Contract, add_asset_contracts, keep_holders
from cchain_app.evm.reference_package import ForkModules
from cchain_app.evm.reference_state import LazyState
from primitives.evm import Slot

_PACKAGE: Final = "cchain_app_coreth_specification"
"""The beginning of the names under which copies are imported."""


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
    if not features.launch:
        for module in (fork.interpreter, fork.fork):
            names = vars(module)
            names["process_message_call"] = _without_refund(names["process_message_call"])
    if fork.has_base_fee:
        names = vars(fork.fork)
        names["process_transaction"] = _paying_all(names["process_transaction"], fork)
    keep_holders(fork)
    if features.launch:
        storage = vars(import_module(f"{fork.vm.__name__}.instructions.storage"))
        storage["get_storage_original"] = _by_whole_key(storage["get_storage_original"])


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
        add_asset_contracts(fork, table)
        for address in (ASSET_BALANCE, ASSET_CALL):
            key = Bytes20(address)
            table[key] = _called_by_its_own_name(table[key], features.delegated_calls)


def _called_by_its_own_name(contract: Contract, delegated_calls: DelegatedCalls) -> Contract:
    """Refuse transactions that call a contract by DELEGATECALL or CALLCODE, where the phase does."""
    if delegated_calls is DelegatedCalls.RUN:
        return contract

    def run(evm: Any) -> None:
        if evm.message.current_target != evm.message.code_address:
            raise InvalidTransaction(DELEGATED)
        contract(evm)

    return run


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


def _by_whole_key(original: Callable[..., U256]) -> Callable[..., U256]:
    """Read committed values by the key as it is, so that those of some keys are balances of other assets.

    Unspecified: a write over such a balance can bring the refunds below zero, which ended the reference's process.
    """

    def get_storage_original(state: LazyState, address: Any, key: Any) -> U256:
        if is_of_asset(bytes(key)):
            return state.committed_slot(address, Slot(bytes(key)))
        return original(state, address, key)

    return get_storage_original


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
