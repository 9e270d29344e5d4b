"""The Django app of the C-Chain, and the process-wide chain for code that gets no chain as an argument."""

from django.apps import AppConfig, apps

from cchain_app.chain import EvmChain


class CChainConfig(AppConfig):
    """Name and label of the app, and the C-Chain of this process."""

    name = "cchain_app"
    verbose_name = "C-Chain"

    chain: EvmChain
    """Set by the code that starts the process."""


def evm_chain() -> EvmChain:
    """Return the C-Chain of this process, for code that Django or Celery call without an argument for it."""
    return _config().chain


def find_evm_chain(name: str) -> EvmChain | None:
    """Return the chain of this process with this alias or blockchain ID, or None if there is no such chain."""
    chain = evm_chain()
    return chain if chain.is_named(name) else None


def use(chain: EvmChain) -> None:
    """Make a chain the C-Chain of this process."""
    _config().chain = chain


def _config() -> CChainConfig:
    config = apps.get_app_config(CChainConfig.name)
    assert isinstance(config, CChainConfig)
    return config
