"""Finds the transaction of a sender with a nonce, by a binary search over the states of heights."""

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_at
from cchain_app.store import history
from primitives.evm import Address


def find_by_nonce(chain: EvmChain, sender: Address, nonce: int) -> blocks.Place | None:
    """Return the block that contains a sender's transaction with this nonce and its index in it, or None.

    A used nonce may have no transaction, because creations and authorizations use nonces too.

    Raises:
        StatePruned: It was used before the first state that is stored.
    """
    oldest = history.first_state(chain.db)
    first, last = max(chain.first_number, oldest), blocks.head(chain).number
    if _nonce_after(chain, sender, last) <= nonce:
        return None
    if oldest and _nonce_after(chain, sender, first) > nonce:
        raise history.state_pruned(chain.db, first - 1)
    while first < last:
        middle = (first + last) // 2
        if _nonce_after(chain, sender, middle) > nonce:
            last = middle
        else:
            first = middle + 1
    block = blocks.by_number(chain, first)
    if block is None:
        return None
    for index, transaction in enumerate(block.transactions):
        if transaction.sender == sender and transaction.nonce == nonce:
            return block, index
    return None


def _nonce_after(chain: EvmChain, address: Address, number: int) -> int:
    account = state_at(chain, number).account(address)
    return 0 if account is None else account.nonce
