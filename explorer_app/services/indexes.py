"""Lets pages and APIs wait for the indexes of tokens and of calls, which are written after the blocks.

An answer that follows a receipt contains the effects of the receipt's block. If an index is too far behind, a page says how
far it is, and an API returns an error.
"""

from cchain_app.services import calls
from chaindb import clock
from chaindb.fields import HEIGHTS
from chaindb.indexing import IndexBehind
from explorer_app.selectors import accounts, token_logs
from explorer_app.selectors.accounts import ContractOrigin
from explorer_app.selectors.token_logs import TokenIndexState
from explorer_app.services.tokens import index_tokens
from explorer_app.site import Explorer
from primitives.evm import Address


def wait_for_tokens(site: Explorer, number: int = HEIGHTS, *, balances: bool = False) -> bool:
    """Return whether the transfers of all blocks up to a height are rows; if not, write them, for a limited time.

    The wait includes the queries of contracts that are due, because a contract becomes a token by its answers.

    Args:
        site: The explorer.
        number: The height; by default, and above the head, the height of the head.
        balances: Whether to wait for the contracts' answers about balances too. Without these answers the
            balances are the sums of the transfers.
    """
    evm = site.evm
    state = token_logs.state_of_index(evm, clock.wall())
    needed = min(number, state.head)

    def is_enough(state: TokenIndexState) -> bool:
        if state.height < min(needed, state.head):  # the chain may have been rewound meanwhile
            return False
        return not (state.has_tokens_to_ask or (balances and state.has_balances_to_ask))

    def is_current() -> bool:
        return is_enough(token_logs.state_of_index(evm, clock.wall()))

    if is_enough(state):
        return True
    if not site.indexes_tokens:
        return False
    return site.token_index.wait(is_current, lambda seconds: advance_tokens(site, seconds))


def has_current_tokens(site: Explorer) -> bool:
    """Return whether the index contains the head, and no contract is due to be queried."""
    state = token_logs.state_of_index(site.evm, clock.wall())
    is_behind = state.has_tokens_to_ask or state.has_balances_to_ask
    return state.height >= state.head and not is_behind


def require_tokens(site: Explorer, number: int = HEIGHTS, *, balances: bool = False) -> None:
    """Wait as `wait_for_tokens`; do nothing if the index is disabled.

    Raises:
        IndexBehind: The transfers are still not written.
    """
    if not site.indexes_tokens or wait_for_tokens(site, number, balances=balances):
        return
    state = token_logs.state_of_index(site.evm, clock.wall())
    if state.height < min(number, state.head):
        raise IndexBehind("token transfers", state.height, min(number, state.head))


def advance_tokens(site: Explorer, seconds: float) -> int:
    """Write a part of the token index, unless another thread of this process does; return the number of blocks.

    On a fork a query may wait for the remote node longer than a block or a request may take, so a separate thread
    does the work, and the number is 0.
    """
    written: list[int] = []

    def work() -> None:
        written.append(index_tokens(site.evm, seconds=seconds, now=clock.wall()))

    if site.evm.fork is None:
        site.token_index.run(work)
        return sum(written)
    site.token_index.start(work)
    return 0


def creation(site: Explorer, address: Address) -> ContractOrigin | None:
    """Return the latest creation of a contract, as `accounts.creation`, and wait for the index of calls if necessary.

    Raises:
        IndexBehind: The creation is unknown, and may be in a block whose calls are not written yet.
    """
    origin = accounts.creation(site.evm, address)
    if origin is None and not accounts.is_of_genesis(site.evm, address):
        calls.require_calls(site.evm)
        origin = accounts.creation(site.evm, address)
    return origin
