"""Access to keystore methods: on public networks, web pages are rejected unless the operator allows them."""

from collections.abc import Sequence
from typing import Any

from jsonrpc.dispatch.caller import Caller, Guard, is_named, shown
from jsonrpc.dispatch.params import Param
from platform_app.api.errors import refused
from platform_app.chain import PlatformChain
from primitives.networks import LOCAL


def uses_keystore(name: str, params: Sequence[Param]) -> bool:
    """Return whether a method manages users of the keystore, or acts with a user's keys."""
    return name.startswith("keystore.") or any(param.name == "password" for param in params)


def keystore_guard(chain: PlatformChain) -> Guard:
    """Return the guard of the keystore's methods.

    A page in a user's browser could guess passwords, lock users out, or fill the keystore. On the local network
    pages may call these methods, because its coins are worthless.

    Unspecified: the reference answers pages of every origin that it allows.
    """
    node = chain.node

    def guard(caller: Caller, _arguments: Sequence[Any]) -> None:
        if not caller.origin or node.network_id == LOCAL:
            return
        if not is_named(caller.origin, node.allowed_origins):
            raise refused(
                f"the keystore does not answer the web page {shown(caller)}: "
                "NODE_ALLOWED_ORIGINS must name its origin, * is not enough"
            )

    return guard
