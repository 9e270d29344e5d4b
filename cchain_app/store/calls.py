"""Calls of accepted transactions, written after their blocks, in order and each exactly once.

The progress is the key of the next row. It is updated in the transaction that writes the rows, and only if it is
still the value that the writer has read. So two writers never write the same rows, and a writer that was killed
resumes in the middle of a block.
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
"""The key of the only row."""

_READ: Final = """
SELECT next_call, unrecorded, coalesce((SELECT max(id) FROM cchain_app_rewind), 0),
  coalesce((SELECT number FROM chaindb_generation WHERE id = 1), 0),
  coalesce((SELECT first_call FROM cchain_app_kepthistory WHERE id = 1), 0)
FROM cchain_app_callprogress WHERE id = %s
"""

# If two processes insert at the same time, the second one reads the progress of the first.
_BEGIN: Final = """
INSERT INTO cchain_app_callprogress (id, next_call, unrecorded) VALUES (%s, %s, 0)
ON CONFLICT (id) DO NOTHING
"""

FIRST: Final = row_id(1)
"""The first key: the genesis block executes nothing."""

_KEPT_REVERT_DATA: Final = 1024
_KEPT_ERROR: Final = 100
_SELECTOR: Final = 4


class CallIndexProgress(NamedTuple):
    """The progress of writing calls."""

    next_call: int
    """The key of the next row."""
    unrecorded: int
    """Number of transactions of which only the outermost frame is a row."""
    rewinds: int = 0
    """Number of rewinds of the development chain at that time."""
    generation: int = 0
    """Number of times that its rows were rewound (`chaindb.generation`)."""
    first: int = 0
    """The first block whose calls are kept (`history`)."""

    @property
    def height(self) -> int:
        """The height up to which all calls are written."""
        return height_of(self.next_call) - 1


class CallProgressMoved(Exception):
    """Another process has written these calls, or the chain was rewound and may have other blocks now."""


def progress(db: Database) -> CallIndexProgress | None:
    """Return the progress of writing calls, or None if it was never started."""
    row = db.row(_READ, [_ONLY])
    return None if row is None else CallIndexProgress(*row)


def begin(db: Database) -> CallIndexProgress:
    """Start writing calls, unless that was done before; return the progress."""
    written = progress(db)
    if written is None:
        with db.atomic():
            db.execute(_BEGIN, (_ONLY, FIRST))
            written = progress(db)
            assert written is not None
    return written


def write(
    db: Database, rows: Sequence[Row], before: CallIndexProgress, after: CallIndexProgress
) -> None:
    """Write rows with keys from the next one on, and move the progress past them.

    Args:
        db: The chain's database.
        rows: The rows.
        before: The progress before any of their blocks was read.
        after: The progress afterwards.

    Raises:
        CallProgressMoved: The progress is another one by now; nothing is written.
    """
    with db.atomic():
        # A rewind locks this row before it deletes any block, so the values read here hold until the commit.
        list(db.objects(models.CallProgress).select_for_update().filter(id=_ONLY))
        if progress(db) != before:
            raise CallProgressMoved
        db.upsert(models.CallProgress, _PROGRESS, [(_ONLY, after.next_call, after.unrecorded)])
        db.insert(models.Call, _CALL, rows)


class RecordedFrames(NamedTuple):
    """The recorded frames of a transaction."""

    frames: Sequence[Frame]
    whole: bool = True
    """Whether these are all frames; otherwise the outermost one represents them, without its gas."""


def rows_of(
    number: int, position: int, place: int, transactions: Sequence[RecordedFrames]
) -> Iterator[Row]:
    """Yield the rows of a block's transactions from a position on.

    Args:
        number: Height of the block.
        position: Index of the first of these transactions.
        place: Position of its first row among the block's rows.
        transactions: The recorded frames of the transactions.
    """
    for following, recorded in enumerate(transactions):
        shown = placed(recorded.frames)
        for index, (frame, succeeded) in enumerate(zip(shown, outcomes(shown), strict=True)):
            gas = (frame.frame.gas, frame.frame.gas_used) if recorded.whole else (None, None)
            yield (
                row_id(number, place), row_id(number, position + following), index,
                *_columns(frame), *gas, succeeded,
            )  # fmt: skip
            place += 1


def call_of_row(row: Row) -> models.Call:
    """Return a row as a model instance, without writing it."""
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
