"""Pardons: an operator's request to send requests to a benched peer again.

The bench is in the memory of the network's process, which may be another process, so a pardon is passed as a row.
"""

from enum import StrEnum

from chaindb.database import Database
from network_app import selectors
from network_app.store import peers
from primitives.ids import NodeID
from primitives.reasons import ErrorWithReason


class PardonReason(StrEnum):
    """A reason why a pardon has no effect."""

    # The peer is not benched, or is not connected.
    NOT_BENCHED = "{node_id} is not benched"
    # The network's process does not report; if it has ended, its bench is lost.
    NO_REPORT = "the network's process is silent, and who is benched is in its memory"


class PardonRefused(ErrorWithReason):
    """A pardon without effect; the message gives the reason."""


def pardon(db: Database, node_id: NodeID) -> None:
    """Request that a peer be asked again on all chains; the network's process executes it at its next report.

    If the peer is gone by then, the request is dropped.

    Raises:
        PardonRefused: The network's process does not report, or its last report says that the peer is not benched or
            not connected.
    """
    reported = selectors.status()
    if reported is None or not selectors.is_fresh(reported):
        raise PardonRefused(PardonReason.NO_REPORT)
    with db.atomic(durable=True):
        if not peers.pardon(node_id):
            raise PardonRefused(PardonReason.NOT_BENCHED, node_id=node_id)
