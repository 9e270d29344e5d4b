"""For how long this node has seen the validators of a subnet online."""

from collections.abc import Sequence

from platform_app.chain import PlatformChain
from platform_app.store import subnet_uptime
from platform_app.store import uptime as uptime_rows
from platform_app.store.subnet_uptime import SubnetValidatorUptime
from primitives.ids import ID


def of_subnet(chain: PlatformChain, subnet_id: ID) -> Sequence[SubnetValidatorUptime]:
    """Return the current validators of a subnet with their uptimes, in the order of their node IDs."""
    return subnet_uptime.uptimes(chain.db, [subnet_id])


def seconds_online(chain: PlatformChain, seen: SubnetValidatorUptime, now: int) -> int:
    """Return for how long a validator was online.

    Unspecified: a node that has never had a peer has seen no other node online.

    Args:
        chain: The chain.
        seen: The validator.
        now: Unix seconds.
    """
    if uptime_rows.tracking(chain.db) is not None:
        return seen.up_until(now)
    if seen.node_id != chain.node_id:
        return 0
    return seen.up_until(now, tracking=False)


def seconds_online_of(
    chain: PlatformChain, subnet_id: ID, validation_id: ID, now: int
) -> int | None:
    """Return for how long a current validator of a subnet was online; None: it has no such validator."""
    seen = subnet_uptime.find(chain.db, subnet_id, validation_id)
    return None if seen is None else seconds_online(chain, seen, now)
