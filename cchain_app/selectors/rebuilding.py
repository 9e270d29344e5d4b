"""Rebuilds the state trie from the rows of accounts and slots, to verify that they are the head's state.

It uses neither the stored nodes nor the memory of the process. The trie may be larger than memory: it is built in a
private temporary file.
"""

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

from cchain_app.development.changes import before
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.trie import StateTrie, TrieError
from cchain_app.store import chain as stored
from cchain_app.store import development, evm_state, forked
from chaindb.database import Database
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT
from primitives.reasons import ErrorWithReason

_PART: Final = 5_000
"""Accounts and slots that are added to the trie in one update."""
_ADDRESS_BYTES: Final = 20

_ACCOUNTS: Final = (
    "SELECT address, nonce, balance, code_hash FROM cchain_app_account ORDER BY address"
)
_SLOTS: Final = "SELECT key, value FROM cchain_app_storageslot ORDER BY key"
_NODES: Final = "SELECT key, rlp FROM cchain_app_trienode ORDER BY key"
_NO_CODE: Final = """
SELECT address FROM cchain_app_account AS account
WHERE code_hash <> %s AND NOT EXISTS (SELECT 1 FROM cchain_app_code WHERE hash = account.code_hash)
LIMIT 1
"""


_AT_ONCE = 500
"""Number of keys in one statement."""


class ScratchUnusable(Exception):
    """The file cannot be written or read."""

    def __init__(self, directory: Path, reason: object) -> None:
        super().__init__(f"a file in {directory} cannot be written or read ({reason})")
        self.directory = directory


class ScratchNodes:
    """Nodes by their keys (a `NodeReader`); see `scratch_nodes`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE nodes (key BLOB PRIMARY KEY, rlp BLOB) WITHOUT ROWID")

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the nodes with these keys, in the same order; None for those that do not exist."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            statement = f"SELECT key, rlp FROM nodes WHERE key IN ({marks})"  # noqa: S608  # marks alone
            found.update(self._connection.execute(statement, part))
        return [found.get(key) for key in keys]

    def write(self, nodes: Mapping[bytes, bytes | None]) -> None:
        """Write new and changed nodes, and delete those that are None."""
        there = [(key, rlp) for key, rlp in nodes.items() if rlp is not None]
        self._connection.executemany("INSERT OR REPLACE INTO nodes VALUES (?, ?)", there)
        gone = [(key,) for key, rlp in nodes.items() if rlp is None]
        self._connection.executemany("DELETE FROM nodes WHERE key = ?", gone)

    def in_order(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all nodes with their keys, ordered by key."""
        yield from self._connection.execute("SELECT key, rlp FROM nodes ORDER BY key")


@contextmanager
def scratch_nodes(directory: Path) -> Iterator[ScratchNodes]:
    """Yield an empty store of nodes in a file that disappears with the process, however it ends.

    Args:
        directory: A directory with enough space.

    Raises:
        ScratchUnusable: The file cannot be written or read.
        OSError: It cannot be created.
    """
    descriptor, name = tempfile.mkstemp(prefix=".trie-", dir=directory)
    os.close(descriptor)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as connection:
            nodes = ScratchNodes(connection)
            Path(name).unlink()  # the file stays open without a name
            yield nodes
    except sqlite3.Error as error:
        raise ScratchUnusable(directory, error) from error
    finally:
        Path(name).unlink(missing_ok=True)


class StateDifference(StrEnum):
    """How the rows differ from the state of the head."""

    ROOT_DIFFERS = "accounts and storage make the state root {root}, block {number} has 0x{wanted}"
    # Missing, superfluous or different.
    NODES_DIFFER = "the stored node {key} of the state trie is not the trie's"
    CODE_MISSING = "the code of 0x{address} is missing"


class StateDiffers(ErrorWithReason):
    """The rows are not the state of the head."""


def verify_state(db: Database, trie: StateTrie, directory: Path) -> Hash | None:
    """Verify that the rows are the head's state, and return its root; None if there is no chain.

    Args:
        db: The chain's database, within a transaction, so that all rows are of the same moment.
        trie: Computes the nodes; it must not have a cache.
        directory: A directory with space for a trie as large as the stored one.

    Raises:
        StateDiffers: By a subclass.
        ScratchUnusable: The space is not enough, or the trie cannot be written or read there.
        OSError: The directory is not writable.
    """
    head_id = stored.head_id(db)
    if head_id is None:
        return None
    number, fork = head_id[0], forked.read_fork(db)
    pinned = fork is not None and fork.number == number
    wanted = EMPTY_ROOT if pinned else stored.state_root_of(db, number)
    with scratch_nodes(directory) as nodes:
        try:
            found = _build(db, trie, nodes, number, is_fork=fork is not None)
        except TrieError as error:
            raise _other_root(number, wanted, f"of no trie ({error})") from error
        if found != wanted:
            raise _other_root(number, wanted, f"0x{found.hex()}")
        _compare(db, nodes)
    if missing := db.row(_NO_CODE, [EMPTY_HASH]):
        raise StateDiffers(StateDifference.CODE_MISSING, address=bytes(missing[0]).hex())
    return wanted


