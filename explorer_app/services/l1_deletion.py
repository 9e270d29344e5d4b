"""The deletion of an L1 on a local network.

The P-Chain forgets nothing: the subnet, its conversion and its validators stay. This node runs the L1's chains no longer,
and removes their blocks and states. Other nodes are not asked.
"""

import time
from typing import Final

from explorer_app.managers.ports import L1Tools
from explorer_app.services.l1_node import has_ended
from explorer_app.store import l1_requests as rows
from platform_app.chain import PlatformChain
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.networks import LOCAL

END_SECONDS: Final = 30.0
"""How long the node may take to end a chain."""


class NotDeleted(Exception):
    """A failure to delete an L1."""


def delete(
    platform: PlatformChain, tools: L1Tools, subnet_id: ID | None, name: str = ""
) -> list[ID]:
    """End the chains of an L1, remove their rows and the row of its creation; return the chains. Blocking.

    A second call removes the rest after an interrupted one.

    Args:
        platform: The P-Chain.
        tools: The parts of the node that it needs.
        subnet_id: The L1; None if its creation has not got to a subnet.
        name: The name under which its creation was begun, if it was begun here.

    Raises:
        NotDeleted: The network is not the local one; the subnet is the Primary Network; the node does not end a chain.
        AnotherAtWork: An L1 is created or deleted now.
        OSError: The rows cannot be removed.
        DatabaseError: Likewise.
    """
    if platform.node.network_id != LOCAL:
        raise NotDeleted("only on a local network a chain can be deleted")
    if subnet_id == PRIMARY_NETWORK_ID:
        raise NotDeleted("the chains of the Primary Network cannot be deleted")
    with tools.alone():
        ended = [] if subnet_id is None else list(tools.mark_deleted(subnet_id))
        until = time.monotonic() + END_SECONDS
        for blockchain_id in ended:
            while not has_ended(tools.call, blockchain_id):
                if time.monotonic() > until:
                    raise NotDeleted(
                        f"the node may still run {blockchain_id}, which it will end at its next start; then delete it again"
                    )
                time.sleep(0.1)
        tools.remove_rows(ended)
        if name:
            with platform.db.atomic(durable=True):
                rows.remove(platform.db, name)
    return ended
