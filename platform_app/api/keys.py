"""Private keys of a keystore's user, by the address that each one has on this chain."""

from typing import Final

from jsonrpc.params import Param
from platform_app.api import addresses, params
from platform_app.api.errors import refused, saying, shortened
from platform_app.api.methods import Methods
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.services import keystore
from primitives.keys import format_private_key, parse_private_key

_USER: Final = (Param("username", params.text, ""), Param("password", params.text, ""))


def import_key(rpc: PlatformRpc, username: str, password: str, private_key: str) -> Json:
    """platform.importKey: give a user a key; doing so twice is no error."""
    if not private_key:
        raise refused("argument 'privateKey' not given")
    key = parse_private_key(private_key)
    return {"address": rpc.address(keystore.import_key(rpc.chain, username, password, key))}


def export_key(rpc: PlatformRpc, username: str, password: str, of: str) -> Json:
    """platform.exportKey: the private key of one of a user's addresses."""
    with saying(f"couldn't parse {shortened(of)} to address"):
        short_id = addresses.read(rpc.chain, of)
    key = keystore.export_key(rpc.chain, username, password, short_id)
    return {"privateKey": format_private_key(key)}


def create_address(rpc: PlatformRpc, username: str, password: str) -> Json:
    """platform.createAddress: give a user a new key."""
    return {"address": rpc.address(keystore.create_address(rpc.chain, username, password))}


def list_addresses(rpc: PlatformRpc, username: str, password: str) -> Json:
    """platform.listAddresses: a user's addresses, the oldest first."""
    return {
        "addresses": [
            rpc.address(one) for one in keystore.list_addresses(rpc.chain, username, password)
        ]
    }


def add_key_methods(methods: Methods) -> None:
    """Add these methods to the P-Chain's."""
    private_key = Param("privateKey", params.text, "")
    methods.add("platform.importKey", import_key, params=[*_USER, private_key])
    methods.add(
        "platform.exportKey", export_key, params=[*_USER, Param("address", params.text, "")]
    )
    methods.add("platform.createAddress", create_address, params=_USER)
    methods.add("platform.listAddresses", list_addresses, params=_USER)
