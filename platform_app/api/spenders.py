"""What all methods that act with a user's keys take: who pays, and the terms of stakers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, NamedTuple

from jsonrpc.dispatch.params import Param
from platform_app.api import params
from platform_app.api.errors import saying
from platform_app.api.rpc import Methods, PlatformRpc
from platform_app.api.wire import Json
from platform_app.chain import PlatformChain
from platform_app.config import PlatformConfig
from platform_app.services.wallet import Payer
from platform_app.wallet import terms
from primitives.ids import NodeID

_SPENDER: Final = (
    Param("username", params.text, ""),
    Param("password", params.text, ""),
    Param("from", params.few_of("addresses", params.text, ""), ()),
    Param("changeAddr", params.text, ""),
)
_PERIOD: Final = (
    Param("nodeID", params.node_id, None),
    Param("startTime", params.uint64, 0),
    Param("endTime", params.uint64, 0),
    Param("stakeAmount", params.uint64, None),
    Param("weight", params.uint64, 0),
)


@dataclass(frozen=True, slots=True)
class Spender:
    """Whose keys pay, as the caller wrote it. The password does not show."""

    chain: PlatformChain = field(repr=False)
    username: str
    password: str = field(repr=False)
    sources: Sequence[str]
    change: str

    def payer(self) -> Payer:
        """Return it with addresses read.

        Raises:
            JsonRpcError: -32000, a text is no address.
        """
        sources = params.read_all(self.chain, self.sources)
        change_address = None
        if self.change:
            with saying("couldn't parse changeAddr"):
                change_address = params.read(self.chain, self.change)
        return Payer(self.username, self.password, sources, change_address)


class Period(NamedTuple):
    """Which node stakes how much from when to when, in Unix seconds."""

    node_id: NodeID | None
    """This node without."""
    start: int
    """0 is at once."""
    end: int
    stake_amount: int | None
    other_weight: int

    @property
    def weight(self) -> int:
        """The stake: both arguments mean the same."""
        return self.other_weight if self.stake_amount is None else self.stake_amount

    def verify_start(self, now: int, config: PlatformConfig) -> None:
        """Check when it begins.

        Raises:
            RefusedTerms: Too soon, or too far ahead.
        """
        terms.verify_start(self.start, now=now, config=config)


def add_spending(methods: Methods, name: str, handler: Callable[..., Json], *own: Param) -> None:
    """Add a method whose first arguments are the doors and a `Spender`."""
    count = len(_SPENDER)

    @wraps(handler)
    def spend(rpc: PlatformRpc, *given: Any) -> Json:
        return handler(rpc, Spender(rpc.chain, *given[:count]), *given[count:])

    methods.add(name, spend, params=[*_SPENDER, *own])


def add_staking(methods: Methods, name: str, handler: Callable[..., Json], *own: Param) -> None:
    """Add a method whose first arguments are the doors, a `Spender` and a `Period`."""
    count = len(_PERIOD)

    @wraps(handler)
    def stake(rpc: PlatformRpc, spender: Spender, *given: Any) -> Json:
        return handler(rpc, spender, Period(*given[:count]), *given[count:])

    add_spending(methods, name, stake, *_PERIOD, *own)
