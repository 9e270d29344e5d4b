"""Make the specification's limits of gas, code and memory those of the chain whose block or call a thread executes.

The constants of each fork are replaced once, by numbers that are looked up when the specification compares with them.
In other threads, and for chains with Ethereum's limits, they have the specification's values. For a chain that limits
memory, each frame gets a memory that knows how much the frames around it have.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from threading import Lock, local
from types import ModuleType
from typing import Any, Final

from ethereum_types.numeric import Uint
from typing_extensions import override

from cchain_app.config import ETHEREUM_LIMITS, ExecutionLimits
from cchain_app.evm import failures
from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.reference_env import fork_of
from cchain_app.evm.reference_package import ForkModules
from primitives import uint64

_current: Final = local()
_install_lock: Final = Lock()

_WITH_MEMORY: Final = ("environment", "keccak", "log", "memory", "system")
"""The modules of instructions that need memory."""
_WORD: Final = 32
"""Bytes by which memory grows."""


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


class _FrameMemory(bytearray):
    """The memory of a frame on a chain that limits memory.

    Args:
        limit: Bytes of memory that all frames may have together.
        before: Bytes of memory of the frames around this one.
        error: The specification's error for a lack of gas.
    """

    def __init__(self, limit: int, before: int, error: type[Exception]) -> None:
        super().__init__()
        self._limit = limit
        self._before = before
        self._error = error

    @property
    def of_all(self) -> int:
        """Bytes of memory of this frame and the frames around it."""
        return self._before + len(self)

    def verify(self, extensions: Iterable[tuple[Any, Any]]) -> None:
        """Fail as for a lack of gas if an instruction needs more memory than the chain allows.

        Positions above 64 bits are left to the price, which has its own message.

        Args:
            extensions: Position and size of each area that it needs.
        """
        ends = (int(start) + int(size) for start, size in extensions if size)
        end = -(-max(ends, default=0) // _WORD) * _WORD
        if len(self) < end <= uint64.MAX and self._before + end > self._limit:
            raise self._error(failures.memory_limit(self._limit))


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
        if not hasattr(fork.interpreter.Evm, "__wrapped__"):
            _limit_memory(fork)


def _limit_memory(fork: ForkModules) -> None:
    """Give frames a memory that knows the chain's limit, and check it before gas is charged, as revm does."""
    error = type("MemoryLimitError", (fork.gas.OutOfGasError,), {})
    names = vars(fork.interpreter)
    names["Evm"] = _with_limited_memory(names["Evm"], error)
    for part in _WITH_MEMORY:
        names = vars(import_module(f"{fork.vm.__name__}.instructions.{part}"))
        names["calculate_gas_extend_memory"] = _verified(names["calculate_gas_extend_memory"])


def _with_limited_memory(create: Any, error: type[Exception]) -> Callable[..., Any]:
    @wraps(create, updated=())
    def evm(**fields: Any) -> Any:
        limit = current_limits().memory
        if limit is not None:
            caller = fields["message"].parent_evm
            before = 0 if caller is None else caller.memory.of_all
            fields["memory"] = _FrameMemory(limit, before, error)
        return create(**fields)

    return evm


def _verified(calculate: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(calculate)
    def calculate_gas_extend_memory(memory: bytearray, extensions: Any) -> Any:
        if isinstance(memory, _FrameMemory):
            memory.verify(extensions)
        return calculate(memory, extensions)

    return calculate_gas_extend_memory


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
