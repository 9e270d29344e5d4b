"""Stateful precompiles in the reference engine: calls of them, denied creations, gas of predicates.

The specification knows none of that. Its functions are wrapped once for each fork, and work as before in threads whose
block has no stateful precompiles. `reference_precompiles` executes the calls.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock, local
from typing import Any, Final

from ethereum_types.bytes import Bytes0, Bytes20, Bytes32
from ethereum_types.numeric import U256, Uint
from typing_extensions import override

from cchain_app.evm import failures
from cchain_app.evm.coreth import CORETH, DELEGATED, DelegatedCalls
from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.reference_env import fork_of, install_precompiles
from cchain_app.evm.reference_package import ForkModules
from cchain_app.evm.reference_precompiles import CONTRACTS, PrecompileCall, PrecompileFailure
from cchain_app.precompiles import addresses
from cchain_app.precompiles.active import NO_STATEFUL, TransactionPredicates
from cchain_app.precompiles.addresses import is_enabled, role_slot
from primitives.evm import Address

_current: Final = local()
_install_lock: Final = Lock()
_DENIED: Final = Bytes20(b"\x02" + b"\xff" * 19)
"""Replaces the code of a creation that the deployer allow list forbids, while the creation runs."""


@contextmanager
def stateful_of(env: BlockEnv) -> Iterator[None]:
    """Activate a block's stateful precompiles for everything that this thread executes in the body.

    Raises:
        UnknownForkError: The specification has no such fork.
    """
    if env.stateful == NO_STATEFUL:
        yield
        return
    fork = fork_of(env)
    _install(fork)
    before = getattr(_current, "env", None)
    _current.env = env
    _current.contracts = {
        Bytes20(address): _runner(fork, CONTRACTS[address]) for address in env.stateful.addresses()
    }
    _current.contracts[_DENIED] = _runner(fork, _deny)
    try:
        yield
    finally:
        _current.env, _current.contracts = before, {}


@contextmanager
def predicates_of(transaction: bytes) -> Iterator[None]:
    """Let calls in the body read the warp messages of this transaction, by its hash; no bytes: of the call."""
    env: BlockEnv | None = getattr(_current, "env", None)
    warp = None if env is None else env.stateful.warp
    known = () if warp is None else warp.predicates
    _current.predicates = next(
        (predicates for predicates in known if predicates.transaction == transaction), None
    )
    try:
        yield
    finally:
        _current.predicates = None


def predicates_refusal() -> str | None:
    """Return why the predicates of the current transaction make it invalid, or None."""
    predicates = _predicates()
    return None if predicates is None else predicates.refusal


def sender_refusal(env: BlockEnv, state: Any, sender: Address) -> str | None:
    """Return why an account may send no transactions, or None if it may."""
    if not env.stateful.transaction_allow_list:
        return None
    role = int(state.slot(addresses.TRANSACTION_ALLOW_LIST, role_slot(sender)))
    return None if is_enabled(role) else failures.sender_not_allowed(sender)


def _predicates() -> TransactionPredicates | None:
    predicates: TransactionPredicates | None = getattr(_current, "predicates", None)
    return predicates


def _install(fork: ForkModules) -> None:
    with _install_lock:
        install_precompiles(fork, lambda: getattr(_current, "contracts", {}))
        _wrap(fork.interpreter, "process_create_message", _creation)
        _wrap(fork.transactions, "calculate_intrinsic_cost", _intrinsic)


def _wrap(module: Any, name: str, wrap: Callable[[Any], Any]) -> None:
    function = vars(module)[name]
    if not hasattr(function, "has_stateful"):
        wrapped = wrap(function)
        # `reference_hooks` recognizes the functions that it has wrapped by their attributes.
        vars(wrapped).update(vars(function), has_stateful=True)
        vars(module)[name] = wrapped


def _creation(process: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def process_create_message(message: Any) -> Any:
        if not _is_denied(message):
            return process(message)
        message.code_address = _DENIED
        try:
            return process(message)
        finally:
            message.code_address = None

    return process_create_message


def _is_denied(message: Any) -> bool:
    env: BlockEnv | None = getattr(_current, "env", None)
    if env is None or not env.stateful.deployer_allow_list:
        return False
    state, origin = message.block_env.state, message.tx_env.origin
    return not is_enabled(int(state.slot(addresses.DEPLOYER_ALLOW_LIST, role_slot(origin))))


def _deny(call: PrecompileCall) -> bytes:
    raise PrecompileFailure(failures.not_a_deployer(call.origin))


def _intrinsic(calculate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def calculate_intrinsic_cost(tx: Any) -> Any:
        cost, predicates = calculate(tx), _predicates()
        if predicates is None:
            return cost
        if isinstance(cost, tuple):
            return (Uint(int(cost[0]) + predicates.gas), *cost[1:])
        return Uint(int(cost) + predicates.gas)

    return calculate_intrinsic_cost


@cache
def _modules(package: str) -> tuple[Any, Any, Any]:
    """Return the functions on the state, the class of logs, and an exception that ends a frame."""
    exceptions = import_module(f"{package}.vm.exceptions")
    halt = type("StatefulPrecompileError", (exceptions.ExceptionalHalt,), {})
    return import_module(f"{package}.state"), import_module(f"{package}.blocks").Log, halt


def _runner(fork: ForkModules, run: Callable[[PrecompileCall], bytes]) -> Callable[[Any], None]:
    package = _package_of(fork)
    _, _, halt = _modules(package)

    def execute(evm: Any) -> None:
        message = evm.message
        created = message.target == Bytes0()
        env: BlockEnv = _current.env
        delegated_calls = env.coreth.delegated_calls if env.variant == CORETH else None
        if (
            not created
            and message.current_target != message.code_address
            and delegated_calls is not DelegatedCalls.RUN
        ):
            if delegated_calls is DelegatedCalls.INVALID:
                # Loaded with the fork: the package raises Python's recursion limit (`reference_package`).
                from ethereum.exceptions import InvalidTransaction

                raise InvalidTransaction(DELEGATED)
            # DELEGATECALL and CALLCODE: reverted, without the gas.
            evm.gas_left = Uint(0)
            raise import_module(f"{package}.vm.exceptions").Revert
        try:
            evm.output = run(_SpecificationCall(evm, fork, env, _predicates()))
        except PrecompileFailure as error:
            raise halt(str(error)) from error

    return execute


def _package_of(fork: ForkModules) -> str:
    return fork.fork.__name__.rpartition(".")[0]


class _SpecificationCall(PrecompileCall):
    """A call of a precompile as a frame of the specification."""

    def __init__(
        self,
        evm: Any,
        fork: ForkModules,
        env: BlockEnv,
        predicates: TransactionPredicates | None,
    ) -> None:
        message = evm.message
        created = message.target == Bytes0()
        super().__init__(
            address=Address(bytes(message.current_target if created else message.code_address)),
            caller=Address(bytes(message.caller)),
            origin=Address(bytes(message.tx_env.origin)),
            input=bytes(message.data),
            static=message.is_static,
            number=env.number,
            warp=env.stateful.warp,
            predicates=() if predicates is None else predicates.items,
        )
        self._evm = evm
        self._fork = fork
        self._state = message.block_env.state
        self._functions, self._log, _ = _modules(_package_of(fork))

    @override
    def charge(self, gas: int) -> None:
        """Charge gas; the specification's exception ends the frame if there is too little."""
        self._fork.gas.charge_gas(self._evm, Uint(gas))

    @override
    def read(self, slot: bytes) -> int:
        """Return the number in a slot of the precompile."""
        return int(self._state.slot(self.address, slot))

    @override
    def write(self, slot: bytes, value: int) -> None:
        """Write a slot of the precompile."""
        target = Bytes20(self.address)
        self._functions.set_storage(self._state, target, Bytes32(slot), U256(value))

    @override
    def credit(self, account: Address, wei: int) -> None:
        """Add to an account's balance, which wraps at 2^256."""
        functions, address = self._functions, Bytes20(account)
        balance = int(functions.get_account(self._state, address).balance)
        functions.set_account_balance(self._state, address, U256((balance + wei) % 2**256))

    @override
    def log(self, topics: tuple[bytes, ...], data: bytes) -> None:
        """Emit a log of the precompile."""
        topics = tuple(map(Bytes32, topics))
        self._evm.logs = (*self._evm.logs, self._log(Bytes20(self.address), topics, data))