def _other_root(number: int, wanted: Hash, root: str) -> StateDiffers:
    return StateDiffers(StateDifference.ROOT_DIFFERS, root=root, number=number, wanted=wanted.hex())


def _build(
    db: Database, trie: StateTrie, nodes: ScratchNodes, number: int, *, is_fork: bool
) -> Hash:
    root = EMPTY_ROOT
    rows = _rows(db)
    while part := list(islice(rows, _PART)):
        kept = _with_leaves(db, part) if is_fork else part
        update = trie.update(root, _as_changes(kept), nodes)
        nodes.write(update.nodes)
        root = update.root
    undone = _undone_edits(db, number, is_fork=is_fork)
    if undone is not None:
        update = trie.update(root, undone, nodes)
        nodes.write(update.nodes)
        root = update.root
    return root


_Leaf = tuple[bytes, AccountState | Word]
"""An address and its account, or an address with a slot and its value."""


def _rows(db: Database) -> Iterator[_Leaf]:
    """Yield each account, followed by its slots."""
    slots = evm_state.in_pieces(db, _SLOTS)
    slot = next(slots, None)
    for address, nonce, balance, code_hash in evm_state.in_pieces(db, _ACCOUNTS):
        own = bytes(address)
        while slot is not None and bytes(slot[0])[:_ADDRESS_BYTES] < own:
            yield bytes(slot[0]), Word(bytes(slot[1]))  # has no account: the trie will reject it
            slot = next(slots, None)
        yield own, AccountState(int(nonce), int(balance), Hash(bytes(code_hash)))
        while slot is not None and bytes(slot[0])[:_ADDRESS_BYTES] == own:
            yield bytes(slot[0]), Word(bytes(slot[1]))
            slot = next(slots, None)
    while slot is not None:
        yield bytes(slot[0]), Word(bytes(slot[1]))
        slot = next(slots, None)


def _with_leaves(db: Database, part: Sequence[_Leaf]) -> list[_Leaf]:
    """Leave out fetched accounts and slots that no block has changed, which a fork's trie does not contain."""
    known = forked.leaves_of(db, [key for key, _ in part])
    return [item for item in part if item[0] in known]


def _as_changes(part: Sequence[_Leaf]) -> StateChanges:
    accounts: dict[Address, AccountChange] = {}
    slots: dict[tuple[Address, Slot], SlotChange] = {}
    for key, value in part:
        address = Address(key[:_ADDRESS_BYTES])
        if isinstance(value, AccountState):
            accounts[address] = AccountChange(None, value)
        else:
            slots[address, Slot(key[_ADDRESS_BYTES:])] = SlotChange(ZERO_WORD, value)
    return StateChanges(accounts=accounts, storage=slots)


def _undone_edits(db: Database, number: int, *, is_fork: bool) -> StateChanges | None:
    """Return the changes from the rows to the head's trie, which does not contain later state edits."""
    pending = development.changes_before(db, number + 1)
    if not pending:
        return None
    addresses = {item.address for item in pending if item.slot is None}
    now: dict[Address, AccountState | None] = dict.fromkeys(addresses)
    now.update(evm_state.accounts_now(db, addresses))
    was = before(pending, now)
    keys = {address + slot: (address, slot) for address, slot in was.slots}
    slots = {keys[key]: value for key, value in evm_state.slots_now(db, keys).items()}
    known = forked.leaves_of(db, [*addresses, *keys]) if is_fork else {*addresses, *keys}
    accounts = {
        address: AccountChange(now[address], then)
        for address, then in was.accounts.items()
        if address in known and now[address] != then
    }
    gone = frozenset(address for address, change in accounts.items() if change.after is None)
    storage = {
        key: SlotChange(slots[key], then)
        for key, then in was.slots.items()
        if key[0] + key[1] in known and slots[key] != then and key[0] not in gone
    }
    return StateChanges(accounts=accounts, storage=storage, cleared=gone)


def _compare(db: Database, nodes: ScratchNodes) -> None:
    """Compare the stored nodes with the computed ones."""
    stored_nodes = ((bytes(key), bytes(rlp)) for key, rlp in evm_state.in_pieces(db, _NODES))
    for made, there in zip_longest(nodes.in_order(), stored_nodes):
        if made != there:
            different = min(
                (value for value in (made, there) if value is not None), default=(b"", b"")
            )
            raise StateDiffers(StateDifference.NODES_DIFFER, key=different[0].hex())
