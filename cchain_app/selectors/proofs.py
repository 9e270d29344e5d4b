"""Merkle proofs of accounts and slots, at the head and at heights below it (EIP-1186).

The trie is stored as of the head only. A proof at an earlier height is made from the head's trie
with the changes since then undone on top, and checked against that height's state root.
"""

from collections.abc import Sequence

from cchain_app import models
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.trie import NodeReader, StateProof, TrieError, overlay
from cchain_app.selectors import blocks
from cchain_app.store import evm_state
from primitives.evm import Address, Hash, Slot, Word

_TRIES = 5


class ProofWindowPassed(Exception):
    """The height is too far below the head."""

    def __init__(self, number: int, oldest: int) -> None:
        super().__init__(
            f"block {number} is below the oldest block with proofs, {oldest}: the window is set by "
            "NODE_PROOF_WINDOW"
        )
        self.number = number
        self.oldest = oldest


def prove(chain: EvmChain, address: Address, slots: Sequence[Slot], number: int) -> StateProof:
    """Return an account and slots of it after block `number`, with proofs from its state root.

    Raises:
        ProofWindowPassed: The height is further below the head than NODE_PROOF_WINDOW.
        TrieError: The stored trie is not the head's (never, unless rows were changed by hand).
    """
    for attempt in range(_TRIES):
        head = blocks.catch_up(chain)
        oldest = head.number - chain.node.proof_window
        if number < oldest:
            raise ProofWindowPassed(number, oldest)
        try:
            return _prove(chain, address, slots, number, head)
        except TrieError:
            # A block was committed while the nodes were read: begin again on the new head.
            if blocks.catch_up(chain).hash == head.hash or attempt == _TRIES - 1:
                raise
    raise AssertionError  # the loop returns or raises


def _prove(
    chain: EvmChain, address: Address, slots: Sequence[Slot], number: int, head: AcceptedBlock
) -> StateProof:
    trie = chain.proof_trie
    root, reader = _trie_at(chain, number, head)
    return trie.prove(root, address, slots, reader)


def _trie_at(chain: EvmChain, number: int, head: AcceptedBlock) -> tuple[Hash, NodeReader]:
    """Return the state root at a height and a reader of the trie that has it."""
    rows = evm_state.NodeRows(chain.db)
    block = blocks.by_number(chain, number)
    if block is None or number == head.number:
        return head.header.state_root, rows
    undo = _changes_undone(chain, number)
    update = chain.proof_trie.update(head.header.state_root, undo, rows)
    if update.root != block.header.state_root:
        raise TrieError(f"undoing the blocks above {number} does not give its state root")
    return update.root, overlay(rows, update)


def _changes_undone(chain: EvmChain, number: int) -> StateChanges:
    """Return the change from the head's state back to that after block `number`."""
    accounts = _accounts_back(chain, number)
    gone = frozenset(address for address, change in accounts.items() if change.after is None)
    return StateChanges(accounts=accounts, storage=_slots_back(chain, number, gone), cleared=gone)


def _accounts_back(chain: EvmChain, number: int) -> dict[Address, AccountChange]:
    rows = (
        chain.db.objects(models.AccountChange)
        .filter(id__gte=models.row_id(number + 1))
        .order_by("id")
    )
    then: dict[Address, AccountState | None] = {}
    for address, nonce, balance, code_hash in rows.values_list(
        "address", "nonce", "balance", "code_hash"
    ):
        state = evm_state.account_of(nonce, balance, code_hash)
        then.setdefault(Address(bytes(address)), state)
    now = evm_state.accounts_now(chain.db, then)
    changes = {address: AccountChange(now.get(address), state) for address, state in then.items()}
    return {address: change for address, change in changes.items() if change.before != change.after}


def _slots_back(
    chain: EvmChain, number: int, gone: frozenset[Address]
) -> dict[tuple[Address, Slot], SlotChange]:
    rows = (
        chain.db.objects(models.StorageChange)
        .filter(id__gte=models.row_id(number + 1))
        .order_by("id")
    )
    then: dict[bytes, Word] = {}
    for key, value in rows.values_list("key", "value"):
        then.setdefault(bytes(key), Word(bytes(value)))
    now = evm_state.slots_now(chain.db, then)
    return {
        (Address(key[:20]), Slot(key[20:])): SlotChange(now[key], value)
        for key, value in then.items()
        if now[key] != value and Address(key[:20]) not in gone
    }
