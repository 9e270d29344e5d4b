"""Tokens, their transfers and holders, as far as they are rows: in pages, each of few questions."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from explorer_app.models import Token, TokenBalance, TokenItem, TokenTransfer
from explorer_app.selectors.cchain import PAGE
from explorer_app.store import tokens as rows
from explorer_app.store.token_holdings import item_key
from explorer_app.store.tokens import Progress
from explorer_app.tokens.events import Kind
from explorer_app.tokens.texts import likeness, search_key
from primitives.evm import ZERO_ADDRESS, Address

TokenRow = Token
"""A token, for who shows it."""

TransferRow = TokenTransfer
"""A transfer, likewise."""

BalanceRow = TokenBalance
"""What a holder has, likewise."""

MOST_COUNTED: Final = 10_000
"""So far rows are counted for a page; beyond, there are more."""

MOST_HELD: Final = 100
"""Balances on an address's page, and transfers on a transaction's."""

MOST_LOOKED_AT: Final = 5_000
"""Rows of an address that are looked at for a page: anybody can write it any number of them that are of no token."""

MOST_RANGES: Final = 100
"""Ranges (ERC-2309) of a token, the latest, in which one id is looked for."""


class TransferPage(NamedTuple):
    """A part of a list of transfers."""

    rows: list[TokenTransfer]
    rest: int | None
    """The key before which the list goes on though the page is not full; None: as far as is known it does not."""


class BalancePage(NamedTuple):
    """A part of a list of balances."""

    rows: list[TokenBalance]
    rest: bytes | None
    """The key from behind which on the list goes on; None: it does not."""


NATIVE: Final = ("AVAX", "Avalanche")
"""What the chain's own coin is called: a token with such a name wants to be taken for it."""


def progress(chain: EvmChain) -> Progress | None:
    """Return how far transfers are rows; None where that was never begun."""
    return rows.progress(chain.db)


def how_far(chain: EvmChain) -> str:
    """Return in words how far transfers are rows, for people."""
    written = progress(chain)
    if written is None:
        return "no rows: NODE_TOKEN_INDEX was never on"
    return f"rows up to block {written.height:,} of {blocks.head(chain).number:,}"


def tokens(
    chain: EvmChain, kind: Kind | None = None, *, before: int | None = None, count: int = PAGE
) -> list[Token]:
    """Return tokens, the latest first, each with `is_copy`: whether an earlier one has its name or symbol.

    Args:
        chain: The chain.
        kind: Of one standard; None: of all.
        before: The key of the first log of the last one shown.
        count: So many at most.
    """
    everything = chain.db.objects(Token)
    found = everything.filter(kind__isnull=False) if kind is None else everything.filter(kind=kind)
    if before is not None:
        found = found.filter(first_log__lt=before)
    listed = list(found.order_by("-first_log")[:count])
    _mark(chain, listed)
    return listed


def token(chain: EvmChain, address: Address) -> Token | None:
    """Return a token, with `is_copy`; None for another address, and a contract that is none."""
    found = chain.db.objects(Token).filter(address=address, kind__isnull=False).first()
    if found is not None:
        _mark(chain, [found])
    return found


def named(chain: EvmChain, text: str, *, count: int) -> list[Token]:
    """Return tokens whose symbol or name begins with a text, as names are looked for, each with `is_copy`.

    Symbols stand before names, of each the shorter ones first, of the same ones the oldest.

    Args:
        chain: The chain.
        text: What was typed.
        count: So many at most by their symbols, and by their names.
    """
    key = search_key(text)
    if key is None:
        return []
    found: dict[bytes, Token] = {}
    for column in ("symbol_key", "name_key"):
        alike = {f"{column}__gte": key, f"{column}__lt": key + b"\xff"}  # no UTF-8 has that byte
        rows = chain.db.objects(Token).filter(**alike).order_by(column, "first_log")[:count]
        for one in rows:
            found.setdefault(bytes(one.address), one)
    listed = list(found.values())
    _mark(chain, listed)
    return listed


