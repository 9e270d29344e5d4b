"""Writes transfers of tokens and the rows derived from them: after the blocks, in order, and each exactly once.

The progress consists of two keys: of the next log, and of the next transfer. They are updated in the transaction that
writes the rows, and only if they still have the values that the writer read. So two writers never write the same rows,
and a writer that was killed in the middle of a block can be continued. Answers of contracts are checked against the
same row: an answer from before a revert of the chain is not written.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from chaindb.database import Database, Row
from chaindb.fields import height_of, row_id
from explorer_app import models
from explorer_app.store import token_rewinding
from explorer_app.tokens.events import TokenStandard, Transfer, changes
from explorer_app.tokens.strings import likeness, search_key
from primitives.evm import Address

_ONLY: Final = 1
"""The key of the single row."""

_READ: Final = """
SELECT next_log, next_transfer, coalesce((SELECT max(id) FROM cchain_app_rewind), 0),
  coalesce((SELECT number FROM chaindb_generation WHERE id = 1), 0)
FROM explorer_app_tokenprogress WHERE id = %s
"""
# If two processes start at the same time, the second one sees the progress of the first.
_BEGIN: Final = """
INSERT INTO explorer_app_tokenprogress (id, next_log, next_transfer) VALUES (%s, %s, %s)
ON CONFLICT (id) DO NOTHING
"""
_TOKENS: Final = "SELECT address, first_erc20_log FROM explorer_app_token WHERE address IN ({keys})"
_KIND: Final = "SELECT kind FROM explorer_app_token WHERE address = %s"
_ASK_HOLDERS: Final = """
UPDATE explorer_app_tokenbalance SET to_ask = %s WHERE key IN (
  SELECT key FROM explorer_app_tokenbalance WHERE contract_id = %s AND kind = %s ORDER BY amount DESC LIMIT %s
)
"""

_PROGRESS: Final = ("id", "next_log", "next_transfer")
_TOKEN: Final = (
    "address", "first_log", "first_erc20_log", "name_likeness", "symbol_likeness", "asks_at", "attempts",
)  # fmt: skip
_ASKED_AGAIN: Final = ("first_erc20_log", "asks_at", "attempts")
_FACTS: Final = (
    "kind", "name", "symbol", "name_likeness", "symbol_likeness", "name_key", "symbol_key", "decimals",
    "total_supply", "asked_height", "asks_at", "attempts",
)  # fmt: skip
_TRANSFER: Final = (
    "id", "transaction", "contract", "log_index", "kind", "sender", "to", "token_id", "last_token_id", "noted",
    "value", "doubtful",
)  # fmt: skip
FIRST: Final = row_id(1)
"""The first key: the genesis block has no transactions."""

MAX_ASKED_AGAIN: Final = 1000
"""Limit of holders that are queried when a contract becomes a token: the largest ones."""


class TransferIndexProgress(NamedTuple):
    """The progress of the index of transfers."""

    next_log: int
    """The key of the next log."""
    next_transfer: int
    """The key of the next transfer."""
    rewinds: int = 0
    """Number of reverts of the development chain at that time."""
    generation: int = 0
    """How often the database's rows had been replaced by earlier ones at that time (`chaindb.generation`)."""

    @property
    def height(self) -> int:
        """The height up to which all transfers are written."""
        return height_of(self.next_log) - 1

    @property
    def is_between_blocks(self) -> bool:
        """Whether no block is partially written, so that balances are those of a height."""
        return self.next_log == row_id(self.height + 1)


class TransferProgressMoved(Exception):
    """Another writer has written the same rows, or the chain was reverted and may have other blocks now."""


class PlacedTransfer(NamedTuple):
    """A transfer with its position."""

    log: int
    """The key of its log."""
    transaction: int
    """The key of its transaction."""
    contract: Address
    transfer: Transfer
    doubtful: bool
    """Whether the value is zero, or the sender is an account that did not sign the transaction."""
    is_of_erc20: bool
    """Whether its log is a Transfer event as ERC-20 requires it."""


class TokenMetadata(NamedTuple):
    """A contract's own token data; None for a value that is missing or unreadable."""

    kind: TokenStandard | None
    name: str | None
    symbol: str | None
    decimals: int | None
    total_supply: int | None


