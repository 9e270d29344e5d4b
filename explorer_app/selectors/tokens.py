"""Indexed tokens, their transfers and holders, in pages with few statements each."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from chaindb.indexing import progress_text
from explorer_app.models import Token, TokenBalance, TokenItem, TokenTransfer
from explorer_app.selectors.cchain import PAGE
from explorer_app.store import tokens as token_rows
from explorer_app.store.token_rewinding import item_key
from explorer_app.store.tokens import TransferIndexProgress
from explorer_app.tokens.events import TokenStandard
from explorer_app.tokens.strings import likeness, search_key
from primitives.evm import ZERO_ADDRESS, Address

TokenRow = Token
"""A token, for modules that display it."""

TransferRow = TokenTransfer
"""A transfer, for modules that display it."""

BalanceRow = TokenBalance
"""A balance, for modules that display it."""

MAX_COUNTED: Final = 10_000
"""Limit up to which rows are counted for a page."""

MAX_HELD: Final = 100
"""Limit of balances on an address's page, and of transfers on a transaction's."""

MAX_LOOKED_AT: Final = 5_000
"""Limit of rows of an address examined for a page: any contract can create rows that belong to no token."""

MAX_RANGES: Final = 100
"""Limit of a token's latest ranges (ERC-2309) in which a token ID is searched."""

# Building this query by the ORM takes ten times as long as the database needs, and a page runs it up to three times.
_COPIES: Final = """
SELECT address FROM explorer_app_token token
WHERE (
    name_likeness IN (%s, %s) OR symbol_likeness IN (%s, %s)
    OR name IS NOT NULL AND EXISTS (
        SELECT 1 FROM explorer_app_token WHERE name_likeness = token.name_likeness
        AND first_log < token.first_log AND kind IS NOT NULL
    )
    OR symbol IS NOT NULL AND EXISTS (
        SELECT 1 FROM explorer_app_token WHERE symbol_likeness = token.symbol_likeness
        AND first_log < token.first_log AND kind IS NOT NULL
    )
) AND address IN ({keys})
"""


class TransferPage(NamedTuple):
    """A part of a list of transfers."""

    rows: list[TokenTransfer]
    next_key: int | None
    """The key before which the list continues although the page is not full; None if no further rows are known."""


class BalancePage(NamedTuple):
    """A part of a list of balances."""

    rows: list[TokenBalance]
    next_key: bytes | None
    """The key after which the list continues; None at the end."""


def progress(chain: EvmChain) -> TransferIndexProgress | None:
    """Return the progress of the transfer index; None if it was never started."""
    return token_rows.progress(chain.db)


def how_far(chain: EvmChain) -> str:
    """Return a text about the progress of the transfer index."""
    written = progress(chain)
    if written is None:
        return "empty: NODE_TOKEN_INDEX was never enabled"
    return progress_text(written.height, blocks.head(chain).number)


def tokens(
    chain: EvmChain,
    kind: TokenStandard | None = None,
    *,
    before: int | None = None,
    count: int = PAGE,
) -> list[Token]:
    """Return tokens, the latest first, each with `is_copy`: whether an earlier token has its name or symbol.

    Args:
        chain: The chain.
        kind: The standard; None for all.
        before: The key of the first log of the last token shown.
        count: Limit of tokens.
    """
    everything = chain.db.objects(Token)
    matching = (
        everything.filter(kind__isnull=False) if kind is None else everything.filter(kind=kind)
    )
    if before is not None:
        matching = matching.filter(first_log__lt=before)
    listed_tokens = list(matching.order_by("-first_log")[:count])
    _mark(chain, listed_tokens)
    return listed_tokens


def token(chain: EvmChain, address: Address) -> Token | None:
    """Return a token, with `is_copy`; None if there is no contract at the address or it is not a token."""
    row = chain.db.objects(Token).filter(address=address, kind__isnull=False).first()
    if row is not None:
        _mark(chain, [row])
    return row


def tokens_at(chain: EvmChain, addresses: Collection[bytes]) -> dict[Address, Token]:
    """Return the tokens at some addresses, each with `is_copy`, in two statements."""
    matching = chain.db.objects(Token).filter(address__in=list(addresses), kind__isnull=False)
    rows = list(matching.order_by())
    _mark(chain, rows)
    return {Address(bytes(row.address)): row for row in rows}


def named(chain: EvmChain, text: str, *, count: int) -> list[Token]:
    """Return tokens whose symbol or name begins with a text, ignoring case and spaces, each with `is_copy`.

    Matches by symbol come before matches by name, then shorter ones first, then older ones first.

    Args:
        chain: The chain.
        text: The search text.
        count: Limit of matches by symbol, and of matches by name.
    """
    key = search_key(text)
    if key is None:
        return []
    by_address: dict[bytes, Token] = {}
    for column in ("symbol_key", "name_key"):
        alike = {
            f"{column}__gte": key,
            f"{column}__lt": key + b"\xff",
        }  # 0xff does not occur in UTF-8
        rows = chain.db.objects(Token).filter(**alike).order_by(column, "first_log")[:count]
        for row in rows:
            by_address.setdefault(bytes(row.address), row)
    listed_tokens = list(by_address.values())
    _mark(chain, listed_tokens)
    return listed_tokens


