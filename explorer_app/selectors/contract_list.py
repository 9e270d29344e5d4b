"""Verified contracts as a list: the latest first, by the beginning of their names, or those at one address."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import QuerySet

from cchain_app.chain import EvmChain
from chaindb.fields import HexBytes
from explorer_app.models import VerifiedContract
from explorer_app.tokens.strings import search_key
from explorer_app.verification.comparing import Match
from primitives.evm import Address

PAGE: Final = 25

_COLUMNS: Final = (
    "id", "address", "name", "name_key", "language", "compiler", "runtime_match", "creation_match", "verified_at",
)  # fmt: skip


class VerifiedRow(NamedTuple):
    """A verified contract, without its sources."""

    id: int
    address: HexBytes
    name: str
    name_key: bytes | None
    language: str
    compiler: str
    """Version with its commit."""
    runtime_match: str | None
    creation_match: str | None
    verified_at: datetime

    @property
    def is_exact(self) -> bool:
        """Whether the metadata match too, so that the sources are exactly those that were compiled."""
        return Match.EXACT.value in {self.runtime_match, self.creation_match}

    @property
    def time(self) -> int:
        """When it was verified, in Unix seconds."""
        return int(self.verified_at.timestamp())

    @property
    def version(self) -> str:
        """The compiler's version without its commit."""
        return self.compiler.partition("+")[0]


class NamePlace(NamedTuple):
    """The place of a contract in the order of the names."""

    name_key: bytes
    id: int


def latest_contracts(
    chain: EvmChain, *, before: int | None = None, count: int = PAGE
) -> list[VerifiedRow]:
    """Return contracts before a key, the last verified first."""
    rows = chain.db.objects(VerifiedContract).order_by("-id")
    return _listed(rows if before is None else rows.filter(id__lt=before), count)


def contracts_by_name(
    chain: EvmChain, text: str, *, after: NamePlace | None = None, count: int = PAGE
) -> list[VerifiedRow]:
    """Return contracts whose name begins with a text, ignoring case and spaces, by name, after one of them."""
    key = search_key(text)
    if key is None:
        return []
    rows = chain.db.objects(VerifiedContract).filter(name_key__lt=key + b"\xff")
    if after is None or after.name_key < key:
        return _listed(rows.filter(name_key__gte=key).order_by("name_key", "id"), count)
    # Two ranges of the index, because databases do not find a place in it by a condition with "or".
    same = rows.filter(name_key=HexBytes(after.name_key), id__gt=after.id)
    same_name = _listed(same.order_by("name_key", "id"), count)
    later = rows.filter(name_key__gt=HexBytes(after.name_key))
    return (same_name + _listed(later.order_by("name_key", "id"), count))[:count]


def contracts_at(chain: EvmChain, address: Address) -> list[VerifiedRow]:
    """Return the sources of the codes that were verified at an address, the last verified first."""
    rows = chain.db.objects(VerifiedContract).filter(address=address)
    return sorted(_listed(rows.order_by("address"), PAGE), key=lambda row: -row.id)


def _listed(rows: "QuerySet[VerifiedContract]", count: int) -> list[VerifiedRow]:
    values: Iterable[tuple[object, ...]] = rows.values_list(*_COLUMNS)[:count]
    return [VerifiedRow(*row) for row in values]  # type: ignore[arg-type]  # columns in this order
