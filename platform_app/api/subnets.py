"""Subnets and their owners."""

from collections.abc import Sequence
from typing import Final

import msgspec

from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.selectors import subnets
from platform_app.selectors.subnets import SubnetRecord
from primitives.ids import EMPTY_ID, ID, PRIMARY_NETWORK_ID

_encode: Final = msgspec.json.Encoder().encode

_PRIMARY_NETWORK: Final[Json] = {
    "id": str(PRIMARY_NETWORK_ID),
    "controlKeys": [],
    "threshold": "0",
}


def get_subnets(rpc: PlatformRpc, ids: Sequence[ID]) -> Json:
    """platform.getSubnets: all subnets, or the existing ones of the given IDs.

    Unspecified: all subnets are in order of creation, with the Primary Network last; an empty list of IDs
    means all subnets (gaps.md 3).
    """
    if not ids:
        return {
            "subnets": [
                *(_to_json(rpc, subnet) for subnet in subnets.subnets(rpc.chain)),
                _PRIMARY_NETWORK,
            ]
        }
    created = subnets.subnets(
        rpc.chain, [identifier for identifier in ids if identifier != PRIMARY_NETWORK_ID]
    )
    known = {item.subnet_id: _to_json(rpc, item) for item in created}
    known[PRIMARY_NETWORK_ID] = _PRIMARY_NETWORK
    return {"subnets": [known[fromkey] for fromkey in dict.fromkeys(ids) if fromkey in known]}


def get_subnet(rpc: PlatformRpc, subnet_id: ID) -> Json:
    """platform.getSubnet: one subnet. All subnets of this chain are permissioned."""
    if subnet_id == PRIMARY_NETWORK_ID:
        raise refused("the primary network isn't a subnet")
    found = subnets.subnet(rpc.chain, subnet_id)
    if found is None:
        raise refused(NOT_FOUND)
    return {
        "isPermissioned": True,
        "controlKeys": _control_keys_of(rpc, found),
        "threshold": str(found.threshold),
        "locktime": str(found.locktime),
        "subnetTransformationTxID": str(EMPTY_ID),
        "conversionID": str(EMPTY_ID),
        "managerChainID": str(EMPTY_ID),
        "managerAddress": None,
    }


def _to_json(rpc: PlatformRpc, subnet: SubnetRecord) -> Json:
    return {
        "id": str(subnet.subnet_id),
        "controlKeys": _control_keys_of(rpc, subnet),
        "threshold": str(subnet.threshold),
    }


def _control_keys_of(rpc: PlatformRpc, subnet: SubnetRecord) -> msgspec.Raw:
    """Return a subnet's control keys as a JSON array, cached because rendering thousands of them is slow."""

    def render() -> bytes:
        text: bytes = _encode([rpc.address(address) for address in subnet.owner.addresses])
        return text

    return msgspec.Raw(rpc.control_keys.of(subnet.raw_owner, render))
