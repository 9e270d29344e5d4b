"""The status of a transaction, numbered as the reference implementation stores it (pchain.md 5.5)."""

from enum import IntEnum


class TxStatus(IntEnum):
    """Where a transaction is in its life; `label` is what platform.getTxStatus answers."""

    UNKNOWN = 0
    COMMITTED = 4
    ABORTED = 5
    PROCESSING = 6
    DROPPED = 8

    @property
    def label(self) -> str:
        """The specification's word for it."""
        return self.name.capitalize()
