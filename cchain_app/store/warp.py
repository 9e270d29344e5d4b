"""Rows of the warp messages that accepted blocks send."""

from collections.abc import Iterable
from typing import Final

from cchain_app import models
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.precompiles.sent import SentMessage, sent_messages
from chaindb.database import Database
from primitives.ids import ID

_COLUMNS: Final = ("message_id", "block_number", "log_index", "sender", "raw")
_KNOWN: Final = "SELECT message_id FROM cchain_app_warpmessage WHERE message_id IN ({keys})"
_RAW: Final = "SELECT raw FROM cchain_app_warpmessage WHERE message_id = %s"


def commit(db: Database, blocks: Iterable[AcceptedBlock]) -> None:
    """Write the messages of accepted blocks; the caller holds the chain's lock and the transaction.

    A message has no number of its own, so a sender may send the same one again: its first log counts.
    """
    sent: dict[ID, tuple[int, SentMessage]] = {}
    for block in blocks:
        logs = (log for receipt in block.receipts for log in receipt.logs)
        for message in sent_messages(logs):
            sent.setdefault(message.message.message_id, (block.number, message))
    if not sent:
        return
    known = {bytes(message_id) for (message_id,) in db.rows_by_keys(_KNOWN, list(sent))}
    rows = [
        (message_id, number, message.log_index, message.sender, message.message.raw)
        for message_id, (number, message) in sent.items()
        if message_id not in known
    ]
    db.insert(models.WarpMessage, _COLUMNS, rows)


def raw_message(db: Database, message_id: ID) -> bytes | None:
    """Return the unsigned bytes of a sent message; None: no block has sent it."""
    row = db.row(_RAW, (message_id,))
    return None if row is None else bytes(row[0])


def forget_above(db: Database, number: int) -> None:
    """Delete the messages of all blocks above a height."""
    db.execute("DELETE FROM cchain_app_warpmessage WHERE block_number > %s", (number,))
