"""Private keys of a keystore's user, by the address that each one has on this chain."""

from typing import Final

from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry
from platform_app.api import addresses, params
from platform_app.api.errors import refused, saying, shortened
from platform_app.api.wire import Json, address
from platform_app.apps import platform_chain
from platform_app.services import keystore
from primitives.keys import format_private_key, parse_private_key

_USER: Final = (Param("username", params.text, ""), Param("password", params.text, ""))


def import_key(username: str, password: str, private_key: str) -> Json:
    """platform.importKey: give a user a key; doing so twice is no error."""
    if not private_key:
        raise refused("argument 'privateKey' not given")
    key = parse_private_key(private_key)
    return {"address": address(keystore.import_key(platform_chain(), username, password, key))}


def export_key(username: str, password: str, of: str) -> Json:
    """platform.exportKey: the private key of one of a user's addresses."""
    with saying(f"couldn't parse {shortened(of)} to address"):
        short_id = addresses.read(of)
    key = keystore.export_key(platform_chain(), username, password, short_id)
    return {"privateKey": format_private_key(key)}


def create_address(username: str, password: str) -> Json:
    """platform.createAddress: give a user a new key."""
    return {"address": address(keystore.create_address(platform_chain(), username, password))}


def list_addresses(username: str, password: str) -> Json:
    """platform.listAddresses: a user's addresses, the oldest first."""
    return {
        "addresses": [
            address(one) for one in keystore.list_addresses(platform_chain(), username, password)
        ]
    }


def add_key_methods(methods: MethodRegistry) -> None:
    """Add these methods to the P-Chain's."""
    private_key = Param("privateKey", params.text, "")
    methods.add("platform.importKey", import_key, params=[*_USER, private_key])
    methods.add(
        "platform.exportKey", export_key, params=[*_USER, Param("address", params.text, "")]
    )
    methods.add("platform.createAddress", create_address, params=_USER)
    methods.add("platform.listAddresses", list_addresses, params=_USER)
