"""The market of blob gas: the excess blob gas after a block, and the price that follows from it.

EIP-4844, with parameters by schedule (EIP-7840, EIP-7892) and Osaka's reserve price (EIP-7918). Pure.
"""

from typing import Final

from cchain_app.blocks.header import Header
from cchain_app.config import BlobParameters, at_least
from cchain_app.txs.transaction import GAS_PER_BLOB

MIN_BASE_FEE_PER_BLOB_GAS: Final = 1
"""Wei for each blob gas."""

_BLOB_BASE_COST: Final = 2**13
"""EIP-7918 (BLOB_BASE_COST): a blob pays for at least this much execution gas."""


def excess_after(parent: Header, blobs: BlobParameters, fork: str) -> int:
    """Return the excess blob gas of the block after `parent`; before Cancun it is 0.

    Args:
        parent: The block before.
        blobs: The new block's parameters.
        fork: The new block's rule set.
    """
    parent_excess, used = parent.excess_blob_gas or 0, parent.blob_gas_used or 0
    target = blobs.target * GAS_PER_BLOB
    if parent_excess + used < target:
        return 0
    if at_least(fork, "osaka") and _is_below_reserve(parent, parent_excess, blobs):
        return parent_excess + used * (blobs.maximum - blobs.target) // blobs.maximum
    return parent_excess + used - target


def blob_base_fee(excess: int, update_fraction: int) -> int:
    """Return the price of one blob gas in wei, which grows exponentially with the excess.

    EIP-4844's approximation of `MINIMUM_PRICE * e ** (excess / update_fraction)`.
    """
    factor = 1
    total = 0
    term = MIN_BASE_FEE_PER_BLOB_GAS * update_fraction
    while term > 0:
        total += term
        term = term * excess // (update_fraction * factor)
        factor += 1
    return total // update_fraction


def _is_below_reserve(parent: Header, excess: int, blobs: BlobParameters) -> bool:
    price = GAS_PER_BLOB * blob_base_fee(excess, blobs.update_fraction)
    return _BLOB_BASE_COST * (parent.base_fee or 0) > price
