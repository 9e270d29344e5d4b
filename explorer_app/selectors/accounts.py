"""An account of the C-Chain: its state, creation, internal calls and storage slots."""

from threading import Semaphore
from typing import Final, NamedTuple

from cchain_app import models
from cchain_app.chain import EvmChain
from cchain_app.models import Call, CallType, StorageSlot
from cchain_app.selectors import blocks, calls
from cchain_app.selectors.state import state_at
from cchain_app.txs.transaction import DELEGATION_PREFIX
from chaindb.fields import HexBytes
from explorer_app.selectors import cchain, traces
from explorer_app.selectors.cchain import TransactionRow
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH

SLOTS: Final = 50
"""Number of storage slots on a page."""

LAST_SLOT: Final = b"\xff" * 32


class AccountInfo(NamedTuple):
    """An account at the head."""

    address: Address
    balance: int
    """In wei."""
    nonce: int
    code: bytes
    exists: bool
    """Whether the account is in the state; other accounts were never touched, or are empty."""

    @property
    def delegate(self) -> HexBytes | None:
        """The address whose code the account runs (EIP-7702), or None."""
        code = self.code
        is_one = len(code) == len(DELEGATION_PREFIX) + 20 and code.startswith(DELEGATION_PREFIX)
        return HexBytes(code[len(DELEGATION_PREFIX) :]) if is_one else None

    @property
    def is_contract(self) -> bool:
        """Whether it has code of its own."""
        return bool(self.code) and self.delegate is None


class Creator(NamedTuple):
    """The creator of a contract, and the transaction of the creation."""

    transaction: int
    """The transaction's key."""
    creator: HexBytes
    """The account or contract that executed the creation."""


def account(chain: EvmChain, address: Address) -> AccountInfo:
    """Return an account at the head; an empty one if the chain never touched it."""
    state = state_at(chain, blocks.head(chain).number)
    state_account = state.account(address)
    if state_account is None:
        return AccountInfo(address, 0, 0, b"", exists=False)
    code = b"" if state_account.code_hash == EMPTY_HASH else state.code(state_account.code_hash)
    return AccountInfo(address, state_account.balance, state_account.nonce, code, exists=True)


def creator(chain: EvmChain, address: Address) -> Creator | None:
    """Return the creator of a contract, which may be a factory; None if there is no row for the creation (yet)."""
    receipts = chain.db.objects(models.Receipt).filter(contract_address=address, succeeded=True)
    # Only after a SELFDESTRUCT can an address be created again: there are few rows, and the last one counts.
    found_rows = receipts.order_by("contract_address").values_list(
        "transaction_id", "transaction__sender"
    )
    direct = max(found_rows[:SLOTS], default=None)
    if direct is not None:
        return Creator(direct[0], HexBytes(bytes(direct[1])))
    creation = calls.creation_of(chain, address)
    return None if creation is None else Creator(creation.transaction, HexBytes(creation.creator))


def inner_calls(
    chain: EvmChain, address: Address, *, before: int | None = None, count: int
) -> list[Call]:
    """Return internal calls that move value from or to an address, or create it, the latest first."""
    rows = (
        calls.inner_calls(chain)
        .filter(succeeded=True)
        .exclude(type__in=[CallType.STATICCALL, CallType.DELEGATECALL])
    )
    if before is not None:
        rows = rows.filter(id__lt=before)
    rows = rows.select_related("transaction__block").defer(
        "transaction__raw", "transaction__block__header"
    )
    calls_by_key: dict[int, Call] = {}
    for side in ("sender", "to"):
        for row in rows.filter(**{side: address}).order_by("-id")[:count]:
            calls_by_key[row.pk] = row
    return [calls_by_key[key] for key in sorted(calls_by_key, reverse=True)[:count]]


def slots(chain: EvmChain, address: Address) -> list[tuple[bytes, bytes]]:
    """Return the first storage slots of an account with their values, plus one if there are more."""
    rows = chain.db.objects(StorageSlot).filter(key__gte=address, key__lte=address + LAST_SLOT)
    return [(row.key[20:], row.value) for row in rows.order_by("key")[: SLOTS + 1]]


_CREATIONS = frozenset({"CREATE", "CREATE2"})


class ContractOrigin(NamedTuple):
    """The creation of a contract."""

    transaction: TransactionRow
    factory: Address | None
    """The contract that executed the creation; None if the transaction itself was a creation."""


def creation(chain: EvmChain, address: Address) -> ContractOrigin | None:
    """Return the latest creation of a contract; None for genesis contracts, and if there is no row for it."""
    origin = creator(chain, address)
    if origin is None:
        return None
    row = cchain.transactions_by_keys(chain, [origin.transaction]).get(origin.transaction)
    if row is None:
        return None
    address = Address(bytes(origin.creator))
    return ContractOrigin(row, None if address == row.sender and row.to is None else address)


def init_code(
    chain: EvmChain,
    executing: Semaphore,
    address: Address,
    origin: ContractOrigin | None,
    *,
    waits: bool = False,
) -> bytes | None:
    """Return the init code of a contract, followed by its constructor arguments; None if it is unknown.

    If a factory created the contract, the transaction is executed again, which takes an execution slot.

    Raises:
        Busy: All executing are taken; not raised if the caller `waits` for one.
    """
    if origin is None:
        return None
    if origin.factory is None:
        return origin.transaction.data
    number, position = origin.transaction.number, origin.transaction.position
    trace = traces.traced_in_turn(chain, executing, number, position, waits=waits).trace
    if trace is None:
        return None
    for frame in reversed(trace.frames):
        if frame.type in _CREATIONS and frame.to == address and frame.error is None:
            return bytes(frame.input)
    return None


def is_of_genesis(chain: EvmChain, address: Address) -> bool:
    """Return whether a contract is part of the genesis."""
    account = chain.genesis.alloc.get(address)
    return account is not None and bool(account.code)
