"""Balances of addresses, and pages of their outputs."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

from chaindb import clock
from platform_app.api import params
from platform_app.api.answers import Passing
from platform_app.api.errors import refused, saying, too_many
from platform_app.api.params import StartIndex
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json, encoded
from platform_app.memory.answers import NEVER, Lifetime
from platform_app.selectors import outputs
from platform_app.selectors.outputs import Funds
from platform_app.txs.codec import CODEC
from primitives.checksummed import EncodingError, TextEncoding
from primitives.ids import ID, PRIMARY_NETWORK_ID, ShortID
from shared_app.paging import PAGE, UtxoCursor
from utxo.components import UTXO

MAX_ADDRESSES: Final = 1024


def get_balance(rpc: PlatformRpc, one: str, several: Sequence[str]) -> Json | Passing:
    """platform.getBalance: the balance of one address, or of several together.

    Unspecified: older clients send `address` and newer ones `addresses`; both may be given. Without addresses the
    balance is zero. The maximum number of addresses is that of getUTXOs. Funds that other owners must sign for too
    count in full. The maps leave out assets without funds, as in the reference; `utxoIDs` has the order of getUTXOs.
    There are no pages: time and size of the answer are proportional to the number of outputs (50,000 of them are
    4 MB), so use getUTXOs for owners of many outputs.
    """
    given = [*([one] if one else []), *several]
    if len(given) > MAX_ADDRESSES:
        raise too_many("addresses", len(given), MAX_ADDRESSES)
    balance = outputs.balance(
        rpc.chain,
        params.read_all(rpc.chain, given),
        now=clock.now(),
        newest_first=rpc.chain.answers_as_reference,
    )
    coins = balance.funds.get(rpc.chain.network().asset_id, Funds())
    shown = {
        "balance": str(coins.total),
        "unlocked": str(coins.unlocked),
        "lockedStakeable": str(coins.locked_stakeable),
        "lockedNotStakeable": str(coins.locked_not_stakeable),
        "balances": _amounts(rpc, balance.funds, "total"),
        "unlockeds": _amounts(rpc, balance.funds, "unlocked"),
        "lockedStakeables": _amounts(rpc, balance.funds, "locked_stakeable"),
        "lockedNotStakeables": _amounts(rpc, balance.funds, "locked_not_stakeable"),
        "utxoIDs": [
            {"txID": rpc.id_text(tx_id), "outputIndex": index} for tx_id, index in balance.utxos
        ],
    }
    if balance.since == 0 and balance.until is None:
        return shown
    return Passing(shown, Lifetime(balance.since, inf if balance.until is None else balance.until))


def get_utxos(  # noqa: PLR0917  # arguments come by position
    rpc: PlatformRpc,
    given: Sequence[str],
    source_chain: str,
    limit: int,
    start: StartIndex,
    encoding: TextEncoding,
) -> Json | Passing:
    """platform.getUTXOs: a page of the outputs of addresses on this chain, or exported to them by another chain.

    Unspecified: `endIndex` is the last address searched and the last output found, as in the reference; before
    the first output its ID is empty. A page has at most 1024 outputs, which is also the default. The order is that
    of addresses, then of UTXO IDs; with NODE_PARAMETERS=avalanchego the newest outputs of an address come first, as
    in the reference. An output of several owners is on a page once.
    """
    if not given:
        raise refused("no addresses provided")
    if len(given) > MAX_ADDRESSES:
        raise too_many("addresses", len(given), MAX_ADDRESSES)
    source = _source(rpc, source_chain)
    page = outputs.utxos_of(
        rpc.chain,
        params.read_all(rpc.chain, given),
        after=_cursor(rpc, start) if start.is_given else None,
        limit=limit if 0 < limit <= PAGE else PAGE,
        source_chain=source,
        newest_first=rpc.chain.answers_as_reference,
    )
    shown = {
        "numFetched": str(len(page.utxos)),
        "utxos": _encoded(page.utxos, encoding),
        "endIndex": {"address": rpc.address(page.end.address), "utxo": str(page.end.utxo_id)},
        "encoding": encoding.value,
    }
    # The other chain may export more at any time, without a block of this one.
    return shown if source is None else Passing(shown, NEVER)


def _encoded(raws: Sequence[bytes], encoding: TextEncoding) -> list[str]:
    try:
        return encoded(raws, encoding)
    except EncodingError as error:
        first = CODEC.unmarshal(UTXO, raws[0])
        raise refused(f"couldn't encode UTXO {first.utxo_id} as json: {error}") from error


def _amounts(rpc: PlatformRpc, funds: Mapping[ID, Funds], kind: str) -> dict[str, str]:
    """Return the amounts of one kind by asset, without assets that have no funds."""
    amounts = {asset_id: getattr(of_asset, kind) for asset_id, of_asset in funds.items()}
    return rpc.amounts({asset_id: amount for asset_id, amount in amounts.items() if amount})


def _source(rpc: PlatformRpc, alias: str) -> ID | None:
    """Return the chain that exported the outputs; None for outputs of this chain."""
    if not alias:
        return None
    with saying(f"problem parsing source chainID {params.quoted(alias)}"):
        chain_id = params.chain_id_of(rpc.chain, alias)
    return None if chain_id == PRIMARY_NETWORK_ID else chain_id


def _cursor(rpc: PlatformRpc, start: StartIndex) -> UtxoCursor:
    shown = params.quoted(start.address)
    with saying(f"couldn't parse start index address {shown}"):
        owner: ShortID = params.read(rpc.chain, start.address)
    with saying("couldn't parse start index utxo"):
        utxo_id = ID.parse(start.utxo)
    return UtxoCursor(owner, utxo_id)
