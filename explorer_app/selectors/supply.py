"""Supply of the C-Chain's coin, and burnt fees: sums over all rows, so only for small chains."""

from typing import Final

from cchain_app import models
from cchain_app.chain import EvmChain

MAX_ROWS: Final = 100_000
"""Limit of accounts, or of blocks, that are summed for one answer."""


class TooManyRows(Exception):
    """There are more rows than are summed for one answer."""


class OnlyPart(Exception):
    """The chain is a fork: it has only the accounts that were read or changed, and only its own blocks."""


def total(chain: EvmChain) -> int:
    """Return the sum of all balances at the head, in wei.

    Raises:
        OnlyPart: The chain is a fork.
        TooManyRows: There are more than `MAX_ROWS` accounts.
    """
    if chain.fork is not None:
        raise OnlyPart
    rows = chain.db.objects(models.Account).order_by("address")
    balances = list(rows.values_list("balance", flat=True)[: MAX_ROWS + 1])
    if len(balances) > MAX_ROWS:
        raise TooManyRows
    return sum(balances)


def burnt(chain: EvmChain) -> int:
    """Return the base fees that transactions have paid, in wei. Raises as `total`, with a limit of blocks."""
    if chain.fork is not None:
        raise OnlyPart
    rows = chain.db.objects(models.Block).filter(gas_used__gt=0, base_fee__isnull=False)
    blocks = list(rows.order_by("number").values_list("gas_used", "base_fee")[: MAX_ROWS + 1])
    if len(blocks) > MAX_ROWS:
        raise TooManyRows
    return sum(gas * (base_fee or 0) for gas, base_fee in blocks)
