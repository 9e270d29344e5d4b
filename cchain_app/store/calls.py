"""Calls of accepted transactions: written behind their blocks, in order and each once.

The progress is a key: that of the next row. It moves in the transaction that writes the rows, and only from
where the writer believes it to be, so that two writers never write the same, and one that was killed
goes on in the middle of a block.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from cchain_app import models
from cchain_app.evm import failures
from cchain_app.evm.tracing import Frame
from cchain_app.models.calls import CallType
from cchain_app.tracing.calls import outcomes
from cchain_app.tracing.parity import PlacedFrame, placed
from chaindb.database import Database, Row
from chaindb.fields import HexBytes, height_of, row_id

_CALL: Final = (
    "id", "transaction", "index", "depth", "trace_address", "type", "creates", "sender", "to", "value",
    "selector", "error", "revert_data", "gas", "gas_used", "succeeded",
)  # fmt: skip
_PROGRESS: Final = ("id", "next_call", "unrecorded")
_ONLY: Final = 1
"""The key of the one row."""

_READ: Final = """
SELECT next_call, unrecorded, coalesce((SELECT max(id) FROM cchain_app_rewind), 0),
  coalesce((SELECT number FROM chaindb_generation WHERE id = 1), 0),
  coalesce((SELECT first_call FROM cchain_app_kepthistory WHERE id = 1), 0)
FROM cchain_app_callprogress WHERE id = %s
"""

# Of two that begin at once the second finds how far the first is by now.
_BEGIN: Final = """
INSERT INTO cchain_app_callprogress (id, next_call, unrecorded) VALUES (%s, %s, 0)
ON CONFLICT (id) DO NOTHING
"""

FIRST: Final = row_id(1)
"""The first key: nothing was executed in the genesis block."""

_KEPT_REVERT_DATA: Final = 1024
_KEPT_ERROR: Final = 100
_SELECTOR: Final = 4


class Progress(NamedTuple):
    """How far calls are written."""

    next_call: int
    """The key of the next row."""
    unrecorded: int
    """Transactions of which only the outermost frame is a row."""
    rewinds: int = 0
    """How often a development chain had gone back by then."""
    generation: int = 0
    """How often its rows had gone back (`chaindb.generation`)."""
    first: int = 0
    """The first block whose calls are kept (`history`)."""

    @property
    def height(self) -> int:
        """The height up to which all calls are written."""
        return height_of(self.next_call) - 1


class ProgressMoved(Exception):
    """Another writer has written what this one was about to, or the chain went back and may have other blocks now."""


def progress(db: Database) -> Progress | None:
    """Return how far calls are written, or None where that was never begun."""
    found = db.row(_READ, [_ONLY])
    return None if found is None else Progress(*found)


def begin(db: Database) -> Progress:
    """Begin to write calls, unless that was done; return how far they are."""
    found = progress(db)
    if found is None:
        with db.atomic():
            db.execute(_BEGIN, (_ONLY, FIRST))
            found = progress(db)
            assert found is not None
    return found


def write(db: Database, rows: Sequence[Row], before: Progress, after: Progress) -> None:
    """Write rows whose keys are from the next one on, and move the progress behind them.

    Args:
        db: Where the chain is.
        rows: The rows.
        before: What the progress was before any of their blocks was read.
        after: What it is then.

    Raises:
        ProgressMoved: It is something else by now; nothing is written.
    """
    with db.atomic():
        # Who goes back takes this row before any block is deleted, so what is read now holds until the commit.
        list(db.objects(models.CallProgress).select_for_update().filter(id=_ONLY))
        if progress(db) != before:
            raise ProgressMoved
        db.upsert(models.CallProgress, _PROGRESS, [(_ONLY, after.next_call, after.unrecorded)])
        db.insert(models.Call, _CALL, rows)


class Recorded(NamedTuple):
    """What is known of a transaction's frames."""

    frames: Sequence[Frame]
    whole: bool = True
    """Whether those are all; else the outermost one stands for them, without its gas."""


def rows_of(
    number: int, position: int, place: int, transactions: Sequence[Recorded]
) -> Iterator[Row]:
    """Yield the rows of a block's transactions from a position on.

    Args:
        number: The block.
        position: Of the first of these transactions.
        place: Of its first row, among the block's.
        transactions: What is known of them.
    """
    for following, recorded in enumerate(transactions):
        shown = placed(recorded.frames)
        for index, (one, succeeded) in enumerate(zip(shown, outcomes(shown), strict=True)):
            gas = (one.frame.gas, one.frame.gas_used) if recorded.whole else (None, None)
            yield (
                row_id(number, place), row_id(number, position + following), index,
                *_columns(one), *gas, succeeded,
            )  # fmt: skip
            place += 1


def call_of_row(row: Row) -> models.Call:
    """Return a row as the model has it, without writing it."""
    fields = ("transaction_id" if name == "transaction" else name for name in _CALL)
    values = (HexBytes(value) if isinstance(value, bytes) else value for value in row)
    return models.Call(**dict(zip(fields, values, strict=True)))


def _columns(one: PlacedFrame) -> Row:
    frame = one.frame
    reverted = frame.error == failures.REVERTED and frame.output
    return (
        frame.depth, "_".join(map(str, one.address)), CallType[frame.type].value,
        frame.type.startswith("CREATE"), frame.sender,
        frame.to, frame.value or None, _selector(frame),
        None if frame.error is None else frame.error[:_KEPT_ERROR],
        frame.output[:_KEPT_REVERT_DATA] if reverted else None,
    )  # fmt: skip


def _selector(frame: Frame) -> bytes | None:
    if "CALL" not in frame.type or len(frame.input) < _SELECTOR:
        return None
    return frame.input[:_SELECTOR]
