"""Rows of a fork: its origin, and the data that was fetched from the upstream.

A fetched value is the state at the fork block and at every later height until a block changes it. It is stored as a
current row without history, together with the row that records that it was fetched.
"""

from collections.abc import Iterable, Mapping

from cchain_app import models
from cchain_app.evm.engine import AccountState
from cchain_app.forking.origin import ForkOrigin
from cchain_app.forking.questions import UpstreamAccount
from cchain_app.store import evm_state
from chaindb.database import Database
from chaindb.locks import Lock
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word

_ACCOUNTS = """
SELECT address, nonce, balance, code_hash FROM cchain_app_forkedaccount WHERE address IN ({keys})
"""
_SLOTS = "SELECT key FROM cchain_app_forkedslot WHERE key IN ({keys})"
_FORK = ("genesis_hash", "chain_id", "fork_url", "fork_number", "fork_block")
_LEAVES = "SELECT key, number FROM cchain_app_forkedleaf WHERE key IN ({keys})"


def read_fork(db: Database) -> ForkOrigin | None:
    """Return the fork in the database, or None if the chain is not a fork, or there is no chain or no table yet."""
    if not db.has_table("cchain_app_forkedleaf"):
        return None
    # The database of an older version may not have all other columns.
    row = db.objects(models.Chain).only(*_FORK).first()
    if row is None or row.fork_number is None:
        return None
    return ForkOrigin(
        url=row.fork_url or "",
        number=row.fork_number,
        hash=Hash(bytes(row.genesis_hash)),
        chain_id=row.chain_id,
        gas_limit=db.objects(models.Block).get(number=row.fork_number).gas_limit,
        block=row.fork_block or {},
        transaction=None if row.fork_transaction is None else Hash(bytes(row.fork_transaction)),
    )


def begin_fork(db: Database, fork: ForkOrigin) -> None:
    """Write the origin of a fork, after its first block."""
    db.objects(models.Chain).filter(genesis_hash=fork.hash).update(
        fork_url=fork.url,
        fork_number=fork.number,
        fork_block=dict(fork.block),
        fork_transaction=fork.transaction,
    )


def forget_everything(db: Database) -> None:
    """Delete the chain and all fetched data, so that another fork can start."""
    for model in (
        models.CallProgress, models.Call, models.Log, models.Receipt, models.Transaction, models.AccountChange,
        models.StorageChange, models.Account, models.StorageSlot, models.TrieNode, models.TrieNodeChange, models.TrieHistory,
        models.Block,
        models.AtomicTransaction, models.Withdrawal, models.AtomicPoolKey, models.AtomicPoolTransaction,
        models.DroppedAtomicTransaction, models.PoolTransaction, models.Blob, models.WarpMessage, models.DevelopmentChange,
        models.CorethBlock, models.ImpersonatedSignature, models.Snapshot,
        models.ForkedAccount, models.ForkedSlot, models.ForkedHash, models.ForkedLeaf, models.KeptHistory, models.Chain,
    ):  # fmt: skip
        db.objects(model)._raw_delete(db.alias)  # noqa: SLF001  # one statement; all dependent rows are deleted too


def known_accounts(
    db: Database, addresses: Iterable[Address]
) -> dict[Address, AccountState | None]:
    """Return those of the accounts that were fetched, as of the fork block."""
    rows = db.rows_by_keys(_ACCOUNTS, list(addresses))
    return {Address(bytes(row[0])): evm_state.account_of(*row[1:]) for row in rows}


def known_slots(db: Database, keys: Iterable[bytes]) -> set[bytes]:
    """Return those of the slots (address and slot) that were fetched."""
    return {bytes(key) for (key,) in db.rows_by_keys(_SLOTS, list(keys))}


def known_hash(db: Database, number: int) -> Hash | None:
    """Return the hash of a block before the fork block, if it was fetched."""
    row = db.row("SELECT hash FROM cchain_app_forkedhash WHERE number = %s", (number,))
    return None if row is None else Hash(bytes(row[0]))


def keep(
    db: Database,
    accounts: Mapping[Address, UpstreamAccount],
    slots: Mapping[tuple[Address, Slot], Word],
) -> None:
    """Write fetched data, all of it or nothing; rows that another thread has written meanwhile stay.

    The current row of an account is inserted only together with its row of fetched data, because blocks may have
    changed an existing current row since.
    """
    with db.atomic():
        db.acquire(Lock.CCHAIN)
        there = known_accounts(db, accounts)
        new = {address: account for address, account in accounts.items() if address not in there}
        codes = {
            item.state.code_hash: item.code for item in new.values() if item.state and item.code
        }
        db.objects(models.Code).bulk_create(
            [models.Code(hash=code_hash, code=code) for code_hash, code in codes.items()],
            ignore_conflicts=True,
        )
        columns = ("address", "nonce", "balance", "code_hash")
        rows = [(address, *(account.state or (None,) * 3)) for address, account in new.items()]
        db.insert(models.ForkedAccount, columns, rows)
        db.insert(models.Account, columns, (row for row in rows if row[1] is not None))
        by_key = {address + slot: value for (address, slot), value in slots.items()}
        for key in known_slots(db, by_key):
            del by_key[key]
        db.insert(models.ForkedSlot, ("key", "value"), by_key.items())
        nonzero = [(key, value) for key, value in by_key.items() if value != ZERO_WORD]
        db.insert(models.StorageSlot, ("key", "value"), nonzero)


def keep_hash(db: Database, number: int, block_hash: Hash) -> None:
    """Write the hash of a block before the fork block."""
    db.objects(models.ForkedHash).bulk_create(
        [models.ForkedHash(number=number, hash=block_hash)], ignore_conflicts=True
    )


def add_leaves(db: Database, number: int, keys: Iterable[bytes]) -> None:
    """Record that a block's state root includes these accounts and slots; those of earlier blocks keep their number."""
    db.objects(models.ForkedLeaf).bulk_create(
        [models.ForkedLeaf(key=key, number=number) for key in keys], ignore_conflicts=True
    )


def leaves_above(db: Database, number: int) -> set[bytes]:
    """Return the accounts and slots that only the state roots of blocks above a height include."""
    leaves = db.objects(models.ForkedLeaf).filter(number__gt=number)
    return {bytes(key) for key in leaves.values_list("key", flat=True)}


def leaves_of(db: Database, keys: Iterable[bytes]) -> dict[bytes, int]:
    """Return those of the accounts and slots that any root includes, with the first block whose root does."""
    return {bytes(key): int(number) for key, number in db.rows_by_keys(_LEAVES, list(keys))}


def forget_leaves_above(db: Database, number: int) -> None:
    """Delete the accounts and slots that only the state roots of blocks above a height include."""
    db.objects(models.ForkedLeaf).filter(number__gt=number).delete()
