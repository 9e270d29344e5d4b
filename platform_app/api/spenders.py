"""Arguments shared by all methods that use a user's keys: the payer, and the terms of stakers."""

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
from platform_app.wallet import requirements
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
    """The payer's arguments, as the caller wrote them. The password is not in the repr."""

    chain: PlatformChain = field(repr=False)
    username: str
    password: str = field(repr=False)
    sources: Sequence[str]
    change: str

    def payer(self) -> Payer:
        """Return the payer, with the addresses read.

        Raises:
            JsonRpcError: -32000, a string is not an address.
        """
        sources = params.read_all(self.chain, self.sources)
        change_address = None
        if self.change:
            with saying("couldn't parse changeAddr"):
                change_address = params.read(self.chain, self.change)
        return Payer(self.username, self.password, sources, change_address)


class Period(NamedTuple):
    """The arguments of a staking period: node, stake, and times in Unix seconds."""

    node_id: NodeID | None
    """The default is this node."""
    start: int
    """0 means immediately."""
    end: int
    stake_amount: int | None
    other_weight: int

    @property
    def weight(self) -> int:
        """The stake; either of the two arguments sets it."""
        return self.other_weight if self.stake_amount is None else self.stake_amount

    def verify_start(self, now: int, config: PlatformConfig) -> None:
        """Check the start.

        Raises:
            WalletError: It is too soon, or too far ahead.
        """
        requirements.verify_start(self.start, now=now, config=config)


def add_spending(methods: Methods, name: str, handler: Callable[..., Json], *own: Param) -> None:
    """Add a method whose first arguments are the `PlatformRpc` and a `Spender`."""
    count = len(_SPENDER)

    @wraps(handler)
    def spend(rpc: PlatformRpc, *given: Any) -> Json:
        return handler(rpc, Spender(rpc.chain, *given[:count]), *given[count:])

    methods.add(name, spend, params=[*_SPENDER, *own])


def add_staking(methods: Methods, name: str, handler: Callable[..., Json], *own: Param) -> None:
    """Add a method whose first arguments are the `PlatformRpc`, a `Spender` and a `Period`."""
    count = len(_PERIOD)

    @wraps(handler)
    def stake(rpc: PlatformRpc, spender: Spender, *given: Any) -> Json:
        return handler(rpc, spender, Period(*given[:count]), *given[count:])

    add_spending(methods, name, stake, *_PERIOD, *own)