def transfers_of_token(
    chain: EvmChain,
    token: Token,
    *,
    token_id: int | None = None,
    before: int | None = None,
    count: int = PAGE,
) -> list[TokenTransfer]:
    """Return transfers of a token, or of one token ID including ranges that contain it, the latest first.

    Args:
        chain: The chain.
        token: The token.
        token_id: A token ID of an ERC-721 or ERC-1155; None for all.
        before: The key of the last transfer shown.
        count: Limit of transfers.
    """
    own = _transfers(chain).filter(contract=token.address)
    if token_id is None:
        return _page([own], before, count)
    ranges = own.filter(last_token_id__isnull=False).order_by("-id")[:MAX_RANGES]
    with_it = [range_.id for range_ in ranges if _is_in(range_, token_id)]
    return _page([own.filter(token_id=token_id), own.filter(id__in=with_it)], before, count)


def transfers_of(
    chain: EvmChain,
    address: Address,
    *,
    doubtful: bool = True,
    before: int | None = None,
    count: int = PAGE,
) -> TransferPage:
    """Return token transfers from or to an address, the latest first, with their tokens (marked) and transactions.

    At most `MAX_LOOKED_AT` rows in each direction are examined, whether they belong to tokens or not.

    Args:
        chain: The chain.
        address: An account.
        doubtful: Whether to include transfers of the value zero, and those whose sender is an account that did not sign
            the transaction and whose balance does not confirm them.
        before: The key of the last transfer shown.
        count: Limit of transfers.
    """
    every = _transfers(chain)
    shown = every if doubtful else every.filter(Q(doubtful=False) | Q(is_confirmed=True))
    sides = [shown.filter(sender=address), shown.filter(to=address)]
    end = max(_looked_at(branch, before) for branch in sides)
    of_tokens = [branch.filter(id__gte=end, contract__kind__isnull=False) for branch in sides]
    transfers = _page(of_tokens, before, count)
    _mark(chain, [transfer.contract for transfer in transfers])
    return TransferPage(transfers, end if end and len(transfers) < count else None)


def transfers_in(
    chain: EvmChain, transaction: int, *, count: int = MAX_HELD
) -> list[TokenTransfer]:
    """Return the token transfers in a transaction, by its key, in order."""
    matching = _transfers(chain).filter(transaction_id=transaction, contract__kind__isnull=False)
    transfers = list(matching.order_by("id")[:count])
    _mark(chain, [row.contract for row in transfers])
    return transfers


def balances_of(
    chain: EvmChain,
    address: Address,
    *,
    kinds: Collection[TokenStandard] = tuple(TokenStandard),
    after: bytes = b"",
    first: int = 0,
    count: int = MAX_HELD,
) -> BalancePage:
    """Return token balances of an address, with their tokens; for ERC-1155 per token ID.

    At most `MAX_LOOKED_AT` rows are examined.

    Args:
        chain: The chain.
        address: An account.
        kinds: The standards.
        after: The key after which the list starts.
        first: Number of balances to skip.
        count: Limit of balances.
    """
    own = chain.db.objects(TokenBalance).filter(holder=address, key__gt=after).order_by("key")
    balances = own.filter(amount__gt=0, contract__kind=F("kind"), kind__in=kinds)
    # The key of the last row to examine, and whether there are more rows.
    ends = list(own.values_list("key", flat=True)[MAX_LOOKED_AT - 1 : MAX_LOOKED_AT + 1])
    goes_on = len(ends) > 1
    if goes_on:
        balances = balances.filter(key__lte=ends[0])
    rows = list(balances.select_related("contract")[first : first + count + 1])
    _mark(chain, [row.contract for row in rows])
    if len(rows) > count:
        return BalancePage(rows[:count], bytes(rows[count - 1].key))
    return BalancePage(rows, bytes(ends[0]) if goes_on else None)


def holders(
    chain: EvmChain, token: Token, *, token_id: int | None = None, first: int = 0, count: int = PAGE
) -> list[TokenBalance]:
    """Return the holders of a token (or of a token ID), the largest first; at most `MAX_COUNTED` are shown."""
    balances = _held(chain, token, token_id).order_by("-amount", "-key")
    last = min(first + count, MAX_COUNTED)
    return list(balances[min(first, last) : last])


