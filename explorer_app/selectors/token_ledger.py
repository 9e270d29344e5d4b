"""Transfers of tokens in ranges of blocks, either way round, for lists of whoever reads them all."""

from collections.abc import Iterable

from django.db.models import QuerySet

from cchain_app import models
from cchain_app.chain import EvmChain
from explorer_app.models import TokenTransfer
from explorer_app.selectors.ledger import Span, merged_keys
from explorer_app.tokens.events import Kind
from primitives.evm import Address


def transfers(
    chain: EvmChain, kind: Kind, address: Address | None, contract: Address | None, span: Span
) -> list[TokenTransfer]:
    """Return transfers of one standard, with their tokens and transactions, as far as they are rows.

    Args:
        chain: The chain.
        kind: The standard.
        address: Whose; None: anybody's.
        contract: Of which token; None: of all.
        span: What part of the list.
    """
    rows = chain.db.objects(TokenTransfer).filter(kind=kind, contract__kind__isnull=False)
    if contract is not None:
        rows = rows.filter(contract=contract)
    branches: Iterable[QuerySet[TokenTransfer]] = (
        [rows] if address is None else [rows.filter(sender=address), rows.filter(to=address)]
    )
    keys = merged_keys(list(branches), span)
    found = chain.db.objects(TokenTransfer).filter(id__in=keys)
    listed = found.select_related("contract", "transaction__block").defer(
        "transaction__raw", "transaction__block__header"
    )
    return sorted(listed, key=lambda one: one.id, reverse=span.descending)


def receipts(chain: EvmChain, transfers: Iterable[TokenTransfer]) -> dict[int, models.Receipt]:
    """Return the receipts of the transfers' transactions, by the transactions' keys."""
    keys = {one.transaction_id for one in transfers}
    return chain.db.objects(models.Receipt).in_bulk(list(keys))
