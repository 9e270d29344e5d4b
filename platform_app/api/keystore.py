"""`keystore.*`: users of this node's keystore, whose keys sign in `platform.*` methods (`wallet`)."""

from typing import Final

from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from platform_app.api import params
from platform_app.api.errors import refused, saying, shortened
from platform_app.api.rpc import Methods, PlatformRpc
from platform_app.api.wire import Json
from platform_app.services import keystore
from primitives.checksummed import TextEncoding, decode, encode
from primitives.keys import format_private_key, parse_private_key

_USER: Final = (Param("username", params.text, ""), Param("password", params.text, ""))
_ENCODING: Final = Param("encoding", params.encoding, TextEncoding.HEX)


def create_user(rpc: PlatformRpc, username: str, password: str) -> Json:
    """keystore.createUser: create a user without keys."""
    keystore.create_user(rpc.chain, username, password)
    return {}


def delete_user(rpc: PlatformRpc, username: str, password: str) -> Json:
    """keystore.deleteUser: permanently delete a user and all its keys."""
    keystore.delete_user(rpc.chain, username, password)
    return {}


def list_users(rpc: PlatformRpc) -> Json:
    """keystore.listUsers: the names of all users."""
    return {"users": keystore.list_users(rpc.chain)}


def export_user(rpc: PlatformRpc, username: str, password: str, encoding: TextEncoding) -> Json:
    """keystore.exportUser: a user's keys, sealed with the password.

    Unspecified: only nodes of this implementation can import the result.
    """
    sealed = keystore.export_user(rpc.chain, username, password)
    return {"user": encode(sealed, encoding), "encoding": encoding.value}


def import_user(
    rpc: PlatformRpc, username: str, password: str, user: str, encoding: TextEncoding
) -> Json:
    """keystore.importUser: import an exported user, under the same or another name."""
    with saying("couldn't decode 'user' to bytes"):
        sealed = decode(user, encoding)
    keystore.import_user(rpc.chain, username, password, sealed)
    return {}


def registry(rpc: PlatformRpc) -> MethodRegistry:
    """Return the `keystore.*` methods of a chain."""
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


def import_key(rpc: PlatformRpc, username: str, password: str, private_key: str) -> Json:
    """platform.importKey: add a private key to a user; importing it twice is not an error."""
    if not private_key:
        raise refused("argument 'privateKey' not given")
    key = parse_private_key(private_key)
    return {"address": rpc.address(keystore.import_key(rpc.chain, username, password, key))}


def export_key(rpc: PlatformRpc, username: str, password: str, of: str) -> Json:
    """platform.exportKey: the private key of one of a user's addresses."""
    with saying(f"couldn't parse {shortened(of)} to address"):
        short_id = params.read(rpc.chain, of)
    key = keystore.export_key(rpc.chain, username, password, short_id)
    return {"privateKey": format_private_key(key)}


def create_address(rpc: PlatformRpc, username: str, password: str) -> Json:
    """platform.createAddress: create a new key for a user."""
    return {"address": rpc.address(keystore.create_address(rpc.chain, username, password))}


def list_addresses(rpc: PlatformRpc, username: str, password: str) -> Json:
    """platform.listAddresses: a user's addresses, the oldest first."""
    return {
        "addresses": [
            rpc.address(list_address)
            for list_address in keystore.list_addresses(rpc.chain, username, password)
        ]
    }


def add_key_methods(methods: Methods) -> None:
    """Add the key methods to the P-Chain's methods."""
    private_key = Param("privateKey", params.text, "")
    methods.add("platform.importKey", import_key, params=[*_USER, private_key])
    methods.add(
        "platform.exportKey", export_key, params=[*_USER, Param("address", params.text, "")]
    )
    methods.add("platform.createAddress", create_address, params=_USER)
    methods.add("platform.listAddresses", list_addresses, params=_USER)