class MetadataQuery(NamedTuple):
    """The result of querying a contract's token data."""

    metadata: TokenMetadata
    height: int
    """The height at which it was queried."""
    asks_at: int | None
    """When it is queried again, in Unix seconds; None if only news triggers another query."""
    attempts: int
    """Number of consecutive attempts without complete answers."""


class BalanceAnswer(NamedTuple):
    """A contract's answer about a balance."""

    key: bytes
    """The key of the balance's row."""
    amount: int | None
    """None if the contract does not answer."""


def progress(db: Database) -> TransferIndexProgress | None:
    """Return the progress of the index, or None if it was never started."""
    row = db.row(_READ, [_ONLY])
    return None if row is None else TransferIndexProgress(*row)


def begin(db: Database) -> TransferIndexProgress:
    """Start the index unless it was started before; return its progress."""
    current = progress(db)
    if current is None:
        with db.atomic():
            db.execute(_BEGIN, (_ONLY, FIRST, FIRST))
            current = progress(db)
            assert current is not None
    return current


def write_transfers(
    db: Database,
    placed: Sequence[PlacedTransfer],
    before: TransferIndexProgress,
    next_log: int,
    now: int,
) -> TransferIndexProgress:
    """Write transfers with all rows derived from them, and update the progress.

    Args:
        db: The chain's database.
        placed: The transfers, in order.
        before: The progress before any of their logs was read.
        next_log: The key of the next log after them.
        now: Wall time in Unix seconds, from which contracts with news are queried.

    Returns:
        The new progress.

    Raises:
        TransferProgressMoved: The progress has changed meanwhile; nothing is written.
    """
    keys = list(_keys(placed, before.next_transfer))
    next_transfer = max(keys[-1] + 1 if keys else before.next_transfer, row_id(height_of(next_log)))
    after = before._replace(next_log=next_log, next_transfer=next_transfer)
    with db.atomic():
        hold(db, before)
        db.upsert(models.TokenProgress, _PROGRESS, [(_ONLY, after.next_log, after.next_transfer)])
        _note_tokens(db, placed, now)
        rows = (_transfer_row(key, transfer) for key, transfer in zip(keys, placed, strict=True))
        db.insert(models.TokenTransfer, _TRANSFER, rows)
        token_rewinding.add(
            db,
            (
                (transfer.contract, change)
                for transfer in placed
                for change in changes(transfer.transfer)
            ),
        )
        token_rewinding.set_owners(db, _owners(db, placed))
    return after


def write_metadata(
    db: Database, address: Address, query: MetadataQuery, before: TransferIndexProgress
) -> None:
    """Write a contract's own token data.

    Args:
        db: The chain's database.
        address: The contract.
        query: The answers, and the time of the next query.
        before: The progress before the contract was queried.

    Raises:
        TransferProgressMoved: The progress has changed meanwhile; nothing is written.
    """
    metadata = query.metadata
    row = (
        metadata.kind, metadata.name, metadata.symbol, likeness(metadata.name), likeness(metadata.symbol),
        search_key(metadata.name), search_key(metadata.symbol), metadata.decimals, metadata.total_supply,
        query.height, query.asks_at, query.attempts,
    )  # fmt: skip
    with db.atomic():
        hold(db, before)
        kind_row = db.row(_KIND, [address])
        db.update(models.Token, ("address",), _FACTS, [(*row, address)])
        if kind_row is not None and kind_row[0] != metadata.kind:
            # Balances could not be queried before the contract became a token of this kind.
            db.execute(_ASK_HOLDERS, [True, address, metadata.kind, MAX_ASKED_AGAIN])


def put_off(
    db: Database,
    address: Address,
    asks_at: int | None,
    attempts: int,
    before: TransferIndexProgress,
) -> None:
    """Postpone the query of a contract, and keep its known data. Arguments and errors as for `write_metadata`."""
    with db.atomic():
        hold(db, before)
        db.update(
            models.Token, ("address",), ("asks_at", "attempts"), [(asks_at, attempts, address)]
        )


