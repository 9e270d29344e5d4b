"""Convert the port's environment and transactions to the types of the executable specification."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from threading import local
from typing import Any, SupportsInt

from ethereum_rlp import exceptions, rlp
from ethereum_types.bytes import Bytes0, Bytes20, Bytes32
from ethereum_types.numeric import U64, U256, Uint
from typing_extensions import override

from cchain_app.evm.coreth import CORETH, CorethFeatures
from cchain_app.evm.engine import BlockEnv, CallMessage, StateReader
from cchain_app.evm.reference_package import ForkModules, UnknownForkError, load_fork
from cchain_app.evm.reference_state import LazyState
from cchain_app.txs.transaction import Transaction

_MODULES = {
    "petersburg": "constantinople",
    "muir_glacier": "istanbul",
    "arrow_glacier": "london",
    "gray_glacier": "london",
}
"""Names in geth's schedule that have no rules of their own."""

_OF_CORETH = ("istanbul", "berlin", "london", "shanghai", "cancun")
"""The forks that coreth has."""

_TYPED = (
    "",
    "AccessListTransaction",
    "FeeMarketTransaction",
    "BlobTransaction",
    "SetCodeTransaction",
)
"""The specification's class for each transaction type."""


class MalformedTransactionError(Exception):
    """An envelope that this fork cannot decode."""


class _BlockHashes:
    """Hashes of the blocks before this one, indexed from the end: the last is the parent's."""

    def __init__(self, number: int, reader: StateReader) -> None:
        self._number = number
        self._reader = reader

    def __getitem__(self, index: SupportsInt) -> Bytes32:
        return Bytes32(self._reader.block_hash(self._number + int(index)))


def fork_of(env: BlockEnv) -> ForkModules:
    """Return the modules of a block's fork.

    Raises:
        UnknownForkError: There is no such fork.
    """
    if env.variant == CORETH:
        return _coreth(env.fork, env.coreth)
    return load_fork(_MODULES.get(env.fork, env.fork))


@cache
def _coreth(fork: str, features: CorethFeatures) -> ForkModules:
    """Return the modules with coreth's rules of a phase."""
    from cchain_app.evm.reference_coreth import adapt, import_copy

    if fork not in _OF_CORETH:
        raise UnknownForkError(f"unknown fork {fork} of coreth")
    modules = load_fork(CORETH, package=partial(import_copy, fork, features))
    adapt(modules, features)
    return modules


def block_environment(
    env: BlockEnv, fork: ForkModules, state: LazyState, reader: StateReader, base_fee: int | None
) -> Any:
    """Return a block's environment in the specification's type."""
    return fork.build(
        "BlockEnvironment",
        {
            "chain_id": U64(env.chain_id),
            "state": state,
            "block_gas_limit": Uint(env.gas_limit),
            "block_hashes": _BlockHashes(env.number, reader),
            "coinbase": Bytes20(env.coinbase),
            "number": Uint(env.number),
            "base_fee_per_gas": Uint(base_fee or 0),
            "time": U256(env.timestamp),
            "difficulty": Uint(env.difficulty),
            "prev_randao": Bytes32(env.prev_randao),
            "excess_blob_gas": U64(env.excess_blob_gas or 0),
            "parent_beacon_block_root": Bytes32(env.parent_beacon_block_root or bytes(32)),
        },
    )


def signed_transaction(transaction: Transaction, fork: ForkModules) -> Any:
    """Return a transaction as the specification decodes it from its envelope.

    Raises:
        MalformedTransactionError: The fork does not know the type, or the bytes are malformed.
    """
    name = _TYPED[transaction.type]
    data = transaction.raw[1:] if name else transaction.raw
    kind = getattr(fork.transactions, name, None) if name else _legacy(fork)
    if kind is None:
        raise MalformedTransactionError("transaction type not supported")
    try:
        return rlp.decode_to(kind, data)
    except exceptions.RLPException as error:
        raise MalformedTransactionError(f"malformed transaction: {error}") from error


def unsigned_transaction(message: CallMessage, fork: ForkModules) -> Any:
    """Return a call as a transaction of the specification, for its cost and target.

    Raises:
        MalformedTransactionError: The fork does not know such calls, or an authorization is malformed.
    """
    values: dict[str, Any] = {
        "nonce": U256(0),
        "gas_price": Uint(message.gas_price),
        "gas": Uint(message.gas),
        "to": Bytes0() if message.to is None else Bytes20(message.to),
        "value": U256(message.value),
        "data": message.data,
        "r": U256(0),
        "s": U256(0),
    }
    if not message.access_list and not message.authorizations:
        return _legacy(fork)(v=U256(0), **values)
    name = "SetCodeTransaction" if message.authorizations else "AccessListTransaction"
    kind = getattr(fork.transactions, name, None)
    if kind is None:
        raise MalformedTransactionError("transaction type not supported")
    values |= {"chain_id": U64(0), "y_parity": U256(0), "access_list": _access_list(message, fork)}
    if message.authorizations:
        del values["gas_price"]
        fee = Uint(message.gas_price)
        values |= {
            "nonce": U64(0),
            "max_fee_per_gas": fee,
            "max_priority_fee_per_gas": fee,
            "authorizations": _authorizations(message, fork),
        }
    return kind(**values)


