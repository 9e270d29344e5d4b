"""The state of a chain as a file, and back: anvil_dumpState and anvil_loadState (devnet.md 8)."""

from collections.abc import Iterator

from cchain_app.chain import EvmChain
from cchain_app.development.dump import DumpedAccount, document_of, unpack
from cchain_app.selectors import blocks
from cchain_app.services import by_hand
from cchain_app.store import evm_state
from primitives.evm import Address


def dump_state(chain: EvmChain) -> bytes:
    """Return the state at the head, as it is with all that was changed by hand, as JSON."""
    with chain.db.atomic():  # one moment of the rows
        return document_of(blocks.catch_up(chain).header, _accounts(chain))


def _accounts(chain: EvmChain) -> Iterator[tuple[Address, DumpedAccount]]:
    for address, account in evm_state.all_accounts(chain.db):
        code = evm_state.code(chain.db, account.code_hash)
        storage = evm_state.slots_of(chain.db, address)
        yield address, DumpedAccount(account.nonce, account.balance, code, storage)


def load_state(chain: EvmChain, dump: bytes) -> None:
    """Give accounts what a dump says of them; slots and accounts that it does not name stay.

    Unspecified: blocks and transactions of a dump are not taken over: a block here can always be computed anew,
    and those were made by other rules.

    Raises:
        DumpNotReadable: It is none.
        HasPeers: Other nodes follow the chain.
    """
    wanted: list[by_hand.Wanted] = []
    for address, account in unpack(dump).items():
        wanted.append(by_hand.balance(address, account.balance))
        wanted.append(by_hand.nonce(address, account.nonce))
        wanted.append(by_hand.code(address, account.code))
        wanted += (by_hand.storage(address, slot, word) for slot, word in account.storage.items())
    by_hand.change_state(chain, wanted)
