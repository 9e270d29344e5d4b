"""Transactions of a wallet, built anew where others have taken its coins meanwhile.

Coins are chosen outside any lock: reading them takes long. Requests that come at once choose the same
ones, and one of them gets in. Two that ask for the same even build the same transaction, which the mempool
would acknowledge to both: so while one is issued, its ID is claimed in Django's cache, which all
processes share in production.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from django.core.cache import cache

from platform_app.chain import PlatformChain
from platform_app.executor.errors import SharedUtxoMissing, UtxoMissing
from platform_app.selectors import accepted, coins
from platform_app.services import mempool
from platform_app.services.errors import ConflictingTx
from platform_app.store import mempool as waiting
from platform_app.store import rows
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.errors import InvalidTx
from platform_app.wallet.errors import NotBuilt
from platform_app.wallet.keystore_errors import TxNotCreated
from platform_app.wallet.wallet import Wallet
from primitives.codec_errors import CodecError
from primitives.ids import ID

ATTEMPTS: Final = 5
_CLAIMED: Final = 60
"""Seconds after which the claim of a process that was killed is void."""

Build = Callable[[Wallet], Tx]


class _Duplicate(ConflictingTx):
    """Somebody else's is the very same transaction: a conflict for whoever asked for another."""


def build_and_issue(chain: PlatformChain, wallet: Wallet, build: Build, *, now: int) -> ID:
    """Issue what a wallet builds, a transaction that nobody has issued before; return its ID.

    Where others take the coins first, it is built of other coins, five times at most.

    Raises:
        TxNotCreated: Coins, subnet or syntax do not allow it.
        ConflictingTx: There are no other coins, or others were faster each time.
        RefusedIssue: The mempool does not take it now.
        InvalidTx: The rules refuse it.
    """
    tx = _built(wallet, build)
    for _ in range(ATTEMPTS - 1):
        try:
            return _issue(chain, tx, now)
        except ConflictingTx as conflict:
            wallet = _read_anew(chain, wallet, _taken(chain, tx, conflict))
            tx = _built(wallet, build, conflict)
        except (UtxoMissing, SharedUtxoMissing):  # a block came after the coins were read
            wallet = _read_anew(chain, wallet, set())
            tx = _built(wallet, build)
    return _issue(chain, tx, now)


def _built(wallet: Wallet, build: Build, conflict: ConflictingTx | None = None) -> Tx:
    """Build, or say why not: without a conflict's coins it is the conflict."""
    try:
        return build(wallet)
    except (NotBuilt, InvalidTx, CodecError) as reason:
        raise conflict or TxNotCreated(reason) from reason


def _issue(chain: PlatformChain, tx: Tx, now: int) -> ID:
    """Issue a transaction that is nobody else's.

    Raises:
        ConflictingTx: Somebody else's spends the same.
    """
    with _claim(chain, tx.tx_id):
        if accepted.status(chain, tx.tx_id).status not in (
            TxStatus.UNKNOWN,
            TxStatus.DROPPED,
        ):
            raise _Duplicate(tx.tx_id)
        return mempool.issue_tx(chain, tx, now=now)


@contextmanager
def _claim(chain: PlatformChain, tx_id: ID) -> Iterator[None]:
    """Be the only one who issues a transaction."""
    key = chain.cache_key(f"wallet-{tx_id}")
    if not cache.add(key, True, _CLAIMED):
        raise _Duplicate(tx_id)
    try:
        yield
    finally:
        cache.delete(key)


def _taken(chain: PlatformChain, tx: Tx, conflict: ConflictingTx) -> set[ID]:
    """Return which of a transaction's coins somebody else spends."""
    spent = [one.utxo_id for one in rows.inputs_of(tx)]
    return (
        set(spent) if isinstance(conflict, _Duplicate) else set(waiting.spenders(chain.db, spent))
    )


def _read_anew(chain: PlatformChain, wallet: Wallet, taken: set[ID]) -> Wallet:
    """Return the wallet as the chain has it now, without coins that others take."""
    return replace(
        wallet,
        utxos=coins.coins_of(chain, wallet.keychain.addresses),
        avoided=wallet.avoided | taken,
    )
