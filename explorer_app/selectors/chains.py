"""The EVM chains of subnets that the P-Chain has created: which of them this node runs, and why not the others."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from django.db.models import Case, IntegerField, Q, Value, When

from cchain_app.models import SubnetChain
from platform_app.chain import PlatformChain
from primitives.cb58 import Cb58Error
from primitives.ids import ID, IdError

_NAME: Final = re.compile(r"[A-Za-z0-9 ]+")
PAGE: Final = 50
"""Chains on a page."""
_ORDER: Final = (SubnetChain.RUNNING, SubnetChain.REFUSED, SubnetChain.UNTRACKED)


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
    """Why it does not run; empty if it runs."""

    @property
    def is_running(self) -> bool:
        """Whether a process of this node runs it."""
        return self.state == SubnetChain.RUNNING

    @property
    def is_refused(self) -> bool:
        """Whether its subnet is tracked, but the chain cannot run."""
        return self.state == SubnetChain.REFUSED


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


def why_not(platform: PlatformChain, text: str) -> str:
    """Return why the chain of a subnet with a blockchain ID or a name does not run; empty if there is none."""
    return next((chain.reason for chain in named(platform, text, count=PAGE) if chain.reason), "")


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
