"""Pages of outputs, and of the transactions of an address."""

from collections.abc import Sequence
from typing import Final

from jsonrpc.dispatch.values import StartIndex, quoted, refused, too_many
from primitives.checksummed import EncodingError, TextEncoding, encode_each
from primitives.ids import ID, ShortID
from shared_app.paging import PAGE, UtxoCursor
from utxo.components import UTXO
from xchain_app.api.assets import asset_id_of
from xchain_app.api.rpc import ERRORS, AvmRpc, Json
from xchain_app.selectors import outputs
from xchain_app.txs.codec import CODEC

MAX_ADDRESSES: Final = 1024
MAX_PAGE: Final = 1024
"""Maximum number of transactions in one result."""


def get_utxos(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    given: Sequence[str],
    source_chain: str,
    limit: int,
    start: StartIndex,
    encoding: TextEncoding,
) -> Json:
    """avm.getUTXOs: a page of the outputs of addresses on this chain, or exported to them by another chain.

    Unspecified: `endIndex` is the last address searched and the last output found, as in the reference. A page has at most
    1024 outputs, which is also the default. Addresses are in the order of their bytes; within an address the outputs of
    later blocks come first (those exported by another chain on networks of avalanchego only). An output of several owners is on a page once. Rights to mint, collectibles and property are
    included.
    """
    if not given:
        raise refused("no addresses provided")
    if len(given) > MAX_ADDRESSES:
        raise too_many("addresses", len(given), MAX_ADDRESSES)
    source = _source(rpc, source_chain)
    page = outputs.utxos_of(
        rpc.chain,
        [rpc.read_address(text) for text in given],
        after=_cursor(rpc, start) if start.is_given else None,
        limit=limit if 0 < limit <= PAGE else PAGE,
        source_chain=source,
    )
    return {
        "numFetched": str(len(page.utxos)),
        "utxos": _encoded(page.utxos, encoding),
        "endIndex": {"address": rpc.chain.address(page.end.address), "utxo": str(page.end.utxo_id)},
        "encoding": encoding.value,
    }


def get_address_txs(rpc: AvmRpc, address: str, asset: str, cursor: int, page_size: int) -> Json:
    """avm.getAddressTxs: transactions that consumed or created outputs of an asset which name an address.

    The oldest come first. `cursor` is the number of transactions to skip; the result has that of the next page. The
    genesis is not included.
    """
    if page_size > MAX_PAGE:
        raise refused(f"pageSize > maximum allowed ({MAX_PAGE})")
    with ERRORS.saying("couldn't parse argument 'address' to address"):
        short_id: ShortID = rpc.read_address(address)
    with ERRORS.saying("specified `assetID` is invalid"):
        asset_id: ID = asset_id_of(rpc, asset)
    start = min(cursor, 2**62)
    tx_ids = outputs.address_txs(
        rpc.chain, short_id, asset_id, cursor=start, limit=page_size or MAX_PAGE
    )
    return {"txIDs": [str(tx_id) for tx_id in tx_ids], "cursor": str(cursor + len(tx_ids))}


def _source(rpc: AvmRpc, alias: str) -> ID | None:
    """Return the chain that exported the outputs; None for outputs of this chain."""
    if not alias:
        return None
    with ERRORS.saying(f"problem parsing source chainID {quoted(alias)}"):
        chain_id: ID = rpc.chain_id_of(alias)
    return None if chain_id == rpc.chain.blockchain_id else chain_id


def _cursor(rpc: AvmRpc, start: StartIndex) -> UtxoCursor:
    with ERRORS.saying(f"couldn't parse start index address {quoted(start.address)}"):
        owner: ShortID = rpc.read_address(start.address)
    with ERRORS.saying("couldn't parse start index utxo"):
        last: ID = ID.parse(start.utxo)
    return UtxoCursor(owner, last)


def _encoded(raws: Sequence[bytes], encoding: TextEncoding) -> list[str]:
    if not raws:
        return []
    try:
        return encode_each(raws, encoding)
    except EncodingError as error:
        first = CODEC.unmarshal(UTXO, raws[0])
        raise refused(f"couldn't encode UTXO {first.utxo_id} as string: {error}") from error