def transfers_of_token(
    chain: EvmChain,
    token: Token,
    *,
    token_id: int | None = None,
    before: int | None = None,
    count: int = PAGE,
) -> list[TokenTransfer]:
    """Return transfers of a token, the latest first, of one id where that is given; ranges of ids with it too.

    Args:
        chain: The chain.
        token: The token.
        token_id: Of ERC-721 or ERC-1155.
        before: The key of the last transfer shown.
        count: So many at most.
    """
    own = _transfers(chain).filter(contract=token.address)
    if token_id is None:
        return _page([own], before, count)
    ranges = own.filter(last_token_id__isnull=False).order_by("-id")[:MOST_RANGES]
    with_it = [one.id for one in ranges if _is_in(one, token_id)]
    return _page([own.filter(token_id=token_id), own.filter(id__in=with_it)], before, count)


def transfers_of(
    chain: EvmChain,
    address: Address,
    *,
    hidden: bool = False,
    before: int | None = None,
    count: int = PAGE,
) -> TransferPage:
    """Return transfers of tokens from or to an address, the latest first, with their tokens (marked) and transactions.

    At most `MOST_LOOKED_AT` rows either way are looked at, whether they are of tokens or not.

    Args:
        chain: The chain.
        address: An account.
        hidden: Whether those are shown too that move nothing, or whose sender is an account that did not sign.
        before: The key of the last transfer shown.
        count: So many at most.
    """
    every = _transfers(chain)
    shown = every if hidden else every.filter(hidden=False)
    sides = [shown.filter(sender=address), shown.filter(to=address)]
    end = max(_looked_at(one, before) for one in sides)
    of_tokens = [one.filter(id__gte=end, contract__kind__isnull=False) for one in sides]
    found = _page(of_tokens, before, count)
    _mark(chain, [one.contract for one in found])
    return TransferPage(found, end if end and len(found) < count else None)


def transfers_in(
    chain: EvmChain, transaction: int, *, count: int = MOST_HELD
) -> list[TokenTransfer]:
    """Return the transfers of tokens in a transaction, by its key, in their order."""
    found = _transfers(chain).filter(transaction_id=transaction, contract__kind__isnull=False)
    listed = list(found.order_by("id")[:count])
    _mark(chain, [one.contract for one in listed])
    return listed


def balances_of(
    chain: EvmChain,
    address: Address,
    *,
    kinds: Collection[Kind] = tuple(Kind),
    after: bytes = b"",
    first: int = 0,
    count: int = MOST_HELD,
) -> BalancePage:
    """Return what an address has of tokens, with these; of ERC-1155 by id. It is as long as `transfers_of` has it.

    Args:
        chain: The chain.
        address: An account.
        kinds: Of which standards.
        after: The key from behind which on.
        first: So many of those are left out.
        count: So many at most.
    """
    own = chain.db.objects(TokenBalance).filter(holder=address, key__gt=after).order_by("key")
    held = own.filter(amount__gt=0, contract__kind=F("kind"), kind__in=kinds)
    # The last one that is looked at, and whether there is another one.
    ends = list(own.values_list("key", flat=True)[MOST_LOOKED_AT - 1 : MOST_LOOKED_AT + 1])
    goes_on = len(ends) > 1
    if goes_on:
        held = held.filter(key__lte=ends[0])
    listed = list(held.select_related("contract")[first : first + count + 1])
    _mark(chain, [one.contract for one in listed])
    if len(listed) > count:
        return BalancePage(listed[:count], bytes(listed[count - 1].key))
    return BalancePage(listed, bytes(ends[0]) if goes_on else None)


def holders(
    chain: EvmChain, token: Token, *, token_id: int | None = None, first: int = 0, count: int = PAGE
) -> list[TokenBalance]:
    """Return who holds a token (an id of it), who has most first; those after `MOST_COUNTED` are not shown."""
    found = _held(chain, token, token_id).order_by("-amount", "-key")
    last = min(first + count, MOST_COUNTED)
    return list(found[min(first, last) : last])


def inventory(
    chain: EvmChain, token: Token, *, after: int | None = None, count: int = PAGE
) -> list[TokenItem]:
    """Return tokens of an ERC-721 that somebody owns, by their ids, from behind one on."""
    found = chain.db.objects(TokenItem).filter(contract=token.address, owner__isnull=False)
    if after is not None:
        found = found.filter(token_id__gt=after)
    return list(found.order_by("token_id")[:count])


