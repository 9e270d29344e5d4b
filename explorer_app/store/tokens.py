"""Transfers of tokens, and what follows from them: written behind the blocks, in order and each once.

The progress is two keys: of the next log, and of the next transfer. They move in the transaction that writes the
rows, and only from where the writer believes them to be, so that two writers never write the same, and one that was
killed goes on in the middle of a block. What contracts are asked is compared with the same row: what was answered
before the chain went back is not written.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from chaindb.database import Database, Row
from chaindb.fields import height_of, row_id
from explorer_app import models
from explorer_app.store import token_holdings
from explorer_app.tokens.events import Kind, Transfer, changes
from explorer_app.tokens.texts import likeness, search_key
from primitives.evm import Address

_ONLY: Final = 1
"""The key of the one row."""

_READ: Final = """
SELECT next_log, next_transfer, coalesce((SELECT max(id) FROM cchain_app_rewind), 0),
  coalesce((SELECT number FROM chaindb_generation WHERE id = 1), 0)
FROM explorer_app_tokenprogress WHERE id = %s
"""
# Of two that begin at once the second finds how far the first is by now.
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
    "value", "hidden",
)  # fmt: skip
FIRST: Final = row_id(1)
"""The first key: nothing was executed in the genesis block."""

MOST_ASKED_AGAIN: Final = 1000
"""Holders of a contract that has become a token who are asked for, those who have most."""


class Progress(NamedTuple):
    """How far transfers are written."""

    next_log: int
    """The key of the next log."""
    next_transfer: int
    """The key of the next transfer."""
    rewinds: int = 0
    """How often a development chain had gone back by then."""
    generation: int = 0
    """How often its rows had gone back (`chaindb.generation`)."""

    @property
    def height(self) -> int:
        """The height up to which all transfers are written."""
        return height_of(self.next_log) - 1

    @property
    def is_between_blocks(self) -> bool:
        """Whether no block is written in part: balances are those of a height then."""
        return self.next_log == row_id(self.height + 1)


class ProgressMoved(Exception):
    """Another writer has written what this one was about to, or the chain went back and may have other blocks now."""


class PlacedTransfer(NamedTuple):
    """A transfer and where it was."""

    log: int
    """The key of its log."""
    transaction: int
    """The key of its transaction."""
    contract: Address
    transfer: Transfer
    hidden: bool
    """Whether lists of an address leave it out at first."""
    is_of_erc20: bool
    """Whether its log is as ERC-20 demands it."""


class Facts(NamedTuple):
    """What a contract says of itself; None: nothing that can be read."""

    kind: Kind | None
    name: str | None
    symbol: str | None
    decimals: int | None
    total_supply: int | None


class Asked(NamedTuple):
    """How a contract was asked."""

    facts: Facts
    height: int
    """At which it was asked."""
    asks_at: int | None
    """From when on it is to be asked again, in Unix seconds; None: not before there is news."""
    attempts: int
    """How often in a row it did not answer all."""


class BalanceAnswer(NamedTuple):
    """What a contract says that somebody holds."""

    key: bytes
    """Of the balance's row."""
    amount: int | None
    """None: it does not say."""


def progress(db: Database) -> Progress | None:
    """Return how far transfers are written, or None where that was never begun."""
    found = db.row(_READ, [_ONLY])
    return None if found is None else Progress(*found)


def begin(db: Database) -> Progress:
    """Begin to write transfers, unless that was done; return how far they are."""
    found = progress(db)
    if found is None:
        with db.atomic():
            db.execute(_BEGIN, (_ONLY, FIRST, FIRST))
            found = progress(db)
            assert found is not None
    return found


def write_transfers(
    db: Database, placed: Sequence[PlacedTransfer], before: Progress, next_log: int, now: int
) -> Progress:
    """Write transfers with all that follows from them, and move the progress behind them.

    Args:
        db: Where the chain is.
        placed: The transfers, in order.
        before: What the progress was before any of their logs was read.
        next_log: Where it is then.
        now: Wall time in Unix seconds, from which on contracts are to be asked of which there is news.

    Returns:
        The progress then.

    Raises:
        ProgressMoved: It is something else by now; nothing is written.
    """
    keys = list(_keys(placed, before.next_transfer))
    next_transfer = max(keys[-1] + 1 if keys else before.next_transfer, row_id(height_of(next_log)))
    after = before._replace(next_log=next_log, next_transfer=next_transfer)
    with db.atomic():
        hold(db, before)
        db.upsert(models.TokenProgress, _PROGRESS, [(_ONLY, after.next_log, after.next_transfer)])
        _note_tokens(db, placed, now)
        rows = (_transfer_row(key, one) for key, one in zip(keys, placed, strict=True))
        db.insert(models.TokenTransfer, _TRANSFER, rows)
        token_holdings.add(
            db, ((one.contract, change) for one in placed for change in changes(one.transfer))
        )
        token_holdings.set_owners(db, _owners(db, placed))
    return after


