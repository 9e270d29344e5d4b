"""Issuing of wallet transactions, rebuilt if other requests have spent their coins meanwhile.

Coins are selected without a lock, because reading them is slow. Concurrent requests select the same coins, and
only one of them succeeds. Two identical requests even build the same transaction, which the mempool would
acknowledge twice. Therefore, while a transaction is issued, its ID is claimed in Django's cache, which all
processes share in production.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from django.core.cache import cache

from platform_app.chain import PlatformChain
from platform_app.executor.errors import MissingUtxo
from platform_app.selectors import accepted, coins
from platform_app.services import mempool
from platform_app.services.errors import ConflictingTx, IssueReason
from platform_app.store import mempool as mempool_rows
from platform_app.store import rows
from platform_app.txs.base import Tx, TxStatus
from platform_app.wallet.errors import KeystoreReason, NotBuilt, TxNotCreated
from platform_app.wallet.wallet import PlatformWallet
from primitives.codec_errors import CodecError
from primitives.ids import ID
from utxo.errors import InvalidTx

ATTEMPTS: Final = 5
_CLAIM_SECONDS: Final = 60
"""Seconds after which the claim of a killed process expires."""

Build = Callable[[PlatformWallet], Tx]


class _Duplicate(ConflictingTx):
    """Another request built an identical transaction: a conflict, because each request needs its own."""


def build_and_issue(chain: PlatformChain, wallet: PlatformWallet, build: Build, *, now: int) -> ID:
    """Issue a transaction that a wallet builds and that no other request has issued; return its ID.

    If other requests spend the coins first, it is rebuilt with other coins, up to five attempts in all.

    Raises:
        TxNotCreated: Coins, subnet or syntax do not allow it.
        ConflictingTx: There are no other coins, or other requests were faster each time.
        RefusedIssue: The mempool rejects it for now.
        InvalidTx: The rules reject it.
    """
    tx = _build_tx(wallet, build)
    for _ in range(ATTEMPTS - 1):
        try:
            return _issue(chain, tx, now)
        except ConflictingTx as conflict:
            wallet = _reread(chain, wallet, _spent_by_others(chain, tx, conflict))
            tx = _build_tx(wallet, build, conflict)
        except MissingUtxo:  # a block came after the coins were read
            wallet = _reread(chain, wallet, set())
            tx = _build_tx(wallet, build)
    return _issue(chain, tx, now)


def _build_tx(wallet: PlatformWallet, build: Build, conflict: ConflictingTx | None = None) -> Tx:
    """Build the transaction. If that fails after a conflict, raise the conflict, else TxNotCreated."""
    try:
        return build(wallet)
    except (NotBuilt, InvalidTx, CodecError) as reason:
        raise conflict or TxNotCreated(KeystoreReason.TX_NOT_CREATED, cause=reason) from reason


def _issue(chain: PlatformChain, tx: Tx, now: int) -> ID:
    """Issue a transaction that no other request has issued.

    Raises:
        ConflictingTx: Another request's transaction spends the same coins.
    """
    with _claim(chain, tx.tx_id):
        if accepted.status(chain, tx.tx_id).status not in (
            TxStatus.UNKNOWN,
            TxStatus.DROPPED,
        ):
            raise _Duplicate(IssueReason.CONFLICTING_TX, tx_id=tx.tx_id)
        return mempool.issue_tx(chain, tx, now=now)


@contextmanager
def _claim(chain: PlatformChain, tx_id: ID) -> Iterator[None]:
    """Claim the exclusive right to issue a transaction."""
    key = chain.cache_key(f"wallet-{tx_id}")
    if not cache.add(key, True, _CLAIM_SECONDS):
        raise _Duplicate(IssueReason.CONFLICTING_TX, tx_id=tx_id)
    try:
        yield
    finally:
        cache.delete(key)


def _spent_by_others(chain: PlatformChain, tx: Tx, conflict: ConflictingTx) -> set[ID]:
    """Return those of a transaction's coins that another transaction spends."""
    spent = [tx_input.utxo_id for tx_input in rows.inputs_of(tx)]
    return (
        set(spent)
        if isinstance(conflict, _Duplicate)
        else set(mempool_rows.spenders(chain.db, spent))
    )


def _reread(chain: PlatformChain, wallet: PlatformWallet, spent: set[ID]) -> PlatformWallet:
    """Return the wallet with the chain's current coins, without those that other transactions spend."""
    return replace(
        wallet,
        utxos=coins.coins_of(chain, wallet.keychain.addresses),
        avoided=wallet.avoided | spent,
    )
