"""Check a node's C-Chain rows for consistency without using any of the node's own code.

`replay` checks that the rows match the result of executing the transactions.
"""

from typing import Any

from ethereum.crypto.hash import keccak256
from ethereum.forks.prague.trie import Trie, root, trie_set
from ethereum_rlp import rlp
from ethereum_types.numeric import Uint

from tests.servers.node import Ask

FIRST_PARENT = bytes(32)
GWEI = 10**9
WEI_OF_UNIT = 10**12
_EXPORT = 1


def known_transactions(ask: Ask) -> set[str]:
    """Return the hashes of all transactions in blocks or in the pool, as 0x text."""
    mined = ask("SELECT hash FROM cchain_app_transaction")
    waiting = ask("SELECT hash FROM cchain_app_pooltransaction")
    return {"0x" + bytes(one).hex() for (one,) in mined + waiting}


def check_rows(ask: Ask) -> None:
    """Check every block and everything that refers to it, and the state at the head.

    Raises:
        AssertionError: A row is missing, superfluous, or inconsistent with the head.
    """
    blocks = ask(
        "SELECT number, hash, parent_hash, header, state_root, transaction_count, log_count"
        " FROM cchain_app_block ORDER BY number"
    )
    parent = FIRST_PARENT
    for place, (number, block_hash, parent_hash, header, *_) in enumerate(blocks):
        assert number == place
        assert bytes(parent_hash) == parent, f"block {number} does not follow its parent"
        assert keccak256(bytes(header)) == bytes(block_hash)
        parent = bytes(block_hash)
    transactions = _counts(ask, "cchain_app_transaction")
    logs = _counts(ask, "cchain_app_log")
    for number, *_, transaction_count, log_count in blocks:
        assert transactions.get(number, 0) == transaction_count, f"transactions of block {number}"
        assert logs.get(number, 0) == log_count, f"logs of block {number}"
    orphans = (
        "SELECT count(*) FROM cchain_app_transaction AS t"
        " LEFT JOIN cchain_app_receipt AS r ON r.transaction_id = t.id"
        " WHERE r.transaction_id IS NULL"
    )
    assert ask(orphans) == [(0,)], "transactions without receipts"
    head = blocks[-1]
    assert state_root(ask) == bytes(head[4]), f"the state is not that of block {head[0]}"


def check_coins(ask: Ask) -> None:
    """Check that all wei are those of genesis and of other chains, less what went to other chains and was burned.

    Raises:
        AssertionError: Coins came from nowhere, or were lost.
    """
    now = {
        bytes(address): int(balance)
        for address, balance in ask("SELECT address, balance FROM cchain_app_account")
    }
    at_genesis = dict(now)
    changes = "SELECT address, balance FROM cchain_app_accountchange WHERE number > 0"
    for address, balance in ask(f"{changes} ORDER BY number DESC"):
        at_genesis[bytes(address)] = int(balance or 0)
    burned = sum(
        int(base_fee) * gas
        for base_fee, gas in ask("SELECT base_fee, gas_used FROM cchain_app_block WHERE number > 0")
    )
    came = ask("SELECT sum(amount_gwei) FROM cchain_app_withdrawal")[0][0] or 0
    left = sum(
        int(amount) + int(cost)
        for amount, cost in ask(
            f"SELECT amount, burned FROM cchain_app_atomictransaction WHERE kind = {_EXPORT}"
        )
    )
    expected = sum(at_genesis.values()) + came * GWEI - left * WEI_OF_UNIT - burned
    assert sum(now.values()) == expected, "coins came from nowhere, or were lost"


def state_root(ask: Ask) -> bytes:
    """Return the state root of the accounts and slots in the rows, computed by the executable specification."""
    storages: dict[bytes, Trie[Any, Any]] = {}
    for key, value in ask("SELECT key, value FROM cchain_app_storageslot"):
        address, slot = bytes(key)[:20], bytes(key)[20:]
        storage = storages.setdefault(address, Trie(secured=True, default=b""))
        trie_set(storage, slot, rlp.encode(bytes(value).lstrip(b"\x00")))
    accounts: Trie[Any, Any] = Trie(secured=True, default=b"")
    rows = ask("SELECT address, nonce, balance, code_hash FROM cchain_app_account")
    for address, nonce, balance, code_hash in rows:
        storage = storages.pop(bytes(address), Trie(secured=True, default=b""))
        fields = (Uint(int(nonce)), Uint(int(balance)), bytes(root(storage)), bytes(code_hash))
        trie_set(accounts, bytes(address), rlp.encode(fields))
    assert not storages, "storage of accounts that do not exist"
    return bytes(root(accounts))


def _counts(ask: Ask, table: str) -> dict[int, int]:
    return dict(ask(f"SELECT block_id, count(*) FROM {table} GROUP BY block_id"))