def write_balances(
    db: Database, answers: Sequence[BalanceAnswer], height: int, before: TransferIndexProgress
) -> None:
    """Write the balances that contracts reported; for balances without an answer the sums stay.

    Args:
        db: The chain's database.
        answers: The answers.
        height: The height of the answers, up to which all transfers are written.
        before: The progress before the contracts were queried.

    Raises:
        TransferProgressMoved: The progress has changed meanwhile; nothing is written.
    """
    with db.atomic():
        hold(db, before)
        sums = token_rewinding.sums(db, [answer.key for answer in answers])
        changed = [
            (answer.amount, height, answer.amount != sums[answer.key][0], False, answer.key)
            for answer in answers
            if answer.amount is not None and answer.key in sums
        ]
        columns = ("amount", "asked_height", "differs", "to_ask")
        db.update(models.TokenBalance, ("key",), columns, changed)
        silent = [(False, answer.key) for answer in answers if answer.amount is None]
        db.update(models.TokenBalance, ("key",), ("to_ask",), silent)


def hold(db: Database, before: TransferIndexProgress) -> None:
    """Lock out other writers and reverts of the chain until the transaction ends.

    Raises:
        TransferProgressMoved: The progress is not `before`.
    """
    # A revert locks this row before it deletes anything derived from blocks, so the values read here are valid until
    # the commit.
    list(db.objects(models.TokenProgress).select_for_update().filter(id=_ONLY))
    if progress(db) != before:
        raise TransferProgressMoved


def _owners(db: Database, placed: Iterable[PlacedTransfer]) -> dict[tuple[Address, int], Address]:
    owners: dict[tuple[Address, int], Address] = {}
    for contract, transfer in ((entry.contract, entry.transfer) for entry in placed):
        token_ids: Iterable[int] = transfer.token_ids
        if transfer.token_ids and transfer.burns_range:
            # Burned NFTs that were never seen before get no rows.
            there = token_rewinding.known_items(db, contract, transfer.token_ids)
            new = (token_id for token_id in transfer.token_ids if (contract, token_id) in owners)
            token_ids = chain(there, new)
        owners.update(((contract, token_id), transfer.to) for token_id in token_ids)
    return owners


def _keys(placed: Iterable[PlacedTransfer], first: int) -> Iterator[int]:
    for entry in placed:
        first = max(first, row_id(height_of(entry.log)))
        yield first
        first += 1


def _transfer_row(key: int, transfer: PlacedTransfer) -> Row:
    event = transfer.transfer
    return (
        key, transfer.transaction, transfer.contract, transfer.log - row_id(height_of(transfer.log)), event.kind, event.sender,
        event.to, event.token_id, event.last_token_id, event.noted if event.is_range else None, event.value,
        transfer.doubtful,
    )  # fmt: skip


def _note_tokens(db: Database, placed: Sequence[PlacedTransfer], now: int) -> None:
    """Add contracts that emitted their first transfer, and schedule queries of known ones with news."""
    first_logs = _first_logs(placed)
    first_erc20_logs = _first_logs(entry for entry in placed if entry.is_of_erc20)
    first_keys = {
        Address(bytes(address)): log for address, log in db.rows_by_keys(_TOKENS, list(first_logs))
    }
    new = [
        (address, log, first_erc20_logs.get(address), "", "", now, 0)
        for address, log in first_logs.items()
        if address not in first_keys
    ]
    db.insert(models.Token, _TOKEN, new)
    news = _with_news(
        placed,
        {contract for contract in first_keys if first_keys[contract] is None}
        & set(first_erc20_logs),
    )
    again = [
        (
            first_erc20_logs.get(contract)
            if first_keys[contract] is None
            else first_keys[contract],
            now,
            0,
            contract,
        )
        for contract in news
        if contract in first_keys
    ]
    db.update(models.Token, ("address",), _ASKED_AGAIN, again)


def _with_news(placed: Iterable[PlacedTransfer], become_erc20: Collection[Address]) -> set[Address]:
    return {entry.contract for entry in placed if entry.transfer.is_supply_change} | set(
        become_erc20
    )


def _first_logs(placed: Iterable[PlacedTransfer]) -> dict[Address, int]:
    first_logs: dict[Address, int] = {}
    for entry in placed:
        first_logs.setdefault(entry.contract, entry.log)
    return first_logs
