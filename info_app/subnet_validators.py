"""The `validators.*` methods of a chain of a subnet, served at `/ext/bc/<chain>/validators` (etna.md 12.2)."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from chaindb import clock
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.values import few_of, node_id, refused
from platform_app.api import errors
from platform_app.chain import PlatformChain
from platform_app.selectors import subnet_uptimes
from platform_app.store.subnet_uptime import SubnetValidatorUptime
from primitives.ids import EMPTY_NODE_ID, ID, NodeID

Json = dict[str, Any]


class SubnetValidators:
    """The validators of a subnet, and for how long this node has seen them online.

    Args:
        platform: The P-Chain.
        subnet_id: The subnet.
        joined: Returns the subnets to whose validators this node connects.
    """

    def __init__(
        self, platform: PlatformChain, subnet_id: ID, joined: Callable[[], Collection[ID]]
    ) -> None:
        self._platform = platform
        self._subnet_id = subnet_id
        self._joined = joined

    def get_current_validators(self, node_ids: Sequence[NodeID]) -> Json:
        """validators.getCurrentValidators: the validators of the chain's subnet, with the time that this node saw them online.

        Validators of an L1 that are out of balance are included. Numbers are JSON numbers.

        Unspecified: with NODE_TRACK_SUBNETS=all the uptimes of subnets that the setting does not name are 0.
        """
        now, found = clock.now(), subnet_uptimes.of_subnet(self._platform, self._subnet_id)
        known = {seen.node_id for seen in found}
        for wanted in node_ids:
            if wanted not in known:
                raise refused(f"couldn't find validator with node ID {wanted}")
        return {
            "validators": [
                self._shown(seen, now) for seen in found if not node_ids or seen.node_id in node_ids
            ]
        }

    def _shown(self, seen: SubnetValidatorUptime, now: int) -> Json:
        seconds = 0
        if self._subnet_id in self._joined():
            seconds = subnet_uptimes.seconds_online(self._platform, seen, now)
        whole = now - seen.start
        is_own = seen.node_id == self._platform.node_id
        return {
            "validationID": str(seen.validation_id),
            "nodeID": str(seen.node_id),
            "weight": seen.weight,
            "startTimestamp": seen.start,
            "isActive": seen.is_active,
            "isL1Validator": seen.is_l1,
            "isConnected": is_own or seen.connected_since is not None,
            "uptimePercentage": round(min(100.0, 100 * seconds / whole), 4) if whole > 0 else 100.0,
            "uptimeSeconds": seconds,
        }


def validator_methods(
    platform: PlatformChain, subnet_id: ID, joined: Callable[[], Collection[ID]]
) -> MethodRegistry:
    """Return the `validators.*` methods of a chain.

    Args:
        platform: The P-Chain.
        subnet_id: The subnet that validates the chain.
        joined: Returns the subnets to whose validators this node connects, so that it sees which are online.
    """
    validators = SubnetValidators(platform, subnet_id, joined)
    table = MethodRegistry(errors.to_error_object)
    table.add(
        "validators.getCurrentValidators",
        validators.get_current_validators,
        params=[Param("nodeIDs", few_of("node IDs", node_id, EMPTY_NODE_ID), ())],
    )
    return table
