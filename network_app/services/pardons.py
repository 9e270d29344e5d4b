"""Pardons: an operator's request to send requests to a benched peer again.

The bench is in the memory of the network's process, which may be another process, so a pardon is passed as a row.
"""

from chaindb.database import Database
from network_app import selectors
from network_app.store import peers
from primitives.ids import NodeID


class PardonRefused(Exception):
    """A pardon without effect; the message gives the reason."""


class NotBenched(PardonRefused):
    """The peer is not benched, or is not connected."""

    def __init__(self, node_id: NodeID) -> None:
        super().__init__(f"{node_id} is not benched")
        self.node_id = node_id


class NobodyListens(PardonRefused):
    """The network's process does not report; if it has ended, its bench is lost."""

    def __init__(self) -> None:
        super().__init__("the network's process is silent, and who is benched is in its memory")


def pardon(db: Database, node_id: NodeID) -> None:
    """Request that a peer be asked again on all chains; the network's process executes it at its next report.

    If the peer is gone by then, the request is dropped.

    Raises:
        NobodyListens: The network's process does not report.
        NotBenched: According to its last report the peer is not benched, or is not connected.
    """
    reported = selectors.status()
    if reported is None or not selectors.is_fresh(reported):
        raise NobodyListens
    with db.atomic(durable=True):
        if not peers.pardon(node_id):
            raise NotBenched(node_id)
