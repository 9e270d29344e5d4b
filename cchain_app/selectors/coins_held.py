"""Where the coins of the C-Chain are, and where they came from: for the check that none appears or disappears."""

from enum import StrEnum
from typing import Final, NamedTuple

from cchain_app.blocks.assembly import blob_fees
from cchain_app.chain import EvmChain
from cchain_app.models import (
    Account,
    AtomicTransaction,
    Block,
    Call,
    CallType,
    ChangeKind,
    DevelopmentChange,
    Transaction,
)
from cchain_app.selectors import calls, figures
from cchain_app.txs.transaction import BLOB
from chaindb.sums import column_sum

_AT_ONCE: Final = 500
"""Blocks whose headers are read in one statement."""


class UncountableCoins(StrEnum):
    """Why the coins of a chain cannot be counted."""

    FORK = "the C-Chain is a fork, which has only the accounts that were read or changed"
    MINED = "the C-Chain was imported with proof-of-work rewards or withdrawals of another network"


class EvmCoins(NamedTuple):
    """Amounts in wei, except for `atomic_burned`."""

    genesis: int
    """Balances of the genesis."""
    given: int
    """Given by development methods such as setBalance, less what these took; may be negative."""
    balances: int
    """Balances at the head."""
    burned: int
    """Base fees and fees for blobs."""
    atomic_burned: int
    """Burned by imports and exports, in the smallest units of the P-Chain's coin."""
    may_destroy: bool
    """Whether contracts may have destroyed coins (SELFDESTRUCT): one has done it, or not all calls are rows."""


def coins_held(chain: EvmChain) -> EvmCoins | UncountableCoins:
    """Return the sums over all rows, or why there are none.

    The caller reads one state of the database (`Database.consistent_read`). It takes a scan of each table.
    """
    if chain.fork is not None:
        return UncountableCoins.FORK
    burns = not chain.is_of_coreth  # there the whole price of gas goes to an account without a key
    if burns and _is_mined(chain):
        return UncountableCoins.MINED
    return EvmCoins(
        genesis=sum(account.balance for account in chain.genesis.alloc.values()),
        given=_given(chain),
        balances=column_sum(chain.db, Account, "balance"),
        burned=_base_fees(chain) + _blob_fees(chain) if burns else 0,
        atomic_burned=column_sum(chain.db, AtomicTransaction, "burned"),
        may_destroy=_may_destroy(chain),
    )


def _is_mined(chain: EvmChain) -> bool:
    """Return whether blocks have paid rewards, or withdrawals that are not those of imports."""
    blocks = chain.db.objects(Block)
    if blocks.filter(withdrawals__isnull=False, payload__isnull=True).exists():
        return True
    first = blocks.filter(number=1).values_list("header", flat=True).first()
    return first is not None and chain.format.decode_header(bytes(first)).difficulty > 0


def _given(chain: EvmChain) -> int:
    changes = chain.db.objects(DevelopmentChange).filter(kind=ChangeKind.BALANCE).order_by("id")
    return sum(
        int.from_bytes(new) - int.from_bytes(old or b"")
        for old, new in changes.values_list("old", "new").iterator()
    )


def _base_fees(chain: EvmChain) -> int:
    blocks = chain.db.objects(Block).filter(gas_used__gt=0, base_fee__isnull=False)
    fees = blocks.order_by("number").values_list("gas_used", "base_fee")
    return sum(gas * (fee or 0) for gas, fee in fees.iterator())


def _blob_fees(chain: EvmChain) -> int:
    sent = chain.db.objects(Transaction).filter(type=BLOB).order_by("block_id")
    numbers = sorted(set(sent.values_list("block_id", flat=True).iterator()))
    total = 0
    for start in range(0, len(numbers), _AT_ONCE):
        blocks = chain.db.objects(Block).filter(number__in=numbers[start : start + _AT_ONCE])
        for raw in blocks.order_by("number").values_list("header", flat=True):
            header = chain.format.decode_header(bytes(raw))
            fees = blob_fees(header, chain.config)
            total += fees.base_fee * (header.blob_gas_used or 0)
    return total


def _may_destroy(chain: EvmChain) -> bool:
    head, written = figures.head(chain), calls.progress(chain)
    if head is None:
        return False
    if written is None or written.unrecorded or written.first > 1 or written.height < head.number:
        return True
    destroying = chain.db.objects(Call).filter(type=CallType.SELFDESTRUCT, succeeded=True)
    return destroying.order_by("id").exists()