def _legacy(fork: ForkModules) -> Any:
    """Return the class of legacy transactions, which is named `Transaction` before Berlin."""
    return getattr(fork.transactions, "LegacyTransaction", None) or fork.transactions.Transaction


def _access_list(message: CallMessage, fork: ForkModules) -> Any:
    access = getattr(fork.transactions, "Access", None)
    if access is None:
        return tuple(
            (Bytes20(address), tuple(map(Bytes32, slots))) for address, slots in message.access_list
        )
    return tuple(
        access(account=Bytes20(address), slots=tuple(map(Bytes32, slots)))
        for address, slots in message.access_list
    )


def _authorizations(message: CallMessage, fork: ForkModules) -> Any:
    try:
        return tuple(
            rlp.decode_to(fork.types.Authorization, data) for data in message.authorizations
        )
    except exceptions.RLPException as error:
        raise MalformedTransactionError(f"invalid authorization: {error}") from error


def intrinsic_cost(transaction: Any, fork: ForkModules) -> tuple[int, int]:
    """Return the intrinsic gas of a transaction, and the floor of EIP-7623."""
    cost = fork.transactions.calculate_intrinsic_cost(transaction)
    if isinstance(cost, tuple):
        return int(cost[0]), int(cost[1])
    return int(cost), 0


_current = local()

Contracts = Callable[[], Mapping[Any, Any]]
"""Returns the stateful precompiles of the block that the thread executes."""


class _Precompiles(Mapping[Any, Any]):
    """A fork's precompiles as the current call of the thread finds them."""

    def __init__(self, of_fork: Mapping[Any, Any]) -> None:
        self.of_fork = of_fork
        self.stateful: Contracts = dict

    def _found(self) -> Mapping[Any, Any]:
        precompiles: Mapping[Any, Any] | None = getattr(_current, "precompiles", None)
        return self.of_fork if precompiles is None else precompiles

    @override
    def __getitem__(self, address: Any) -> Any:
        found = self.stateful().get(address)
        return self._found()[address] if found is None else found

    @override
    def __iter__(self) -> Iterator[Any]:
        return iter(self._found())

    @override
    def __len__(self) -> int:
        return len(self._found())


@contextmanager
def changed(env: BlockEnv, fork: ForkModules, blob_base_fee: int | None) -> Iterator[None]:
    """Apply moved precompiles and this blob base fee to the thread's calls in the body."""
    _install(fork)
    _current.precompiles = _moved(env, fork)
    _current.blob_base_fee = blob_base_fee
    try:
        yield
    finally:
        _current.precompiles = _current.blob_base_fee = None


def _moved(env: BlockEnv, fork: ForkModules) -> Mapping[Any, Any]:
    of_fork = fork.precompiles.PRE_COMPILED_CONTRACTS
    precompiles = dict(of_fork)
    for origin, _ in env.precompile_moves:
        precompiles.pop(Bytes20(origin), None)
    for origin, to in env.precompile_moves:
        if to is not None:
            precompiles[Bytes20(to)] = of_fork[Bytes20(origin)]
    return precompiles


def install_precompiles(fork: ForkModules, stateful: Contracts | None = None) -> None:
    """Make a fork's precompiles those of the current call, and of the block's rules if they are given.

    The addresses of stateful precompiles are not warm: only the interpreter sees them.
    """
    names = vars(fork.interpreter)
    if not isinstance(names["PRE_COMPILED_CONTRACTS"], _Precompiles):
        names["PRE_COMPILED_CONTRACTS"] = _Precompiles(names["PRE_COMPILED_CONTRACTS"])
    if stateful is not None:
        names["PRE_COMPILED_CONTRACTS"].stateful = stateful


def _install(fork: ForkModules) -> None:
    install_precompiles(fork)
    names = vars(fork.environment)
    price = names.get("calculate_blob_gas_price")
    if price is not None and price.__module__ != __name__:
        names["calculate_blob_gas_price"] = _price_or(price)


def _price_or(reckon: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def price(excess_blob_gas: Any) -> Any:
        given: int | None = getattr(_current, "blob_base_fee", None)
        return reckon(excess_blob_gas) if given is None else Uint(given)

    return price
