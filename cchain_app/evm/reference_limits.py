"""Make the specification's limits of gas and code those of the chain whose block or call a thread executes.

The constants of each fork are replaced once, by numbers that are looked up when the specification compares with them.
In other threads, and for chains with Ethereum's limits, they have the specification's values.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock, local
from types import ModuleType
from typing import Any, Final

from ethereum_types.numeric import Uint
from typing_extensions import override

from cchain_app.config import ETHEREUM_LIMITS, ExecutionLimits
from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.reference_env import fork_of
from cchain_app.evm.reference_package import ForkModules
from primitives import uint64

_current: Final = local()
_install_lock: Final = Lock()


@contextmanager
def limits_of(env: BlockEnv) -> Iterator[None]:
    """Apply a chain's limits to everything that this thread executes in the body.

    Raises:
        UnknownForkError: The specification has no such fork.
    """
    if env.limits == ETHEREUM_LIMITS:
        yield
        return
    _install(fork_of(env))
    _current.limits = env.limits
    try:
        yield
    finally:
        _current.limits = None


def current_limits() -> ExecutionLimits:
    """Return the limits of the chain whose block or call this thread executes."""
    limits: ExecutionLimits | None = getattr(_current, "limits", None)
    return limits or ETHEREUM_LIMITS


def init_code_limit(fork: ForkModules) -> int | None:
    """Return the maximum length of init code, or None before Shanghai."""
    has_limit = hasattr(fork.interpreter, "MAX_INIT_CODE_SIZE")
    return current_limits().init_code_size if has_limit else None


class _CodeSize(int):
    """The limit of a contract's code, or of init code, as the right side of `length > limit`."""

    @override
    def __lt__(self, length: int) -> bool:
        have, ethereum = current_limits().code_size, ETHEREUM_LIMITS.code_size
        return int(self) * have < length * ethereum


class _TransactionGas(Uint):
    """The limit of a transaction's gas, as the right side of `gas > limit`."""

    @override
    def __lt__(self, gas: Any) -> bool:
        return current_limits().transaction_gas and int(self) < int(gas)


def _install(fork: ForkModules) -> None:
    with _install_lock:
        system = import_module(f"{fork.vm.__name__}.instructions.system")
        for module, name, kind in (
            (fork.interpreter, "MAX_CODE_SIZE", _CodeSize),
            (fork.interpreter, "MAX_INIT_CODE_SIZE", _CodeSize),
            (system, "MAX_INIT_CODE_SIZE", _CodeSize),
            (fork.transactions, "TX_MAX_GAS_LIMIT", _TransactionGas),
        ):
            _replace(module, name, kind)
        check = fork.fork.check_transaction
        if not hasattr(check, "has_limits"):
            vars(fork.fork)["check_transaction"] = _with_block_gas(check)


def _replace(module: ModuleType, name: str, kind: Any) -> None:
    value = getattr(module, name, None)
    if value is not None and not isinstance(value, kind):
        setattr(module, name, kind(value))


def _with_block_gas(check: Any) -> Any:
    """Wrap the specification's check of a transaction, which compares its gas with the rest of the block's."""

    def check_transaction(*arguments: Any, **named: Any) -> Any:
        if current_limits().block_gas:
            return check(*arguments, **named)
        block_env = named["block_env"] if "block_env" in named else arguments[0]
        limit = block_env.block_gas_limit
        block_env.block_gas_limit = Uint(2 * uint64.MAX)
        try:
            return check(*arguments, **named)
        finally:
            block_env.block_gas_limit = limit

    # `reference_hooks` recognizes the functions that it has wrapped by their attributes.
    vars(check_transaction).update(vars(check), has_limits=True)
    return check_transaction
