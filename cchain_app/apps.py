"""The Django app of the EVM chains, and the chains of this process for code that gets no chain as an argument."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from cchain_app.chain import EvmChain


class CChainConfig(AppConfig):
    """Name and label of the app, and the EVM chains of this process."""

    name = "cchain_app"
    verbose_name = "C-Chain"

    chains: "tuple[EvmChain, ...]"
    """The C-Chain, then the further chains. Set by the code that starts the process."""
    chosen: "ContextVar[EvmChain | None]" = ContextVar("chosen", default=None)
    """The chain that the pages of the current request show; None: the C-Chain."""


def evm_chain() -> "EvmChain":
    """Return the chain that the current request has chosen, else the C-Chain of this process.

    For code that Django or Celery call without an argument for it.
    """
    config = _config()
    return config.chosen.get() or config.chains[0]


def evm_chains() -> "tuple[EvmChain, ...]":
    """Return the EVM chains of this process, the C-Chain first."""
    return _config().chains


def find_evm_chain(name: str) -> "EvmChain | None":
    """Return the chain of this process with this alias or blockchain ID, or None if there is no such chain."""
    return next((item for item in evm_chains() if item.is_named(name)), None)


@contextmanager
def choosing(chain: "EvmChain") -> Iterator[None]:
    """Let `evm_chain` return a chain in the body, for the current request."""
    chosen = _config().chosen
    token = chosen.set(chain)
    try:
        yield
    finally:
        chosen.reset(token)


def use(chain: "EvmChain", *further: "EvmChain") -> None:
    """Make a chain the C-Chain of this process, with these further EVM chains."""
    _config().chains = (chain, *further)


def _config() -> CChainConfig:
    config = apps.get_app_config(CChainConfig.name)
    assert isinstance(config, CChainConfig)
    return config