def inventory(
    chain: EvmChain, token: Token, *, after: int | None = None, count: int = PAGE
) -> list[TokenItem]:
    """Return tokens of an ERC-721 that have an owner, ordered by ID, after a given ID."""
    items = chain.db.objects(TokenItem).filter(contract=token.address, owner__isnull=False)
    if after is not None:
        items = items.filter(token_id__gt=after)
    return list(items.order_by("token_id")[:count])


def ids(chain: EvmChain, token: Token, *, after: int | None = None, count: int = PAGE) -> list[int]:
    """Return token IDs of an ERC-1155 that have a holder, after a given ID."""
    balances = chain.db.objects(TokenBalance).filter(
        contract=token.address, token_id__isnull=False, amount__gt=0
    )
    if after is not None:
        balances = balances.filter(token_id__gt=after)
    rows = balances.order_by("token_id").values_list("token_id", flat=True).distinct()[:count]
    return [row for row in rows if row is not None]


def owner(chain: EvmChain, token: Token, token_id: int) -> Address | None:
    """Return the owner of an ERC-721 token; the zero address if it was burned, None if no owner was ever recorded."""
    key = item_key(Address(bytes(token.address)), token_id)
    item = chain.db.objects(TokenItem).filter(key=key).first()
    return None if item is None else Address(bytes(item.owner or ZERO_ADDRESS))


def count_transfers(chain: EvmChain, token: Token) -> int:
    """Return the number of a token's transfers, counted up to `MAX_COUNTED` plus one."""
    transfers = chain.db.objects(TokenTransfer).filter(contract=token.address)
    return transfers.order_by("-id")[: MAX_COUNTED + 1].count()


def count_holders(chain: EvmChain, token: Token, token_id: int | None = None) -> int:
    """Return the number of holders of a token (or of a token ID), counted up to `MAX_COUNTED` plus one.

    A holder of several token IDs of an ERC-1155 counts once per ID.
    """
    balances = _held(chain, token, token_id).order_by("amount")
    return balances[: MAX_COUNTED + 1].count()


def _held(chain: EvmChain, token: Token, token_id: int | None) -> QuerySet[TokenBalance]:
    assert token.kind is not None
    balances = chain.db.objects(TokenBalance).filter(
        contract=token.address, kind=token.kind, amount__gt=0
    )
    return balances if token_id is None else balances.filter(token_id=token_id)


def _mark(chain: EvmChain, tokens_to_mark: Sequence[Token]) -> None:
    """Set `is_copy` of tokens that have the name or symbol of an earlier token or of the chain's own coin."""
    if not tokens_to_mark:
        return
    native = [likeness(name) if name else None for name in (chain.coin_symbol, chain.coin_name)]
    keys = list({bytes(token.address) for token in tokens_to_mark})
    rows = chain.db.rows_by_keys(_COPIES, keys, (*native, *native))
    copies = {bytes(address) for (address,) in rows}
    for token in tokens_to_mark:
        token.is_copy = bytes(token.address) in copies


def _is_in(row: TokenTransfer, token_id: int) -> bool:
    first, last = row.token_id, row.last_token_id
    return first is not None and last is not None and first <= token_id <= last


def _transfers(chain: EvmChain) -> QuerySet[TokenTransfer]:
    """Return all transfers, each with `is_confirmed`.

    Unspecified: a transfer is confirmed if the contract last reported the balance that the sender has by all transfers. If a
    contract allows transfers without the sender's consent and reports consistent balances, they count as confirmed.
    """
    balances = chain.db.objects(TokenBalance).filter(
        Q(token_id__isnull=True) | Q(token_id=OuterRef("token_id")),
        contract=OuterRef("contract"), holder=OuterRef("sender"), kind=OuterRef("kind"),
        differs=False, to_ask=False, asked_height__isnull=False,
    )  # fmt: skip
    confirmed = {"is_confirmed": Exists(balances) & ~Q(value=0)}
    transfers = chain.db.objects(TokenTransfer).select_related("contract", "transaction__block")
    return transfers.defer("transaction__raw", "transaction__block__header").annotate(**confirmed)


def _looked_at(branch: QuerySet[TokenTransfer], before: int | None) -> int:
    """Return the key of the last row to examine; 0 if all are examined."""
    earlier = branch if before is None else branch.filter(id__lt=before)
    keys = earlier.order_by("-id").values_list("id", flat=True)
    ends = list(keys[MAX_LOOKED_AT - 1 : MAX_LOOKED_AT + 1])
    return ends[0] if len(ends) > 1 else 0


def _page(
    branches: Sequence[QuerySet[TokenTransfer]], before: int | None, count: int
) -> list[TokenTransfer]:
    by_key: dict[int, TokenTransfer] = {}
    for branch in branches:
        earlier = branch if before is None else branch.filter(id__lt=before)
        by_key.update((row.id, row) for row in earlier.order_by("-id")[:count])
    return [by_key[key] for key in sorted(by_key, reverse=True)[:count]]
