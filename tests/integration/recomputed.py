"""Every block of a chain computed anew by the reference engine, from its raw transactions."""

from cchain_app import models
from cchain_app.api import wire
from cchain_app.blocks.receipt import encode_receipt
from cchain_app.chain import EvmChain
from cchain_app.development.changes import NOBODY, STORAGE, with_value
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.store import development, evm_state
from cchain_app.store.chain import load_block
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.cchain import MemoryState
from tests.builders.recompute import RecomputedChain, header_as_shown


def made_by_hand(chain: EvmChain, number: int, state: MemoryState) -> StateChanges:
    """Return what was changed by hand before a block, worked out from the rows' new values alone."""
    accounts: dict[Address, AccountState | None] = {}
    slots: dict[tuple[Address, Slot], Word] = {}
    for one in development.changes_before(chain.db, number):
        if one.kind == STORAGE:
            assert one.slot is not None
            slots[one.address, one.slot] = one.new
            continue
        before = accounts.get(one.address, state.account(one.address)) or NOBODY
        accounts[one.address] = with_value(before, one.kind, one.new)
    return StateChanges(
        accounts={
            address: AccountChange(state.account(address), None if after == NOBODY else after)
            for address, after in accounts.items()
            if after != NOBODY or state.account(address) is not None
        },
        storage={key: SlotChange(state.storage(*key), word) for key, word in slots.items()},
        codes={
            Hash(keccak256(code)): code
            for code in (
                evm_state.code(chain.db, one.code_hash)
                for one in accounts.values()
                if one is not None and one.code_hash != EMPTY_HASH
            )
        },
    )


def signers_set_by_hand(chain: EvmChain, number: int) -> dict[bytes, Address]:
    """Return who has which signature by decree in a block, from the rows alone."""
    found = chain.db.objects(models.ImpersonatedSignature).filter(number__lte=number).order_by("id")
    return {bytes(one.signature): Address(bytes(one.signer)) for one in found}


def assert_recomputes(chain: EvmChain) -> None:
    """Compare headers, hashes and receipts of all blocks with what the specification's code makes.

    The headers are those that clients are shown.
    """
    again = RecomputedChain(chain.config, chain.genesis.state_changes())
    numbers = chain.db.objects(models.Block).order_by("number").values_list("number", flat=True)
    for number in numbers:
        block = load_block(chain.db, number)
        again.change(made_by_hand(chain, number, again.state))
        fork = again.fork_of(number, block.header.timestamp)
        shown = header_as_shown(wire.header(block), fork)
        raws = [transaction.raw for transaction in block.transactions]
        made = again.follow(shown, raws, signers_set_by_hand(chain, number))
        assert shown == made.header, f"block {number}"
        assert block.hash == made.hash, f"block {number}"
        assert [encode_receipt(receipt) for receipt in block.receipts] == list(made.receipts)
