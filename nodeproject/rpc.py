"""What belongs to the RPC doors of this process's chains, and is asked by monitoring too."""

from functools import cache

from cchain_app.api import EvmRpc
from cchain_app.apps import evm_chain
from jsonrpc.turn import LoopTurn
from platform_app.api import PlatformRpc
from platform_app.apps import platform_chain


@cache
def turn() -> LoopTurn:
    """Return what all interfaces together may take of a turn of this process' event loop."""
    return LoopTurn()


@cache
def evm_rpc() -> EvmRpc:
    """Return what the C-Chain's doors keep in this process, HTTP's and the WebSocket's."""
    return EvmRpc(evm_chain(), turn())


@cache
def platform_rpc() -> PlatformRpc:
    """Return what belongs to the doors of this process's P-Chain."""
    return PlatformRpc(platform_chain())
