"""Token transfers in ranges of blocks, in either order, for clients that read whole lists."""

from collections.abc import Iterable
from typing import Final

from django.db.models import Q, QuerySet

from cchain_app import models
from cchain_app.chain import EvmChain
from explorer_app.models import TokenTransfer
from explorer_app.selectors.ledger import ListTooLong, Span, merged_keys
from explorer_app.tokens.events import TokenStandard
from primitives.evm import Address

MAX_LOOKED_AT: Final = 100_000
"""Limit of rows of an address or contract that are examined for one list."""


def transfers(
    chain: EvmChain,
    kind: TokenStandard,
    address: Address | None,
    contract: Address | None,
    span: Span,
) -> list[TokenTransfer]:
    """Return indexed transfers of one standard, with their tokens and transactions.

    Args:
        chain: The chain.
        kind: The standard.
        address: Sender or recipient; None for any.
        contract: The token; None for any.
        span: The requested part of the list.

    Raises:
        ListTooLong: After `MAX_LOOKED_AT` rows the list is not full, because many rows do not match.
    """
    rows = chain.db.objects(TokenTransfer)
    branches = (
        [rows.filter(contract=contract)]
        if address is None
        else [rows.filter(sender=address), rows.filter(to=address)]
    )
    condition = Q(kind=kind, contract__kind__isnull=False)
    if contract is not None:
        condition &= Q(contract=contract)
    looked_at = _looked_at(branches, span)
    keys = merged_keys([branch.filter(looked_at, condition) for branch in branches], span)
    if looked_at and len(keys) < span.maximum:
        raise ListTooLong
    rows = chain.db.objects(TokenTransfer).filter(id__in=keys)
    transfers = rows.select_related("contract", "transaction__block").defer(
        "transaction__raw", "transaction__block__header"
    )
    return sorted(transfers, key=lambda transfer: transfer.id, reverse=span.descending)


def _looked_at(branches: Iterable[QuerySet[TokenTransfer]], span: Span) -> Q:
    """Return the condition for rows that are examined; empty if all are."""
    first, stop = span.keys
    ends: list[int] = []
    for branch in branches:
        rows = branch.filter(id__gte=first, id__lt=stop)
        keys = rows.order_by("-id" if span.descending else "id").values_list("id", flat=True)
        ends += keys[MAX_LOOKED_AT : MAX_LOOKED_AT + 1]
    if not ends:
        return Q()
    return Q(id__gt=max(ends)) if span.descending else Q(id__lt=min(ends))


def receipts(chain: EvmChain, transfers: Iterable[TokenTransfer]) -> dict[int, models.Receipt]:
    """Return the receipts of the transfers' transactions, by the transactions' keys."""
    keys = {transfer.transaction_id for transfer in transfers}
    return chain.db.objects(models.Receipt).in_bulk(list(keys))