def ids(chain: EvmChain, token: Token, *, after: int | None = None, count: int = PAGE) -> list[int]:
    """Return ids of an ERC-1155 that somebody holds, from behind one on."""
    found = chain.db.objects(TokenBalance).filter(
        contract=token.address, token_id__isnull=False, amount__gt=0
    )
    if after is not None:
        found = found.filter(token_id__gt=after)
    rows = found.order_by("token_id").values_list("token_id", flat=True).distinct()[:count]
    return [one for one in rows if one is not None]


def owner(chain: EvmChain, token: Token, token_id: int) -> Address | None:
    """Return who owns a token of an ERC-721, the zero address if it was burned; None if nobody was ever seen to."""
    key = item_key(Address(bytes(token.address)), token_id)
    found = chain.db.objects(TokenItem).filter(key=key).first()
    return None if found is None else Address(bytes(found.owner or ZERO_ADDRESS))


def count_transfers(chain: EvmChain, token: Token) -> int:
    """Return how many transfers of a token there are, at most one more than `MOST_COUNTED`."""
    found = chain.db.objects(TokenTransfer).filter(contract=token.address)
    return found.order_by("-id")[: MOST_COUNTED + 1].count()


def count_holders(chain: EvmChain, token: Token, token_id: int | None = None) -> int:
    """Return how many hold a token (an id of it), at most one more than `MOST_COUNTED`.

    Who holds several ids of an ERC-1155 counts for each.
    """
    found = _held(chain, token, token_id).order_by("amount")
    return found[: MOST_COUNTED + 1].count()


def _held(chain: EvmChain, token: Token, token_id: int | None) -> QuerySet[TokenBalance]:
    assert token.kind is not None
    found = chain.db.objects(TokenBalance).filter(
        contract=token.address, kind=token.kind, amount__gt=0
    )
    return found if token_id is None else found.filter(token_id=token_id)


def _mark(chain: EvmChain, found: Sequence[Token]) -> None:
    """Say of tokens whether they are called as earlier ones, or as the chain's own coin."""
    everything = chain.db.objects(Token)
    earlier = everything.filter(first_log__lt=OuterRef("first_log"), kind__isnull=False)
    native = [likeness(one) for one in NATIVE]
    alike = (
        Q(Exists(earlier.filter(name_likeness=OuterRef("name_likeness"))), name__isnull=False)
        | Q(
            Exists(earlier.filter(symbol_likeness=OuterRef("symbol_likeness"))),
            symbol__isnull=False,
        )
        | Q(name_likeness__in=native)
        | Q(symbol_likeness__in=native)
    )
    own = everything.filter(alike, address__in={bytes(one.address) for one in found})
    copies = {bytes(one) for one in own.order_by().values_list("address", flat=True)}
    for one in found:
        one.is_copy = bytes(one.address) in copies


def _is_in(row: TokenTransfer, token_id: int) -> bool:
    first, last = row.token_id, row.last_token_id
    return first is not None and last is not None and first <= token_id <= last


def _transfers(chain: EvmChain) -> QuerySet[TokenTransfer]:
    found = chain.db.objects(TokenTransfer).select_related("contract", "transaction__block")
    return found.defer("transaction__raw", "transaction__block__header")


def _looked_at(branch: QuerySet[TokenTransfer], before: int | None) -> int:
    """Return the key of the last row of a list that is looked at; 0: all are."""
    earlier = branch if before is None else branch.filter(id__lt=before)
    keys = earlier.order_by("-id").values_list("id", flat=True)
    ends = list(keys[MOST_LOOKED_AT - 1 : MOST_LOOKED_AT + 1])
    return ends[0] if len(ends) > 1 else 0


def _page(
    branches: Sequence[QuerySet[TokenTransfer]], before: int | None, count: int
) -> list[TokenTransfer]:
    found: dict[int, TokenTransfer] = {}
    for branch in branches:
        earlier = branch if before is None else branch.filter(id__lt=before)
        found.update((one.id, one) for one in earlier.order_by("-id")[:count])
    return [found[key] for key in sorted(found, reverse=True)[:count]]
