"""`keystore.*`: users of this node's keystore, who sign with `platform.*` methods (in `wallet`)."""

from typing import Final

from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry
from platform_app.api import params
from platform_app.api.errors import saying
from platform_app.api.methods import Methods
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.services import keystore
from primitives.checksummed import Encoding, decode, encode

_USER: Final = (Param("username", params.text, ""), Param("password", params.text, ""))
_ENCODING: Final = Param("encoding", params.encoding, Encoding.HEX)


def create_user(rpc: PlatformRpc, username: str, password: str) -> Json:
    """keystore.createUser: a new user, who has no keys yet."""
    keystore.create_user(rpc.chain, username, password)
    return {}


def delete_user(rpc: PlatformRpc, username: str, password: str) -> Json:
    """keystore.deleteUser: a user and all keys, for good."""
    keystore.delete_user(rpc.chain, username, password)
    return {}


def list_users(rpc: PlatformRpc) -> Json:
    """keystore.listUsers: the names of all users."""
    return {"users": keystore.list_users(rpc.chain)}


def export_user(rpc: PlatformRpc, username: str, password: str, encoding: Encoding) -> Json:
    """keystore.exportUser: a user's keys, sealed with the password.

    Unspecified: only nodes of this kind can import it.
    """
    sealed = keystore.export_user(rpc.chain, username, password)
    return {"user": encode(sealed, encoding), "encoding": encoding.value}


def import_user(
    rpc: PlatformRpc, username: str, password: str, user: str, encoding: Encoding
) -> Json:
    """keystore.importUser: a user that was exported, under this or another name."""
    with saying("couldn't decode 'user' to bytes"):
        sealed = decode(user, encoding)
    keystore.import_user(rpc.chain, username, password, sealed)
    return {}


def registry(rpc: PlatformRpc) -> MethodRegistry:
    """Return `keystore.*` of a chain."""
    methods = Methods(rpc)
    methods.add("keystore.createUser", create_user, params=_USER)
    methods.add("keystore.deleteUser", delete_user, params=_USER)
    methods.add("keystore.listUsers", list_users)
    methods.add("keystore.exportUser", export_user, params=[*_USER, _ENCODING])
    methods.add(
        "keystore.importUser",
        import_user,
        params=[*_USER, Param("user", params.text, ""), _ENCODING],
    )
    return methods.registry
