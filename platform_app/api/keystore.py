"""`keystore.*`: users of this node's keystore, who sign with `platform.*` methods (in `wallet`)."""

from typing import Final

from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry
from platform_app.api import params
from platform_app.api.errors import saying, to_error_object
from platform_app.api.wire import Json
from platform_app.apps import platform_chain
from platform_app.services import keystore
from primitives.checksummed import Encoding, decode, encode

KEYSTORE: Final = MethodRegistry(to_error_object)

_USER: Final = (Param("username", params.text, ""), Param("password", params.text, ""))
_ENCODING: Final = Param("encoding", params.encoding, Encoding.HEX)


def create_user(username: str, password: str) -> Json:
    """keystore.createUser: a new user, who has no keys yet."""
    keystore.create_user(platform_chain(), username, password)
    return {}


def delete_user(username: str, password: str) -> Json:
    """keystore.deleteUser: a user and all keys, for good."""
    keystore.delete_user(platform_chain(), username, password)
    return {}


def list_users() -> Json:
    """keystore.listUsers: the names of all users."""
    return {"users": keystore.list_users(platform_chain())}


def export_user(username: str, password: str, encoding: Encoding) -> Json:
    """keystore.exportUser: a user's keys, sealed with the password.

    Unspecified: only nodes of this kind can import it.
    """
    sealed = keystore.export_user(platform_chain(), username, password)
    return {"user": encode(sealed, encoding), "encoding": encoding.value}


def import_user(username: str, password: str, user: str, encoding: Encoding) -> Json:
    """keystore.importUser: a user that was exported, under this or another name."""
    with saying("couldn't decode 'user' to bytes"):
        sealed = decode(user, encoding)
    keystore.import_user(platform_chain(), username, password, sealed)
    return {}


KEYSTORE.add("keystore.createUser", create_user, params=_USER)
KEYSTORE.add("keystore.deleteUser", delete_user, params=_USER)
KEYSTORE.add("keystore.listUsers", list_users)
KEYSTORE.add("keystore.exportUser", export_user, params=[*_USER, _ENCODING])
KEYSTORE.add(
    "keystore.importUser",
    import_user,
    params=[*_USER, Param("user", params.text, ""), _ENCODING],
)
