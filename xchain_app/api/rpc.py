"""Shared objects of the X-Chain's API in one process: its chain, expected errors, and the table of methods."""

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any, Final, Protocol, TypeVar

from jsonrpc.dispatch.caller import Guard
from jsonrpc.dispatch.expected import ExpectedErrors
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.values import quoted, refused, shortened
from primitives.addresses import AddressError, parse_address
from primitives.cb58 import Cb58Error
from primitives.checksummed import EncodingError
from primitives.codec_errors import CodecError
from primitives.ids import ID, IdError, ShortID, WrongIdLength
from primitives.keys import PrivateKeyError
from primitives.secp256k1 import InvalidPrivateKey
from utxo.errors import InvalidTx
from xchain_app.chain import AvmChain
from xchain_app.services.errors import RefusedAvmTx
from xchain_app.store.state import NoXChain
from xchain_app.wallet.errors import AvmWalletError

Json = dict[str, Any]

NOT_FOUND: Final = "not found"

ERRORS: Final = ExpectedErrors(
    (
        InvalidTx,
        RefusedAvmTx,
        CodecError,
        EncodingError,
        AddressError,
        Cb58Error,
        IdError,
        NoXChain,
        AvmWalletError,
        PrivateKeyError,
        InvalidPrivateKey,
    )
)
"""The errors that clients get with their own message."""


class AvmUserKeys(Protocol):
    """The node's keystore, as far as these methods use it. Its errors are JSON-RPC errors."""

    @property
    def guard(self) -> Guard:
        """Decides which callers may use it."""

    def keys_of(self, username: str, password: str) -> list[bytes]:
        """Return a user's private keys, the oldest first."""

    def import_key(self, username: str, password: str, key: bytes) -> None:
        """Add a private key of 32 bytes to a user."""


class AvmRpc:
    """The API of a chain, the first argument of its handlers. Threads share it.

    Args:
        chain: The chain.
        keystore: The node's keystore; None: its methods do not exist.
    """

    def __init__(self, chain: AvmChain, keystore: AvmUserKeys | None = None) -> None:
        self.chain = chain
        self.has_keystore = keystore is not None
        self._keystore = keystore

    @property
    def keystore(self) -> AvmUserKeys:
        """The node's keystore."""
        assert self._keystore is not None, "the methods of the keystore are not registered"
        return self._keystore

    def chain_id_of(self, alias: str) -> ID:
        """Return the ID of a chain of the Primary Network.

        Raises:
            JsonRpcError: -32000, no chain has this alias.
        """
        chain_id = self.chain.network.chain_id_of(alias)
        if chain_id is None:
            raise refused(f"there is no ID with alias: {shortened(alias)}")
        return chain_id

    def read_address(self, text: str) -> ShortID:
        """Return an address of this chain.

        Raises:
            JsonRpcError: -32000, the string is not an address.
        """
        try:
            return ShortID.parse(text)
        except (Cb58Error, WrongIdLength):
            pass  # the usual case: it starts with a chain
        with ERRORS.saying(f"couldn't parse address {quoted(text)}"):
            parsed = parse_address(text)
            chain_id = self.chain_id_of(parsed.chain)
            own = self.chain.blockchain_id
            if chain_id != own:
                raise refused(f'mismatched chainIDs: expected "{own}" but got "{chain_id}"')
        return parsed.short_id


R = TypeVar("R")


class AvmMethods:
    """Adds methods of one chain to a registry."""

    def __init__(self, rpc: AvmRpc) -> None:
        self.registry = MethodRegistry(ERRORS.to_error_object)
        self._rpc = rpc

    def add(
        self,
        name: str,
        handler: Callable[..., object],
        *,
        params: Sequence[Param] = (),
        hot: bool = False,
    ) -> None:
        """Add a method that answers one call; see `MethodRegistry.add`."""
        uses_keys = any(param.name == "password" for param in params)
        guard = self._rpc.keystore.guard if uses_keys else None
        self.registry.add(name, self._bound(handler), params=params, hot=hot, guard=guard)

    def add_vectorized(
        self, name: str, handler: Callable[..., Sequence[Any]], *, params: Sequence[Param] = ()
    ) -> None:
        """Add a method that answers several calls together."""
        self.registry.add(name, vectorized=self._bound(handler), params=params)

    def _bound(self, handler: Callable[..., R]) -> Callable[..., R]:
        """Return a handler bound to this chain, with the name and docstring of the original."""
        return update_wrapper(partial(handler, self._rpc), handler)
