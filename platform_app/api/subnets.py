"""Subnets and who controls them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.kept import KeptTexts
from platform_app.api.wire import Json, address
from platform_app.apps import platform_chain
from platform_app.selectors import subnets
from platform_app.selectors.subnets import Subnet
from primitives.ids import EMPTY_ID, ID, PRIMARY_NETWORK_ID

_KEPT_BYTES: Final = 32 * 1024 * 1024
"""Of rendered control keys: those of 250 subnets that have as many as a transaction can name."""

_encode: Final = msgspec.json.Encoder().encode
_control_keys: Final[KeptTexts[tuple[str, bytes]]] = KeptTexts(_KEPT_BYTES)

_PRIMARY_NETWORK: Final[Json] = {
    "id": str(PRIMARY_NETWORK_ID),
    "controlKeys": [],
    "threshold": "0",
}


def get_subnets(ids: Sequence[ID]) -> Json:
    """platform.getSubnets: all subnets, or those of these IDs that exist.

    Unspecified: all means in the order of their creation, the Primary Network last; no IDs at all
    are the same as none given (gaps.md 3).
    """
    if not ids:
        return {"subnets": [*map(_shown, subnets.subnets(platform_chain())), _PRIMARY_NETWORK]}
    created = subnets.subnets(platform_chain(), [one for one in ids if one != PRIMARY_NETWORK_ID])
    known = {one.subnet_id: _shown(one) for one in created}
    known[PRIMARY_NETWORK_ID] = _PRIMARY_NETWORK
    return {"subnets": [known[one] for one in dict.fromkeys(ids) if one in known]}


def get_subnet(subnet_id: ID) -> Json:
    """platform.getSubnet: one subnet. All of them are permissioned here."""
    if subnet_id == PRIMARY_NETWORK_ID:
        raise refused("the primary network isn't a subnet")
    found = subnets.subnet(platform_chain(), subnet_id)
    if found is None:
        raise refused(NOT_FOUND)
    return {
        "isPermissioned": True,
        "controlKeys": _control_keys_of(found),
        "threshold": str(found.threshold),
        "locktime": str(found.locktime),
        "subnetTransformationTxID": str(EMPTY_ID),
        "conversionID": str(EMPTY_ID),
        "managerChainID": str(EMPTY_ID),
        "managerAddress": None,
    }


def _shown(subnet: Subnet) -> Json:
    return {
        "id": str(subnet.subnet_id),
        "controlKeys": _control_keys_of(subnet),
        "threshold": str(subnet.threshold),
    }


def _control_keys_of(subnet: Subnet) -> msgspec.Raw:
    """Return a subnet's control keys as a JSON array: thousands take a while to render."""

    def render() -> bytes:
        text: bytes = _encode([address(one) for one in subnet.owner.addresses])
        return text

    return msgspec.Raw(_control_keys.of((platform_chain().config.hrp, subnet.raw_owner), render))
