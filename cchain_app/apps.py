"""The Django app of the EVM chains, and the chains of this process for code that gets no chain as an argument."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from cchain_app.chain import EvmChain
    from cchain_app.services.runtime import EvmRuntime
    from primitives.evm import Address


class CChainConfig(AppConfig):
    """Name and label of the app, and the EVM chains of this process."""

    name = "cchain_app"
    verbose_name = "C-Chain"

    runtimes: "tuple[EvmRuntime, ...]"
    """The C-Chain, then the further chains. Set by the code that starts the process."""
    find_chains: "Callable[[], object] | None" = None
    """Begins to run chains that were created since the last call; None: the chains never change. Blocking."""
    names: "Callable[[EvmChain, Collection[Address]], Mapping[Address, str]] | None" = None
    """Returns the names of those contracts that have one; None: no code of this process knows names. Blocking."""
    chosen: "ContextVar[EvmChain | None]" = ContextVar("chosen", default=None)
    """The chain that the pages of the current request show; None: the C-Chain."""


def evm_chain() -> "EvmChain":
    """Return the chain that the current request has chosen, else the C-Chain of this process.

    For code that Django or Celery call without an argument for it.
    """
    config = _config()
    return config.chosen.get() or config.runtimes[0].chain


def evm_chains() -> "tuple[EvmChain, ...]":
    """Return the EVM chains of this process, the C-Chain first."""
    return tuple(runtime.chain for runtime in evm_runtimes())


def evm_runtimes() -> "tuple[EvmRuntime, ...]":
    """Return the running EVM chains of this process, the C-Chain first."""
    return _config().runtimes


def evm_runtime() -> "EvmRuntime":
    """Return the running chain that `evm_chain` returns."""
    chain = evm_chain()
    return next(runtime for runtime in evm_runtimes() if runtime.chain is chain)


def find_evm_chain(name: str) -> "EvmChain | None":
    """Return the chain of this process with this alias or blockchain ID, or None if there is no such chain."""
    runtime = find_evm_runtime(name)
    return None if runtime is None else runtime.chain


def find_evm_runtime(name: str) -> "EvmRuntime | None":
    """Return the running chain with this alias or blockchain ID, or None if there is no such chain."""
    return next((item for item in evm_runtimes() if item.chain.is_named(name)), None)


@contextmanager
def choosing(chain: "EvmChain") -> Iterator[None]:
    """Let `evm_chain` return a chain in the body, for the current request."""
    chosen = _config().chosen
    token = chosen.set(chain)
    try:
        yield
    finally:
        chosen.reset(token)


def add(runtime: "EvmRuntime") -> None:
    """Add a chain that this process has begun to run."""
    config = _config()
    config.runtimes = (*config.runtimes, runtime)


def remove(runtime: "EvmRuntime") -> None:
    """Remove a chain that this process runs no longer."""
    config = _config()
    config.runtimes = tuple(other for other in config.runtimes if other is not runtime)


def find_chains() -> None:
    """Begin to run the chains that were created since the last call. Blocking."""
    if (find := _config().find_chains) is not None:
        find()


def contract_names(addresses: "Collection[Address]") -> "Mapping[Address, str]":
    """Return the names of those contracts of the chosen chain that have one. Blocking."""
    names = _config().names
    return names(evm_chain(), addresses) if names is not None and addresses else {}


def use_names(
    names: "Callable[[EvmChain, Collection[Address]], Mapping[Address, str]]",
) -> None:
    """Set the function that knows the names of contracts."""
    _config().names = names


def use(
    runtime: "EvmRuntime",
    *further: "EvmRuntime",
    find_chains: Callable[[], object] | None = None,
) -> None:
    """Make a running chain the C-Chain of this process, with these further EVM chains.

    Args:
        runtime: The C-Chain.
        further: The further chains.
        find_chains: Begins to run chains that were created since its last call, and calls `add` with each one.
    """
    config = _config()
    config.runtimes = (runtime, *further)
    config.find_chains = find_chains


def _config() -> CChainConfig:
    config = apps.get_app_config(CChainConfig.name)
    assert isinstance(config, CChainConfig)
    return config