def write_facts(db: Database, address: Address, asked: Asked, before: Progress) -> None:
    """Write what a contract said of itself.

    Args:
        db: Where the chain is.
        address: The contract.
        asked: What it said, and when it is asked again.
        before: What the progress was before it was asked.

    Raises:
        ProgressMoved: It is something else by now; nothing is written.
    """
    facts = asked.facts
    row = (
        facts.kind, facts.name, facts.symbol, likeness(facts.name), likeness(facts.symbol),
        search_key(facts.name), search_key(facts.symbol), facts.decimals, facts.total_supply, asked.height, asked.asks_at, asked.attempts,
    )  # fmt: skip
    with db.atomic():
        hold(db, before)
        known = db.row(_KIND, [address])
        db.update(models.Token, ("address",), _FACTS, [(*row, address)])
        if known is not None and known[0] != facts.kind:
            # Nobody could ask for balances of what was no token of this kind.
            db.execute(_ASK_HOLDERS, [True, address, facts.kind, MOST_ASKED_AGAIN])


def put_off(
    db: Database, address: Address, asks_at: int | None, attempts: int, before: Progress
) -> None:
    """Write that a contract is asked later, and leave what is known of it. Arguments and errors as of `write_facts`."""
    with db.atomic():
        hold(db, before)
        db.update(
            models.Token, ("address",), ("asks_at", "attempts"), [(asks_at, attempts, address)]
        )


def write_balances(
    db: Database, answers: Sequence[BalanceAnswer], height: int, before: Progress
) -> None:
    """Write what contracts said that holders have; where they said nothing the sums stay.

    Args:
        db: Where the chain is.
        answers: What they said.
        height: At which height: that up to which all transfers are written.
        before: What the progress was before they were asked.

    Raises:
        ProgressMoved: It is something else by now; nothing is written.
    """
    with db.atomic():
        hold(db, before)
        known = token_holdings.sums(db, [one.key for one in answers])
        told = [
            (one.amount, height, one.amount != known[one.key][0], False, one.key)
            for one in answers
            if one.amount is not None and one.key in known
        ]
        columns = ("amount", "asked_height", "differs", "to_ask")
        db.update(models.TokenBalance, ("key",), columns, told)
        silent = [(False, one.key) for one in answers if one.amount is None]
        db.update(models.TokenBalance, ("key",), ("to_ask",), silent)


def hold(db: Database, before: Progress) -> None:
    """Keep others from writing until the transaction ends, and the chain from going back.

    Raises:
        ProgressMoved: The progress is something else by now.
    """
    # Who goes back takes this row before it deletes what follows from blocks, so what is read now holds until the
    # commit.
    list(db.objects(models.TokenProgress).select_for_update().filter(id=_ONLY))
    if progress(db) != before:
        raise ProgressMoved


def _owners(db: Database, placed: Iterable[PlacedTransfer]) -> dict[tuple[Address, int], Address]:
    owners: dict[tuple[Address, int], Address] = {}
    for contract, transfer in ((one.contract, one.transfer) for one in placed):
        token_ids: Iterable[int] = transfer.token_ids
        if transfer.token_ids and transfer.burns_range:
            # What was never seen to be there leaves no row behind.
            there = token_holdings.known_items(db, contract, transfer.token_ids)
            new = (one for one in transfer.token_ids if (contract, one) in owners)
            token_ids = chain(there, new)
        owners.update(((contract, one), transfer.to) for one in token_ids)
    return owners


def _keys(placed: Iterable[PlacedTransfer], first: int) -> Iterator[int]:
    for one in placed:
        first = max(first, row_id(height_of(one.log)))
        yield first
        first += 1


def _transfer_row(key: int, one: PlacedTransfer) -> Row:
    found = one.transfer
    return (
        key, one.transaction, one.contract, one.log - row_id(height_of(one.log)), found.kind, found.sender,
        found.to, found.token_id, found.last_token_id, found.noted if found.is_range else None, found.value,
        one.hidden,
    )  # fmt: skip


def _note_tokens(db: Database, placed: Sequence[PlacedTransfer], now: int) -> None:
    """Write which contracts have emitted a transfer for the first time, and which are to be asked again."""
    first_logs = _first_logs(placed)
    first_erc20_logs = _first_logs(one for one in placed if one.is_of_erc20)
    known = {
        Address(bytes(address)): log for address, log in db.rows_by_keys(_TOKENS, list(first_logs))
    }
    new = [
        (address, log, first_erc20_logs.get(address), "", "", now, 0)
        for address, log in first_logs.items()
        if address not in known
    ]
    db.insert(models.Token, _TOKEN, new)
    news = _with_news(placed, {one for one in known if known[one] is None} & set(first_erc20_logs))
    again = [
        (first_erc20_logs.get(one) if known[one] is None else known[one], now, 0, one)
        for one in news
        if one in known
    ]
    db.update(models.Token, ("address",), _ASKED_AGAIN, again)


def _with_news(placed: Iterable[PlacedTransfer], become_erc20: Collection[Address]) -> set[Address]:
    return {one.contract for one in placed if one.transfer.is_supply_change} | set(become_erc20)


def _first_logs(placed: Iterable[PlacedTransfer]) -> dict[Address, int]:
    found: dict[Address, int] = {}
    for one in placed:
        found.setdefault(one.contract, one.log)
    return found
