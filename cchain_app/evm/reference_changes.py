"""What a call may change of the specification: where its precompiles are, what a blob gas costs.

The specification has both as names in its modules; here those names are made to look at the call
that the thread is running. Moves and prices mean what `BlockEnv` says.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import local
from typing import Any

from ethereum_types.bytes import Bytes20
from ethereum_types.numeric import Uint
from typing_extensions import override

from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.reference_package import Fork

_current = local()


class _Precompiles(Mapping[Any, Any]):
    """A fork's precompiles as the thread's call finds them."""

    def __init__(self, of_fork: Mapping[Any, Any]) -> None:
        self.of_fork = of_fork

    def _found(self) -> Mapping[Any, Any]:
        found: Mapping[Any, Any] | None = getattr(_current, "precompiles", None)
        return self.of_fork if found is None else found

    @override
    def __getitem__(self, address: Any) -> Any:
        return self._found()[address]

    @override
    def __iter__(self) -> Iterator[Any]:
        return iter(self._found())

    @override
    def __len__(self) -> int:
        return len(self._found())


@contextmanager
def changed(env: BlockEnv, fork: Fork, blob_base_fee: int | None) -> Iterator[None]:
    """Let this thread's calls in the body find precompiles moved, and this blob base fee."""
    _install(fork)
    _current.precompiles = _moved(env, fork)
    _current.blob_base_fee = blob_base_fee
    try:
        yield
    finally:
        _current.precompiles = _current.blob_base_fee = None


def _moved(env: BlockEnv, fork: Fork) -> Mapping[Any, Any]:
    of_fork = fork.precompiles.PRE_COMPILED_CONTRACTS
    found = dict(of_fork)
    for origin, _ in env.precompile_moves:
        found.pop(Bytes20(origin), None)
    for origin, to in env.precompile_moves:
        if to is not None:
            found[Bytes20(to)] = of_fork[Bytes20(origin)]
    return found


def _install(fork: Fork) -> None:
    names = vars(fork.interpreter)
    if not isinstance(names["PRE_COMPILED_CONTRACTS"], _Precompiles):
        names["PRE_COMPILED_CONTRACTS"] = _Precompiles(names["PRE_COMPILED_CONTRACTS"])
    names = vars(fork.environment)
    price = names.get("calculate_blob_gas_price")
    if price is not None and price.__module__ != __name__:
        names["calculate_blob_gas_price"] = _price_or(price)


def _price_or(reckon: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def price(excess_blob_gas: Any) -> Any:
        given: int | None = getattr(_current, "blob_base_fee", None)
        return reckon(excess_blob_gas) if given is None else Uint(given)

    return price
