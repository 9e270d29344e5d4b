"""Dumps and loads the state of a chain: anvil_dumpState and anvil_loadState (devnet.md 8)."""

from cchain_app.chain import EvmChain
from cchain_app.development.dump import document_of, unpack
from cchain_app.services import cheats
from cchain_app.store import chain as stored
from cchain_app.store import evm_state


def dump_state(chain: EvmChain) -> bytes:
    """Return the state at the head, with all development changes, as JSON. It does not block writers."""
    with chain.db.as_of_one_moment():
        number = stored.head_number(chain.db)
        assert number is not None, "the process has begun the chain"
        head = stored.load_block(chain.db, number, chain.format)
        return document_of(head, evm_state.all_accounts(chain.db))


def load_state(chain: EvmChain, dump: bytes) -> None:
    """Set accounts to their values in a dump; accounts and slots that are not in it keep their values.

    Unspecified: blocks and transactions of a dump are not imported: every block here can be computed again, while
    those were made by other rules.

    Raises:
        InvalidDevelopmentRequest: The bytes are not a dump.
        DevelopmentError: Other nodes follow the chain.
    """
    wanted: list[cheats.AccountEdit] = []
    for address, account in unpack(dump).items():
        wanted.append(cheats.balance(address, account.balance))
        wanted.append(cheats.nonce(address, account.nonce))
        wanted.append(cheats.code(address, account.code))
        wanted += (cheats.storage(address, slot, word) for slot, word in account.storage.items())
    cheats.change_state(chain, wanted)
