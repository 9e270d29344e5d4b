"""An operator's wish that a peer which is not asked any more be asked again.

Who is benched is in the memory of the network's process, which may be another one: it is told by a row.
"""

from chaindb.database import Database
from network_app import selectors
from network_app.store import peers
from primitives.ids import NodeID


class PardonRefused(Exception):
    """A wish that means nothing; the message says why."""


class NotBenched(PardonRefused):
    """The peer is asked as others are, or is not connected."""

    def __init__(self, node_id: NodeID) -> None:
        super().__init__(f"{node_id} is not benched")
        self.node_id = node_id


class NobodyListens(PardonRefused):
    """The network's process does not report, and what it had in memory has gone if it ended."""

    def __init__(self) -> None:
        super().__init__("the network's process is silent, and who is benched is in its memory")


def pardon(db: Database, node_id: NodeID) -> None:
    """Wish that a peer be asked again on all chains; the network's process does so at its next report.

    If the peer is gone by then, the wish goes with it.

    Raises:
        NobodyListens: That process is silent.
        NotBenched: By its last report the peer is asked, or is not connected.
    """
    reported = selectors.status()
    if reported is None or not selectors.is_fresh(reported):
        raise NobodyListens
    with db.atomic(durable=True):
        if not peers.pardon(node_id):
            raise NotBenched(node_id)
