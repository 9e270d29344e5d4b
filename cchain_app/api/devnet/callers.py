"""Access rules for development methods that a web page in the developer's browser must not use.

A page reaches the node at 127.0.0.1, and by default every origin may call it (NODE_ALLOWED_ORIGINS). A page may do
anything to the chain, which has no value. It may not use the operator's keys, nor the operator's network.
"""

from collections.abc import Sequence
from typing import Any, Final

from cchain_app.api.rpc import EvmRpc
from jsonrpc.dispatch.caller import Caller, Guard, is_named, shown
from jsonrpc.errors import SERVER_ERROR, JsonRpcError

ANY: Final = "any"
"""Value of NODE_FORK_URL_CALLERS that lets every caller name URLs."""


def keys_guard(rpc: EvmRpc) -> Guard:
    """Return the guard of methods that sign with the node's keys, or set the chain ID that signatures are for.

    Keys of the default mnemonic are public, so they sign for every caller. Keys of another mnemonic sign for a web
    page only if NODE_ALLOWED_ORIGINS names its origin.

    Unspecified: Anvil and Hardhat sign for every page.
    """
    chain = rpc.chain

    def guard(caller: Caller, _arguments: Sequence[Any]) -> None:
        if not caller.origin or not chain.has_private_keys:
            return
        if not is_named(caller.origin, chain.node.allowed_origins):
            raise JsonRpcError(
                SERVER_ERROR,
                f"the keys of NODE_MNEMONIC do not sign for the web page {shown(caller)}: "
                "NODE_ALLOWED_ORIGINS must name its origin, * is not enough",
            )

    return guard


def upstream_guard(rpc: EvmRpc) -> Guard:
    """Return the guard of methods that can name the URL of a fork's remote node.

    The node sends requests to that URL, so a caller could reach servers that only this machine reaches. By default
    only programs on this machine may name a URL; NODE_FORK_URL_CALLERS=any allows it for every caller.
    """
    callers = rpc.chain.settings.fork.url_callers

    def guard(caller: Caller, arguments: Sequence[Any]) -> None:
        if callers == ANY or not (caller.origin or caller.is_remote):
            return
        if _names_url(arguments[0]):
            sender = f"the web page {shown(caller)}" if caller.origin else "another machine"
            raise JsonRpcError(
                SERVER_ERROR,
                f"{sender} may not name the URL of a fork's remote node: NODE_FORK_URL_CALLERS=any allows it",
            )

    return guard


def _names_url(argument: Any) -> bool:
    """Return whether an argument is a URL, or options of anvil_reset that contain a URL."""
    if not isinstance(argument, dict):
        return True
    forking = argument.get("forking")
    return isinstance(forking, dict) and forking.get("jsonRpcUrl") is not None
