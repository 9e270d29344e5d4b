"""Binary searches over the states of heights: for a sender's transaction with a nonce, and a contract's creation."""

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.state import code_at, state_at
from cchain_app.store import history
from cchain_app.txs.transaction import DELEGATION_PREFIX
from primitives.evm import Address


def find_by_nonce(
    chain: EvmChain, sender: Address, nonce: int
) -> blocks.TransactionPosition | None:
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


def height_of_code(chain: EvmChain, address: Address) -> int | None:
    """Return the height of a block that gave an account its code; None for an account without code at the head.

    Delegations (EIP-7702) do not count as code. If an account lost its code and was created again, the result is
    one of these blocks.

    Raises:
        StatePruned: It had code before the first state that is stored.
    """
    first, last = history.first_state(chain.db), blocks.head(chain).number
    if not _has_code(chain, address, last):
        return None
    if first and _has_code(chain, address, first):
        raise history.state_pruned(chain.db, first - 1)
    while first < last:
        middle = (first + last) // 2
        if _has_code(chain, address, middle):
            last = middle
        else:
            first = middle + 1
    return first


def _has_code(chain: EvmChain, address: Address, number: int) -> bool:
    code = code_at(state_at(chain, number), address)
    return bool(code) and not code.startswith(DELEGATION_PREFIX)
