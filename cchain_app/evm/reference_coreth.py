"""The executable specification with coreth's differences from Ethereum (coreth.md 7, 8.1).

It is a second copy of the modules of Cancun, so that nothing changes for other chains. In it
- no gas is refunded, and the coinbase gets the whole price, as nothing is burned;
- the precompiled contracts of Granite exist: P-256, and three addresses that only revert;
- the lowest bit of a storage key's first byte is cleared (`reference_state`), but slots are warm by the whole key.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final

from ethereum_types.bytes import Bytes20
from ethereum_types.numeric import U256, Uint

from cchain_app.evm.coreth import FORBIDDEN, P256_VERIFY, P256_VERIFY_GAS
from cchain_app.evm.reference_package import ForkModules

PACKAGE: Final = "cchain_app_coreth_specification"
"""The name under which the copy is imported."""

_ORIGIN: Final = "ethereum.forks.cancun"

Contract = Callable[[Any], None]


def import_copy() -> str:
    """Import the copy's package, and return its name."""
    if PACKAGE not in sys.modules:
        origin = import_module(_ORIGIN)
        assert origin.__file__ is not None
        spec = spec_from_file_location(
            PACKAGE, origin.__file__, submodule_search_locations=list(origin.__path__)
        )
        assert spec is not None
        assert spec.loader is not None
        package = module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return PACKAGE


def adapt(fork: ForkModules) -> None:
    """Give the copy coreth's rules."""
    _add_contracts(fork)
    for module in (fork.interpreter, fork.fork):
        names = vars(module)
        names["process_message_call"] = _without_refund(names["process_message_call"])
    names = vars(fork.fork)
    names["process_transaction"] = _paying_all(names["process_transaction"], fork)


def _add_contracts(fork: ForkModules) -> None:
    """Add contracts to the fork's table, which `message` makes warm and `interpreter` calls."""
    table = fork.precompiles.PRE_COMPILED_CONTRACTS
    table[Bytes20(P256_VERIFY)] = _p256(fork)
    for address in FORBIDDEN:
        table[Bytes20(address)] = _forbidden(fork)


def _p256(fork: ForkModules) -> Contract:
    osaka = import_module("ethereum.forks.osaka.vm.precompiled_contracts.p256verify")

    def verify(evm: Any) -> None:
        # Osaka's contract takes the same gas, but its error is of Osaka's class.
        fork.gas.charge_gas(evm, Uint(P256_VERIFY_GAS))
        evm.gas_left += Uint(P256_VERIFY_GAS)
        osaka.p256verify(evm)

    return verify


def _forbidden(fork: ForkModules) -> Contract:
    exceptions = import_module(f"{fork.vm.__name__}.exceptions")

    class CalledByDelegate(exceptions.ExceptionalHalt):  # type: ignore[misc, name-defined]  # a module by its name
        """The contract was called by DELEGATECALL or CALLCODE: since Granite all gas is lost."""

    def refuse(evm: Any) -> None:
        message = evm.message
        raise (
            exceptions.Revert
            if message.current_target == message.code_address
            else CalledByDelegate
        )

    return refuse


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
