"""Creates the parts of the explorer that depend on settings."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.services.runtime import EvmRuntime
from chaindb.chains import is_left_out
from explorer_app.services.compiler_socket import SocketCompilers
from explorer_app.services.compiling import CompilationLimits, NpmCompilers
from explorer_app.services.faucet import Faucet, read_key
from explorer_app.site import Explorer
from explorer_app.verification.compilers import Compilers
from primitives.keys import EWOQ_KEY
from primitives.networks import LOCAL

_log: Final = logging.getLogger(__name__)


def compose(
    site: Explorer, evm: EvmRuntime, runtime_of: Callable[[EvmChain], EvmRuntime]
) -> Explorer:
    """Set an explorer's compilers and faucet, and return it.

    Args:
        site: The explorer.
        evm: The C-Chain.
        runtime_of: Returns an EVM chain as a running chain.
    """
    site.faucet = _faucet(site, evm if site.has_evm else None, runtime_of)
    site.compilers = _compilers(site)
    return site


def _compilers(site: Explorer) -> Compilers:
    """Return the compilers behind NODE_SOLC_SOCKET, else those of NODE_SOLC_DIRECTORY."""
    settings = site.settings
    if settings.solc_socket:
        return SocketCompilers(Path(settings.solc_socket))
    directory = Path(settings.solc_directory) if settings.solc_directory else None
    return NpmCompilers(directory, CompilationLimits(settings.solc_seconds, settings.solc_memory))


def _faucet(
    site: Explorer, evm: EvmRuntime | None, runtime_of: Callable[[EvmChain], EvmRuntime]
) -> Faucet | None:
    """Return the faucet; None if it has no key or NODE_FAUCET is 0.

    If the key cannot be read, the error is logged and the node runs without a faucet.
    """
    settings = site.settings
    key: bytes | None = EWOQ_KEY if site.node.network_id == LOCAL else None
    if settings.faucet_key_file:
        try:
            key = read_key(Path(settings.faucet_key_file))
        except (OSError, ValueError) as error:
            _log.error("the faucet is disabled: %s", error)
            return None
    if not (key and settings.faucet):
        return None
    return Faucet(
        evm,
        site.platform,
        None if is_left_out(site.avm.name) else site.avm,
        key,
        runtime_of=runtime_of,
        coins=settings.faucet,
        hourly=settings.faucet_hourly,
        is_private=bool(settings.faucet_key_file),
    )
