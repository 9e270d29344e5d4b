"""The node's keystore for chains other than the P-Chain, which holds its users."""

from collections.abc import Callable
from typing import TypeVar

from jsonrpc.dispatch.caller import Guard
from platform_app.api.errors import to_error_object
from platform_app.api.rpc import keystore_guard
from platform_app.chain import PlatformChain
from platform_app.services import keystore

T = TypeVar("T")


class PlatformKeystore:
    """The keystore; a `cchain_app.api.avax.UserKeys`.

    Args:
        chain: The chain with the keystore.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain

    @property
    def guard(self) -> Guard:
        """Decides which callers may use it."""
        return keystore_guard(self._chain)

    def keys_of(self, username: str, password: str) -> list[bytes]:
        """Return a user's private keys, the oldest first.

        Raises:
            JsonRpcError: -32000, name or password are wrong, or cannot be checked now.
        """
        return _answered(lambda: keystore.keys_of(self._chain, username, password))

    def import_key(self, username: str, password: str, key: bytes) -> None:
        """Add a private key of 32 bytes to a user.

        Raises:
            JsonRpcError: -32000, name or password are wrong, or cannot be checked now; or the user has too many keys.
        """
        _answered(lambda: keystore.import_key(self._chain, username, password, key))


def _answered(call: Callable[[], T]) -> T:
    """Return the result of a call, with its expected errors as JSON-RPC errors."""
    try:
        return call()
    except Exception as error:
        known = to_error_object(error)
        if known is None:
            raise
        raise known from error
