"""The coins that a wallet can spend."""

from collections.abc import Collection

from chaindb.fields import for_database
from platform_app.chain import PlatformChain
from platform_app.selectors import outputs
from platform_app.store import mempool, rows
from platform_app.txs.base import inner_output
from platform_app.txs.codec import CODEC
from primitives.ids import ID, ShortID
from shared_app.paging import PAGE
from utxo.components import UTXO

_LARGEST = """
SELECT u.tx_id, u.output_index, u.asset_id, u.output
FROM platform_app_utxoowner o JOIN platform_app_utxo u ON u.utxo_id = o.utxo_id
WHERE o.address = %s AND u.asset_id = %s AND u.threshold = 1 AND u.locktime <= %s
  AND NOT EXISTS (SELECT 1 FROM platform_app_mempoolinput m WHERE m.utxo_id = u.utxo_id)
ORDER BY u.amount DESC, u.utxo_id LIMIT %s
"""


def coins_of(chain: PlatformChain, addresses: Collection[ShortID]) -> list[UTXO]:
    """Return all unspent outputs of which any of these addresses is an owner, best ones first.

    Unspecified: larger outputs come first, so that a transaction has few inputs. Outputs that a pending
    transaction spends come last, so that they are chosen only if the others are not enough; the mempool's
    error then names the conflicting transaction. All outputs are read and parsed to find the largest: the
    time is proportional to the number of outputs of these addresses, about 40 microseconds per output.
    """
    utxos, spent = _read(chain, addresses)
    return sorted(utxos, key=lambda utxo: (utxo.utxo_id in spent, *_size(utxo)))


def largest_free_coins(
    chain: PlatformChain, address: ShortID, *, asset_id: ID, now: int, most: int
) -> list[UTXO]:
    """Return the coins that one key can stake or spend at the time `now`, largest first, at most `most`.

    Coins that need signatures of others, or that a pending transaction spends, are left out.
    """
    opened = for_database(now, 20, chain.db.connection.vendor)
    utxo_rows = chain.db.rows(_LARGEST, (address, asset_id, opened, most))
    return [rows.utxo_of(*columns) for columns in utxo_rows]


def shared_coins_of(
    chain: PlatformChain, addresses: Collection[ShortID], source_chain: ID
) -> list[UTXO]:
    """Return a page of the outputs that another chain has exported to any of these addresses."""
    return list(map(_parse, outputs.utxos_of(chain, addresses, source_chain=source_chain).utxos))


def _read(
    chain: PlatformChain, addresses: Collection[ShortID]
) -> tuple[list[UTXO], Collection[ID]]:
    """Return outputs of these addresses, and the IDs of those that pending transactions spend."""
    utxos: dict[ID, UTXO] = {}
    page = outputs.utxos_of(chain, addresses)
    while page.utxos:
        utxos |= {utxo.utxo_id: utxo for utxo in map(_parse, page.utxos)}
        if len(page.utxos) < PAGE:
            break
        page = outputs.utxos_of(chain, addresses, after=page.end)
    return list(utxos.values()), mempool.spenders(chain.db, list(utxos))


def _size(utxo: UTXO) -> tuple[int, ID]:
    """Return a sort key that puts larger outputs first, with a fixed order among equal ones."""
    return -inner_output(utxo.output).amount, utxo.utxo_id


def _parse(raw: bytes) -> UTXO:
    return CODEC.unmarshal(UTXO, raw)
