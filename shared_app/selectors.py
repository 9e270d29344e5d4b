"""Outputs that a chain can import: by owner, in pages as clients get them, and their sum."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from chaindb.database import Database
from chaindb.sums import column_sum
from primitives.ids import ID, ShortID
from shared_app.models import EarlyImport, SharedOutput
from shared_app.paging import PAGE, OwnedOutputs, UtxoCursor, UtxoPage

_GROUPS: Final = """
SELECT source_chain, destination_chain, asset_id, count(*), sum(CAST(amount AS DOUBLE PRECISION))
FROM platform_app_sharedutxo GROUP BY source_chain, destination_chain, asset_id
ORDER BY CASE WHEN asset_id = %s THEN 0 ELSE 1 END, count(*) DESC, asset_id LIMIT %s
"""


def waiting_outputs(
    db: Database,
    addresses: Iterable[ShortID],
    *,
    destination: ID,
    source: ID,
    after: UtxoCursor | None = None,
    limit: int = PAGE,
    newest_first: bool = False,
) -> UtxoPage:
    """Return a page of the outputs that one chain exported to another one; see `OwnedOutputs.page`.

    Args:
        db: The database of both chains.
        addresses: Their owners, in any order.
        destination: The chain that can import the outputs.
        source: The chain that exported them.
        after: The end of the previous page; without it, the page starts with the first output.
        limit: Maximum number of UTXOs, 1 to `PAGE`.
        newest_first: Whether the latest block's outputs come first.
    """
    outputs = OwnedOutputs(
        db, "platform_app_sharedutxo", "platform_app_sharedutxoowner", (destination, source)
    )
    return outputs.page(addresses, after=after, limit=limit, newest_first=newest_first)


def waiting_amount(db: Database, asset: ID) -> int:
    """Return how much of an asset waits between chains, in its smallest units."""
    return column_sum(db, SharedOutput, "amount", "asset_id = %s", [asset])


class WaitingGroup(NamedTuple):
    """The outputs of one asset that wait between two chains."""

    source: ID
    destination: ID
    asset: ID
    outputs: int
    amount: float
    """In the asset's smallest units; exact below 2^53."""


def waiting_groups(db: Database, coin: ID, most: int) -> list[WaitingGroup]:
    """Return the waiting outputs by chains and asset: all groups of the coin, then the largest ones.

    Anybody may create assets and export them, so the number of groups has no limit of its own.

    Args:
        db: The database of the chains.
        coin: The asset ID of the network's coin.
        most: Maximum number of groups.
    """
    return [
        WaitingGroup(
            ID(bytes(source)), ID(bytes(destination)), ID(bytes(asset)), count, float(amount)
        )
        for source, destination, asset, count, amount in db.rows(_GROUPS, (coin, most))
    ]


def early_imports(db: Database) -> bool:
    """Return whether outputs were imported whose exports this node has not executed yet."""
    return db.objects(EarlyImport).exists()
