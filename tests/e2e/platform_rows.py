"""Check the P-Chain rows of a local network in SQL, mostly through the views made for users.

Every block and transaction must match its bytes, every output is spent at most once, and no coins appear or
disappear.
"""

from collections import Counter
from typing import Any, NamedTuple

from cchain_app.models.atomic import AtomicKind
from platform_app.txs.codec import parse
from platform_app.txs.staking import RewardValidatorTx
from primitives.hashing import sha256
from primitives.ids import ID, utxo_id
from tests.builders.platform_random import burned
from tests.servers.node import Ask

UNIT = 10**6
GENESIS_FUNDS = 42_000_000 * UNIT
"""Coins on the P-Chain at genesis, staked or not, in a network with one validator."""
FOUNDER_STAKE = 2_000_000 * UNIT
"""Coins added at genesis for each further validator."""
GENESIS_SUPPLY = 10**12 * UNIT
"""Supply at genesis, on this chain and on the X-Chain together."""

PRIMARY = "0x" + 32 * "00"


def known_txs(ask: Ask) -> set[str]:
    """Return the IDs of all accepted, pending and dropped transactions, as 0x text."""
    return {tx_id for view in ("p_txs", "p_mempool", "p_dropped") for tx_id in _column(ask, view)}


def accepted_ids(ask: Ask) -> set[str]:
    """Return the IDs of all accepted transactions of the P-Chain and the X-Chain, and of atomic ones of the C-Chain."""
    tables = ("platform_app_tx", "xchain_app_xtransaction", "cchain_app_atomictransaction")
    return {
        str(ID(bytes(tx_id))) for table in tables for (tx_id,) in ask(f"SELECT tx_id FROM {table}")
    }


def check_platform_rows(ask: Ask, founders: int = 1) -> None:
    """Check blocks, transactions, outputs and the sums of all coins.

    Args:
        ask: Runs an SQL query.
        founders: Number of validators at genesis.

    Raises:
        AssertionError: A row is missing, superfluous or inconsistent.
    """
    heights = _check_blocks(ask)
    spent = _check_txs(ask, heights)
    _check_outputs(ask, spent)
    _check_coins(ask, GENESIS_FUNDS + (founders - 1) * FOUNDER_STAKE)


def _check_blocks(ask: Ask) -> Counter[int]:
    """Check that the blocks form a chain that ends at the tip; return the number of transactions by height."""
    ((parent, height, tip),) = ask("SELECT genesis_hash, height, tip FROM platform_app_chain")
    blocks = ask(
        "SELECT height, block_id, parent_id, raw, tx_count FROM platform_app_block ORDER BY height"
    )
    assert [number for number, *_ in blocks] == list(range(height + 1))
    for number, block_id, parent_id, raw, _ in blocks:
        assert bytes(parent_id) == bytes(parent), f"block {number} does not follow its parent"
        assert sha256(bytes(raw)) == bytes(block_id), f"block {number}"
        parent = block_id
    assert bytes(parent) == bytes(tip)
    return Counter({number: count for number, *_, count in blocks if count})


class _Flow(NamedTuple):
    """The IDs of created and spent outputs, as 0x text."""

    made: set[str]
    spent: set[str]


def _check_txs(ask: Ask, heights: Counter[int]) -> _Flow:
    """Check all transactions; return the outputs that they created and spent."""
    rows = ask("SELECT height, tx_id, raw, burned FROM platform_app_tx ORDER BY id")
    assert Counter(height for height, *_ in rows if height) == heights
    made: list[str] = []
    spent: list[str] = []
    for height, tx_id, raw, burnt in rows:
        assert sha256(bytes(raw)) == bytes(tx_id)
        if not height:
            continue  # genesis transactions create the initial coins and spend nothing
        tx = parse(bytes(raw))
        if isinstance(tx.unsigned, RewardValidatorTx):
            continue
        unsigned: Any = tx.unsigned
        inputs = [*unsigned.inputs, *getattr(unsigned, "imported_inputs", ())]
        assert burned(tx) == int(burnt), f"what {tx.tx_id} burns"
        spent += [_text(tx_input.utxo_id) for tx_input in inputs]
        made += [_text(utxo_id(tx.tx_id, place)) for place in range(len(unsigned.outputs))]
    twice = [key for key, count in Counter(spent).items() if count > 1]
    assert not twice, "spent twice"
    return _Flow(set(made), set(spent))


def _check_outputs(ask: Ask, flow: _Flow) -> None:
    """Check that the unspent outputs are those created and not spent, apart from genesis and returned stakes."""
    unspent = set(_column(ask, "p_utxos", "utxo_id"))
    assert not unspent & flow.spent, "spent and still there"
    assert flow.made - flow.spent <= unspent, "neither spent nor there"
    returned = ask(
        "SELECT utxo_id FROM p_utxos WHERE height = 0"
        " OR tx_id IN (SELECT tx_id FROM p_validators WHERE phase = 'past')"
        " OR tx_id IN (SELECT tx_id FROM p_delegations WHERE phase = 'past')"
    )
    assert unspent <= flow.made | {key for (key,) in returned}, "made by nobody"


def _from_c_chain(ask: Ask) -> int:
    """Return the units that the C-Chain has exported, less those that its imports took."""
    rows = ask("SELECT kind, amount, burned FROM cchain_app_atomictransaction")
    return sum(
        int(amount) if kind == AtomicKind.EXPORT else -int(amount) - int(burnt)
        for kind, amount, burnt in rows
    )


def _from_x_chain(ask: Ask) -> int:
    """Return the units that have left the X-Chain, less those that came to it; what it burned is still on it."""
    of_coin = "kind = 7 AND asset_id IN (SELECT asset_id FROM xchain_app_xasset WHERE height = 0)"
    rows = ask(f"SELECT amount, height, spent_height FROM xchain_app_xoutput WHERE {of_coin}")
    genesis = sum(int(amount) for amount, height, _ in rows if not height)
    unspent = sum(int(amount) for amount, _, spent in rows if spent is None)
    return genesis - unspent - sum(map(int, _column(ask, "x_txs", "burned")))


def _check_coins(ask: Ask, funds: int) -> None:
    """Check that all coins of the three chains are accounted for, and that the supply matches them."""
    staked = f"subnet_id = '{PRIMARY}' AND phase <> 'past'"
    stakers = [
        row
        for view in ("p_validators", "p_delegations")
        for row in ask(f"SELECT weight, potential_reward FROM {view} WHERE {staked}")
    ]
    rewards = sum(map(int, _column(ask, "p_rewards", "amount")))
    owned = (*_column(ask, "p_utxos", "amount"), *_column(ask, "p_shared_utxos", "amount"))
    burnt = _column(ask, "p_txs", "burned")
    everything = sum(map(int, (*owned, *burnt, *(weight for weight, _ in stakers))))
    came = _from_c_chain(ask) + _from_x_chain(ask)
    assert everything == funds + rewards + came, "coins came from nowhere, or were lost"
    accrued = ask(f"SELECT delegatee_reward FROM p_validators WHERE {staked}")
    promised = sum(int(reward) for _, reward in stakers) + sum(int(one) for (one,) in accrued)
    ((supply,),) = ask(f"SELECT amount FROM p_supply WHERE subnet_id = '{PRIMARY}'")
    assert int(supply) == GENESIS_SUPPLY + rewards + promised, "the supply"


def _column(ask: Ask, view: str, column: str = "tx_id") -> list[Any]:
    return [value for (value,) in ask(f"SELECT {column} FROM {view}")]


def _text(key: ID) -> str:
    return "0x" + key.hex()
