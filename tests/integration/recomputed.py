"""Every block of a chain, recomputed by the reference engine from its raw transactions."""

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from cchain_app import models
from cchain_app.api import wire
from cchain_app.blocks.receipt import encode_receipt
from cchain_app.chain import EvmChain
from cchain_app.development.changes import CODE, NOBODY, STORAGE, StateEdit, with_value
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.store import development, evm_state
from cchain_app.store.chain import load_block
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.cchain import MemoryState
from tests.builders.recompute import RecomputedChain, header_as_shown
from tests.sources import files_below

ROOT: Final = Path(__file__).resolve().parents[2]
COMPARED: Final = ROOT / "build" / "recomputed"
"""Directory with a file for each chain compared by any run of the tests; the file's name is a digest."""


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block as stored in a chain's rows, and the cheats that preceded it."""

    header: Any
    """The header as shown to clients."""
    hash: Hash
    raws: tuple[bytes, ...]
    receipts: tuple[bytes, ...]
    """The encoded receipts, as in the receipts trie."""
    changes: tuple[StateEdit, ...]
    codes: tuple[bytes, ...]
    """Code that these changes gave to accounts."""
    signers: Mapping[bytes, Address]
    payload: bytes | None
    """The atomic transactions."""


def shown_block(chain: EvmChain, number: int) -> ShownBlock:
    """Read a block."""
    block = load_block(chain.db, number, chain.format)
    fork = chain.config.fork_at(number, block.header.timestamp)
    changes = tuple(development.changes_before(chain.db, number))
    given = (
        Hash(change.new) for change in changes if change.kind == CODE and change.new != EMPTY_HASH
    )
    return ShownBlock(
        header_as_shown(wire.header(block), fork),
        block.hash,
        tuple(transaction.raw for transaction in block.transactions),
        tuple(encode_receipt(receipt) for receipt in block.receipts),
        changes,
        tuple(evm_state.code(chain.db, item) for item in given),
        signers_set_by_hand(chain, number),
        block.payload,
    )


def made_by_hand(block: ShownBlock, state: MemoryState) -> StateChanges:
    """Return the cheats before a block as state changes, computed from only the new values in the rows."""
    accounts: dict[Address, AccountState | None] = {}
    slots: dict[tuple[Address, Slot], Word] = {}
    for change in block.changes:
        if change.kind == STORAGE:
            assert change.slot is not None
            slots[change.address, change.slot] = change.new
            continue
        before = accounts.get(change.address, state.account(change.address)) or NOBODY
        accounts[change.address] = with_value(before, change.kind, change.new)
    return StateChanges(
        accounts={
            address: AccountChange(state.account(address), None if after == NOBODY else after)
            for address, after in accounts.items()
            if after != NOBODY or state.account(address) is not None
        },
        storage={key: SlotChange(state.storage(*key), word) for key, word in slots.items()},
        codes={Hash(keccak256(code)): code for code in block.codes},
    )


def signers_set_by_hand(chain: EvmChain, number: int) -> dict[bytes, Address]:
    """Return the impersonated signatures that apply in a block, with their signers, from only the rows."""
    found = chain.db.objects(models.ImpersonatedSignature).filter(number__lte=number).order_by("id")
    return {bytes(item.signature): Address(bytes(item.signer)) for item in found}


def assert_recomputes(chain: EvmChain) -> None:
    """Compare headers, hashes and receipts of all blocks with those computed by the specification's code.

    The headers are those shown to clients. Many tests make the same chain, on SQLite and on PostgreSQL; a chain whose
    rows are identical to those of a compared chain is not compared again.
    """
    numbers = chain.db.objects(models.Block).order_by("number").values_list("number", flat=True)
    shown = [shown_block(chain, number) for number in numbers]
    first_state = chain.genesis.state_changes()
    compared = COMPARED / _digest(chain.config, first_state, shown)
    if compared.exists():
        return
    again = RecomputedChain(chain.config, first_state)
    for number, block in enumerate(shown):
        again.change(made_by_hand(block, again.state))
        made = again.follow(block.header, block.raws, block.signers, block.payload)
        assert block.header == made.header, f"block {number}"
        assert block.hash == made.hash, f"block {number}"
        assert block.receipts == made.receipts, f"block {number}"
    COMPARED.mkdir(parents=True, exist_ok=True)
    compared.touch()


def _digest(*values: object) -> str:
    """Return a digest of a chain and of all code that is involved in recomputing it."""
    return hashlib.sha256(_code() + pickle.dumps(values)).hexdigest()


@cache
def _code() -> bytes:
    digest = hashlib.sha256(version("ethereum-execution").encode())
    for folder in ("cchain_app", "primitives", "tests/builders", "tests/integration"):
        for file in files_below(ROOT / folder):
            digest.update(file.read_bytes())
    return digest.digest()
