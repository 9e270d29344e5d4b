"""Combined queries for blocks and for the pool, which are then sent together (`Database.read_ahead`)."""

from collections.abc import Iterable

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.engine import HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS
from cchain_app.memory import PoolMemory
from cchain_app.store import chain, development, evm_state, following, pool
from chaindb import generation
from chaindb.database import Database, Question
from chaindb.locks import Lock
from primitives.evm import Address, Slot


def of_building(head: int, memory: PoolMemory, *, is_development: bool) -> list[Question]:
    """Return the queries for building a block from the pool on the block at height `head`, if that is still the head."""
    return [
        pool.ANY_QUESTION,
        pool.entries_question(memory),
        # After the pool: a transaction that was sent after an override was set is never in a block without it.
        *_of_conditions(is_development=is_development),
        *_of_child(head),
    ]


def of_automine(head: int, *, is_development: bool) -> list[Question]:
    """Return the queries for building a block from arriving transactions, if the pool is empty."""
    return [
        pool.EXTENT_QUESTION,
        *_of_conditions(is_development=is_development),
        *_of_child(head),
    ]


def _of_child(head: int) -> list[Question]:
    return [
        generation.QUESTION,
        following.head_question(head),
        development.changes_question(head + 1),
        evm_state.slot_question(HISTORY_STORAGE_ADDRESS, _slot_of_parent(head), head),
    ]


def _slot_of_parent(head: int) -> Slot:
    """Return the slot in which the block after a height stores its parent's hash (EIP-2935)."""
    return Slot((head % HISTORY_SERVE_WINDOW).to_bytes(32, "big"))


def of_following(seen: AcceptedBlock | None) -> list[Question]:
    """Return the first query for moving the memory to the head; its result is unused once another head was seen."""
    return [] if seen is None else [following.head_question(seen.number)]


def of_acceptance(head: int) -> list[Question]:
    """Return the queries under the chain's lock before the block after height `head` is written."""
    return [chain.POINTER_QUESTION, development.set_question(head + 1), generation.QUESTION]


def of_passing_pool(db: Database) -> list[Question]:
    """Return the earlier queries, under the pool's lock only, if the block's transactions were never in the pool."""
    return [*db.lock_questions(Lock.CCHAIN), pool.ANY_QUESTION]


def _of_conditions(*, is_development: bool) -> list[Question]:
    """Return the queries for the overrides; none if there are no development methods."""
    return development.conditions_questions() if is_development else []


def of_senders(db: Database, senders: Iterable[Address]) -> list[Question]:
    """Return the queries for the pending transactions of some senders, and for the head, which is read after them."""
    return [*pool.entries_of_questions(db, senders), chain.POINTER_QUESTION]


def of_admission(
    db: Database, accounts: Iterable[Address], *, is_development: bool
) -> list[Question]:
    """Return the queries under the pool's lock before transactions of some senders are admitted on the head."""
    return [
        pool.EXTENT_QUESTION,
        *_of_conditions(is_development=is_development),
        *evm_state.accounts_questions(db, accounts),
        chain.POINTER_QUESTION,
    ]
