"""What is asked of the rows for a block or for the pool, so that it is asked together (`Database.read_ahead`)."""

from collections.abc import Iterable

from cchain_app.memory import PoolMemory
from cchain_app.store import chain, development, evm_state, following, pool
from chaindb import generation
from chaindb.database import Database, Question
from primitives.evm import Address


def of_building(head: int, memory: PoolMemory) -> list[Question]:
    """Return what is asked to build a block on the one at height `head`, as far as that is the head still."""
    return [
        generation.QUESTION,
        following.head_question(head),
        pool.entries_question(memory),
        development.changes_question(head + 1),
    ]


def of_acceptance(head: int) -> list[Question]:
    """Return what is asked under the chain's lock before the block after the one at height `head` is written."""
    return [chain.POINTER_QUESTION, development.set_question(head + 1), generation.QUESTION]


def of_admission(db: Database, accounts: Iterable[Address]) -> list[Question]:
    """Return what is asked under the pool's lock, behind the head, before transactions of some senders are admitted."""
    return [
        pool.EXTENT_QUESTION,
        *development.conditions_questions(),
        *evm_state.accounts_questions(db, accounts),
        chain.POINTER_QUESTION,
    ]
