"""What a wallet can choose its coins from."""

from collections.abc import Collection

from platform_app.selectors import outputs
from platform_app.store import mempool
from platform_app.txs.codec import CODEC
from platform_app.txs.components import UTXO, inner_output
from primitives.ids import ID, ShortID


def coins_of(addresses: Collection[ShortID]) -> list[UTXO]:
    """Return all unspent outputs of which any of these addresses is an owner, best ones first.

    Unspecified: larger ones come first, so that a transaction has few inputs; those that a waiting
    transaction spends come last, so that they are chosen only where the others are too little, and the
    mempool says whom they conflict with.
    """
    found, spent = _read(addresses)
    return sorted(found, key=lambda utxo: (utxo.utxo_id in spent, *_size(utxo)))


def free_coins_of(addresses: Collection[ShortID]) -> list[UTXO]:
    """Return the same without those that a waiting transaction spends."""
    found, spent = _read(addresses)
    return sorted((utxo for utxo in found if utxo.utxo_id not in spent), key=_size)


def shared_coins_of(addresses: Collection[ShortID], source_chain: ID) -> list[UTXO]:
    """Return a page of what another chain has exported to any of these addresses."""
    return list(map(_parse, outputs.utxos_of(addresses, source_chain=source_chain).utxos))


def _read(addresses: Collection[ShortID]) -> tuple[list[UTXO], Collection[ID]]:
    """Return outputs of these addresses, and which of them waiting transactions spend."""
    found: dict[ID, UTXO] = {}
    page = outputs.utxos_of(addresses)
    while page.utxos:
        found |= {utxo.utxo_id: utxo for utxo in map(_parse, page.utxos)}
        if len(page.utxos) < outputs.PAGE:
            break
        page = outputs.utxos_of(addresses, after=page.end)
    return list(found.values()), mempool.spenders(list(found))


def _size(utxo: UTXO) -> tuple[int, ID]:
    """Return what puts larger outputs first, and equal ones in one order."""
    return -inner_output(utxo.output).amount, utxo.utxo_id


def _parse(raw: bytes) -> UTXO:
    return CODEC.unmarshal(UTXO, raw)
