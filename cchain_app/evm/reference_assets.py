"""Other assets in the reference engine: coreth's contracts that move them, and accounts that hold them (coreth.md 7.1, 8.1).

An account that ever held another asset is not empty, and the specification knows emptiness by equality with its empty
account. Here such an account is of a class of its own, so that it equals no other (`reference_state.kept`).
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from ethereum_types.bytes import Bytes0, Bytes20
from ethereum_types.numeric import U256, Uint

from cchain_app.evm import failures
from cchain_app.evm.coreth import (
    ASSET_BALANCE,
    ASSET_BALANCE_GAS,
    ASSET_CALL,
    ASSET_CALL_GAS,
    MULTI_COIN_SLOT,
    asset_slot,
)
from cchain_app.evm.opcodes import OPCODES
from cchain_app.evm.reference_package import ForkModules
from cchain_app.evm.reference_state import LazyState, is_kept, kept, plain
from primitives.evm import Slot

_CALL: Final = bytes((OPCODES["CALL"],))
_CALL_NEW_ACCOUNT_GAS: Final = 25_000
_BALANCE_INPUT: Final = 20 + 32
_CALL_INPUT: Final = 20 + 32 + 32

Contract = Callable[[Any], None]


def keep_holders(fork: ForkModules) -> None:
    """Let accounts that ever held another asset not be empty, and let a new contract at such an address delete them."""
    of_state = vars(_state_of(fork))
    of_state["destroy_account"] = _unless_kept(of_state["destroy_account"])
    if "destroy_account" in vars(fork.fork):
        vars(fork.fork)["destroy_account"] = of_state["destroy_account"]
    interpreter = vars(fork.interpreter)
    interpreter["destroy_storage"] = _with_the_mark(interpreter["destroy_storage"])
    system = import_module(f"{fork.vm.__name__}.instructions.system")
    for module in (fork.interpreter, system):
        vars(module)["account_has_storage"] = _never


def add_asset_contracts(fork: ForkModules, table: dict[Any, Contract]) -> None:
    """Add the two contracts to the fork's precompiled ones."""
    table[Bytes20(ASSET_BALANCE)] = _asset_balance(fork)
    table[Bytes20(ASSET_CALL)] = _asset_call(fork)
    interpreter = vars(fork.interpreter)
    interpreter["process_message"] = _leaving_absent(interpreter["process_message"], fork)


def _state_of(fork: ForkModules) -> Any:
    return import_module(f"{fork.vm.__name__.removesuffix('.vm')}.state")


def _never(state: Any, address: Any) -> bool:
    """Return False: balances of other assets do not keep a contract from being created, and there is no other storage."""
    del state, address
    return False


def _unless_kept(destroy: Callable[..., None]) -> Callable[..., None]:
    """Keep an empty account that held other assets; those that destruct themselves have code or a nonce."""

    def destroy_account(state: LazyState, address: Any) -> None:
        account = state.account(address)
        if account is None or not is_kept(account) or account.nonce or account.code:
            destroy(state, address)

    return destroy_account


def _with_the_mark(destroy: Callable[..., None]) -> Callable[..., None]:
    """Also forget that the account ever held another asset."""

    def destroy_storage(state: LazyState, address: Any) -> None:
        destroy(state, address)
        account = state.account(address)
        if account is not None and is_kept(account):
            state.set_account(address, plain(account))

    return destroy_storage


def _leaving_absent(process: Callable[[Any], Any], fork: ForkModules) -> Callable[[Any], Any]:
    """Let a CALL without value not bring its target into being, which a later asset call could see."""

    def process_message(message: Any) -> Any:
        state, target = message.block_env.state, message.current_target
        leaves = _is_plain_call(message, fork) and state.account(target) is None
        evm = process(message)
        if leaves and state.account(target) == fork.types.EMPTY_ACCOUNT:
            state.set_account(target, None)
        return evm

    # No `functools.wraps`: `reference_hooks` recognizes its own functions by the attribute that it sets.
    return process_message


def _is_plain_call(message: Any, fork: ForkModules) -> bool:
    around = message.parent_evm
    return (
        message.target != Bytes0()
        and message.should_transfer_value
        and message.value == 0
        and message.code_address not in fork.interpreter.PRE_COMPILED_CONTRACTS
        and (around is None or around.code[int(around.pc) :][:1] == _CALL)
    )


def _held(state: LazyState, account: bytes, slot: Slot) -> int:
    return 0 if slot == MULTI_COIN_SLOT else int(state.stored_slot(account, slot))


def _asset_balance(fork: ForkModules) -> Contract:
    exceptions = import_module(f"{fork.vm.__name__}.exceptions")

    def balance(evm: Any) -> None:
        fork.gas.charge_gas(evm, Uint(ASSET_BALANCE_GAS))
        data = bytes(evm.message.data)
        if len(data) != _BALANCE_INPUT:
            raise exceptions.Revert
        held = _held(evm.message.block_env.state, data[:20], asset_slot(data[20:]))
        evm.output = held.to_bytes(32, "big")

    return balance


def _asset_call(fork: ForkModules) -> Contract:
    """Move an amount of an asset and call its recipient, as the caller of the contract."""
    exceptions, of_state = import_module(f"{fork.vm.__name__}.exceptions"), _state_of(fork)
    failure = type("StatefulPrecompileError", (exceptions.ExceptionalHalt,), {})

    def call(evm: Any) -> None:
        fork.gas.charge_gas(evm, Uint(ASSET_CALL_GAS))
        message, data = evm.message, bytes(evm.message.data)
        if message.is_static or len(data) < _CALL_INPUT:
            raise exceptions.Revert
        to, slot = Bytes20(data[:20]), asset_slot(data[20:52])
        amount, state = int.from_bytes(data[52:84], "big"), message.block_env.state
        if _held(state, message.caller, slot) < amount:
            raise failure(failures.NO_FUNDS)
        if not of_state.account_exists(state, to):
            fork.gas.charge_gas(evm, Uint(_CALL_NEW_ACCOUNT_GAS))
            of_state.set_account(state, to, fork.types.EMPTY_ACCOUNT)
        if amount:
            _move(state, message.caller, slot, -amount)
            _move(state, to, slot, amount)
        _call_recipient(evm, to, data[_CALL_INPUT:])

    def _move(state: LazyState, account: Bytes20, slot: Slot, change: int) -> None:
        held = int(state.stored_slot(account, slot)) + change
        state.set_stored_slot(account, slot, U256(held % 2**256))
        state.set_stored_slot(account, MULTI_COIN_SLOT, U256(1))
        state.set_account(account, kept(state.account(account)))

    def _call_recipient(evm: Any, to: Bytes20, data: bytes) -> None:
        message, gas = evm.message, evm.gas_left
        if int(message.depth) + 1 > int(fork.interpreter.STACK_DEPTH_LIMIT):
            raise failure(failures.CALL_DEPTH)
        is_delegated = message.current_target != message.code_address
        inner = replace(
            message,
            caller=message.current_target if is_delegated else message.caller,
            target=to,
            current_target=to,
            gas=gas,
            value=U256(0),
            data=data,
            code_address=to,
            code=of_state.get_account(message.block_env.state, to).code,
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
        if isinstance(child.error, exceptions.Revert):
            raise exceptions.Revert
        if type(child.error).__name__ == "InvalidOpcode":
            raise failure(failures.invalid_opcode(child.error.code))
        raise child.error

    return call
