"""Finds the block in which a contract was created, by a binary search over the states of heights."""

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.state import code_at, state_at
from cchain_app.store import history
from cchain_app.txs.transaction import DELEGATION_PREFIX
from primitives.evm import Address


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
