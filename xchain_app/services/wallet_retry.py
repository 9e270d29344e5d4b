"""Issuing of wallet transactions that are built again while other pending transactions spend the coins.

A wallet with one large coin cannot pay again before the block with its change, which takes a moment.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from primitives.ids import ID
from utxo.errors import InvalidTx
from xchain_app.chain import AvmChain
from xchain_app.executor.errors import MissingAvmUtxo, causes_of
from xchain_app.services import mempool, wallet
from xchain_app.services.errors import AvmIssueReason, RefusedAvmTx
from xchain_app.store import mempool as mempool_rows
from xchain_app.txs.base import AvmTx
from xchain_app.wallet.errors import AvmWalletError
from xchain_app.wallet.transactions import AvmWallet

PATIENCE: Final = 5.0
"""Seconds for which coins that pending transactions spend are awaited."""
_PAUSE: Final = 0.05
"""Seconds between two looks."""


def build_and_issue(
    chain: AvmChain,
    keys: Sequence[bytes],
    build: Callable[[AvmWallet], AvmTx],
    *,
    now: Callable[[], int],
    patience: float = PATIENCE,
) -> ID:
    """Issue a transaction that a wallet builds from coins that no pending transaction spends; return its ID.

    It is built again only if other requests or blocks have spent its coins. Any other refusal is raised at once.

    Args:
        chain: The chain.
        keys: Private keys of 32 bytes.
        build: Builds the transaction.
        now: Returns the time in Unix seconds.
        patience: Seconds for which the change of pending transactions is awaited.

    Raises:
        AvmWalletError: The keys have too few coins, or too few that are not being spent.
        RefusedAvmTx: The mempool rejects it.
        InvalidTx: The rules reject it.
        NoXChain: The database holds no chain.
    """
    deadline = time.monotonic() + patience
    while True:
        own, is_spending = unspent_wallet(chain, keys, now())
        is_late = time.monotonic() > deadline
        try:
            return mempool.issue_tx(chain, build(own), now=now())
        except AvmWalletError:
            if is_late or not is_spending or not _can_build(own, build):
                raise
        except RefusedAvmTx as refused:
            if is_late or refused.reason is not AvmIssueReason.CONFLICTING_TX:
                raise
        except InvalidTx as reason:  # a block may have spent the coins
            if is_late or not any(isinstance(cause, MissingAvmUtxo) for cause in causes_of(reason)):
                raise
        time.sleep(_PAUSE)


def _can_build(own: AvmWallet, build: Callable[[AvmWallet], AvmTx]) -> bool:
    """Return whether the coins would suffice if no pending transaction spent some of them."""
    try:
        build(AvmWallet(own.env, replace(own.wallet, avoided=frozenset())))
    except AvmWalletError:
        return False
    return True


def unspent_wallet(chain: AvmChain, keys: Sequence[bytes], now: int) -> tuple[AvmWallet, bool]:
    """Return a wallet without the coins that pending transactions spend, and whether there are any such coins.

    Raises as `build_and_issue`.
    """
    own = wallet.own_wallet(chain, keys, now=now)
    spent = frozenset(mempool_rows.spenders(chain.db, [utxo.utxo_id for utxo in own.wallet.utxos]))
    return AvmWallet(own.env, replace(own.wallet, avoided=spent)), bool(spent)
