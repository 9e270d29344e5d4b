"""The EVM chains of subnets that the P-Chain has created: which of them this node runs, and why not the others."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from django.db.models import Case, IntegerField, Q, Value, When

from cchain_app.chain import EvmChain
from cchain_app.models import SubnetChain
from chaindb.database import Database
from explorer_app.models import VerificationState
from platform_app.chain import PlatformChain
from primitives.cb58 import Cb58Error
from primitives.evm import Hash
from primitives.ids import ID, IdError

_NAME: Final = re.compile(r"[A-Za-z0-9 ]+")
PAGE: Final = 50
"""Chains on a page."""
_HEAD: Final = 'SELECT hash FROM "{schema}".cchain_app_block ORDER BY number DESC LIMIT 1'
_PENDING: Final = (
    'SELECT EXISTS (SELECT 1 FROM "{schema}".explorer_app_verification '  # noqa: S608  # a constant
    f"WHERE state < {VerificationState.PASSED.value})"
)
_ORDER: Final = (
    SubnetChain.RUNNING,
    SubnetChain.REFUSED,
    SubnetChain.UNTRACKED,
    SubnetChain.DELETED,
)


class ListedChain(NamedTuple):
    """A chain of a subnet, and its state on this node."""

    blockchain_id: ID
    subnet_id: ID
    name: str
    """Its name in its transaction; not unique, and possibly empty."""
    chain_id: int | None
    """EVM chain ID; None if its genesis was not read."""
    rules: str
    """The rules of its blocks; empty if it has never run."""
    state: str
    state_name: str
    reason: str
    """Why it does not run, or why no block can follow its last one; empty otherwise."""

    @property
    def is_running(self) -> bool:
        """Whether a process of this node runs it."""
        return self.state == SubnetChain.RUNNING

    @property
    def is_deleted(self) -> bool:
        """Whether the chain was deleted on this node."""
        return self.state == SubnetChain.DELETED

    @property
    def is_refused(self) -> bool:
        """Whether its subnet is tracked, but the chain cannot run."""
        return self.state == SubnetChain.REFUSED

    @property
    def is_stopped(self) -> bool:
        """Whether it runs and no block can follow its last one."""
        return self.is_running and bool(self.reason)


def chains(platform: PlatformChain, *, after: int, count: int) -> list[ListedChain]:
    """Return chains of subnets, beginning at a rank: running ones first, then those that cannot run, each kind by name."""
    rank = Case(
        *(When(state=state, then=Value(place)) for place, state in enumerate(_ORDER)),
        default=Value(len(_ORDER)),
        output_field=IntegerField(),
    )
    rows = platform.db.objects(SubnetChain).order_by(rank, "name", "blockchain_id")
    return [_listed(row) for row in rows[after : after + count]]


def named(platform: PlatformChain, text: str, *, count: int) -> Sequence[ListedChain]:
    """Return chains of subnets with a blockchain ID or a name; running ones first."""
    if not _NAME.fullmatch(text):
        return []  # neither can contain other characters, and PostgreSQL refuses some
    wanted = Q(name=text)
    with suppress(Cb58Error, IdError):
        wanted |= Q(blockchain_id=ID.parse(text))
    rows = platform.db.objects(SubnetChain).filter(wanted).order_by("blockchain_id")[:count]
    return sorted((_listed(row) for row in rows), key=lambda chain: not chain.is_running)


def deleted(platform: PlatformChain) -> set[ID]:
    """Return the IDs of the subnets whose chains were deleted on this node."""
    found = platform.db.objects(SubnetChain).filter(state=SubnetChain.DELETED).order_by()
    return {ID(bytes(key)) for key in found.values_list("subnet_id", flat=True)}


def why_not(platform: PlatformChain, text: str) -> str:
    """Return why the chain of a subnet with a blockchain ID or a name does not run; empty if no such chain is known."""
    return next((chain.reason for chain in named(platform, text, count=PAGE) if chain.reason), "")


def heads(platform: PlatformChain, evms: Iterable[EvmChain]) -> dict[str, Hash]:
    """Return the hashes of the last blocks of subnets' chains by name, where one query can ask all of them.

    On PostgreSQL their rows are in schemas beside the P-Chain's. Queries to each of them would keep a connection open
    for each idle chain. On SQLite, which has a file for each, the result is empty.
    """
    found = _ask_each(platform.db, evms, _HEAD)
    return {name: Hash(bytes(value)) for name, value in found.items() if value is not None}


def with_verifications(platform: PlatformChain, evms: Iterable[EvmChain]) -> set[str]:
    """Return the names of those chains that have a pending verification, as `heads`."""
    return {name for name, value in _ask_each(platform.db, evms, _PENDING).items() if value}


def are_asked_together(platform: PlatformChain) -> bool:
    """Return whether one query can ask the chains of subnets."""
    return platform.db.connection.vendor == "postgresql"


def _ask_each(db: Database, evms: Iterable[EvmChain], query: str) -> dict[str, Any]:
    chains = [chain for chain in evms if chain.is_of_subnet]
    if not chains or db.connection.vendor != "postgresql":
        return {}
    parts = (
        f"SELECT '{chain.blockchain_id}', ({query.format(schema=chain.db.alias)})"  # IDs of this node
        for chain in chains
    )
    return {str(name): value for name, value in db.rows(" UNION ALL ".join(parts))}


def _listed(row: SubnetChain) -> ListedChain:
    return ListedChain(
        ID(row.blockchain_id),
        ID(row.subnet_id),
        row.name,
        row.chain_id,
        row.rules,
        row.state,
        row.get_state_display(),
        row.reason,
    )
