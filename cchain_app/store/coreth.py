"""Rows of the fields that only coreth's headers have."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cchain_app import models
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.rules.coreth.description import fields_of
from chaindb.database import Database
from primitives.upgrades import UpgradeTimes

_COLUMNS: Final = (
    "number", "ext_data_hash", "ext_data_gas_used", "block_gas_cost", "time_milliseconds",
    "min_delay_excess", "min_delay", "gas_capacity", "gas_excess", "target_excess", "gas_target",
)  # fmt: skip
_LAST: Final = """
SELECT gas_capacity, gas_excess, gas_target, min_delay FROM cchain_app_corethblock
ORDER BY number DESC LIMIT 1
"""


class LastFields(NamedTuple):
    """Values of the last block; None: its phase does not have them."""

    gas_capacity: int | None
    gas_excess: int | None
    gas_target: int | None
    """Gas per second."""
    min_delay: int | None
    """Milliseconds."""


def commit(db: Database, blocks: Iterable[AcceptedBlock], upgrades: UpgradeTimes) -> None:
    """Write the fields of accepted blocks; the caller holds the chain's lock and the transaction."""
    db.insert(models.CorethBlock, _COLUMNS, [_row(block, upgrades) for block in blocks])


def _row(block: AcceptedBlock, upgrades: UpgradeTimes) -> tuple[Any, ...]:
    fields = fields_of(block.header, upgrades)
    assert fields is not None, "the chain is of coreth"
    state = fields.gas_state
    of_state = (
        (None,) * 4
        if state is None
        else (state.capacity, state.excess, state.target_excess, state.target)
    )
    return (block.number, *fields[:-1], *of_state)


def last_fields(db: Database) -> LastFields | None:
    """Return values of the last block; None: the chain has no such fields."""
    row = db.row(_LAST)
    if row is None:
        return None
    return LastFields(*(None if value is None else int(value) for value in row))


def forget_above(db: Database, number: int) -> None:
    """Delete the fields of all blocks above a height."""
    db.execute("DELETE FROM cchain_app_corethblock WHERE number > %s", (number,))
