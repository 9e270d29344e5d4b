"""A P-Chain on a real database, from the local network's genesis on, accessed like clients do.

`pchain` is for tests of one thread: everything happens in one transaction that is rolled back.
`shared_pchain` commits, so that other threads and connections see it; it costs more. The test controls the clock, and
blocks are made on demand: requests for blocks are ignored.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chaindb import clock
from chaindb.wakeup import Wakeup
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from nodeproject.startup import identity
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import Block
from platform_app.config import DAY
from platform_app.selectors import accepted, outputs
from platform_app.services import mempool
from platform_app.services.genesis import load_genesis
from platform_app.services.vm import parse_block
from platform_app.txs.base import BaseTx, Tx, UnsignedTx, inner_output
from platform_app.txs.codec import CODEC
from primitives.ids import ID, NodeID, ShortID
from primitives.keys import EWOQ_KEY, address_of
from tests.builders import platform
from tests.builders.node_settings import updated
from tests.builders.process import restart_node
from utxo.components import UTXO, TransferableOutput
from utxo.well_formed import sort_outputs
from xchain_app.services.genesis import load_genesis as load_x_chain

EWOQ = address_of(EWOQ_KEY)
"""The owner of the coins that tests spend."""
REFERENCE_START = 1_721_016_000
"""Unix time of the genesis of avalanchego's local network."""
BURN = 100_000
"""The fee that transactions of tests burn: sufficient for all of them."""

Rpc = Callable[..., Any]
"""A function of a method and its params by name; returns the result or raises `JsonRpcError`."""


class PChain:
    """A P-Chain whose blocks are made on demand, and whose clock is controlled by the test."""

    def __init__(self, now: int = platform.NOW) -> None:
        self.now = now
        self._spent: set[ID] = set()

    def begin(self) -> None:
        """Write the genesis."""
        identity.make_identity(this_node().settings, self.now)
        self.network = load_genesis(platform_chain(), platform_chain().proof_of_possession, "{}")
        load_x_chain(this_node().avm_chain)
        self.asset_id = self.network.asset_id
        self.node_id: NodeID = platform_chain().node_id

    def coins(self, address: ShortID = EWOQ) -> list[UTXO]:
        """Return the UTXOs that an address can spend and has not spent in this test, the largest first."""
        page = outputs.utxos_of(platform_chain(), [address])
        found: Iterable[UTXO] = (CODEC.unmarshal(UTXO, raw) for raw in page.utxos)
        unspent = [item for item in found if item.utxo_id not in self._spent]
        return sorted(unspent, key=lambda one: -inner_output(one.output).amount)

    def forget_spent(self) -> None:
        """Forget the outputs spent by this test, because they may exist again after a rewind."""
        self._spent.clear()

    def output(self, amount: int, *addresses: ShortID, **of_output: Any) -> TransferableOutput:
        """Return an output of the staking asset."""
        return platform.output(amount, *addresses, asset_id=self.asset_id, **of_output)

    def make(
        self,
        cls: type[UnsignedTx] = BaseTx,
        *outputs_made: TransferableOutput,
        stake: Iterable[TransferableOutput] = (),
        burn: int = BURN,
        **changes: Any,
    ) -> Tx:
        """Return a signed transaction of a type that spends ewoq's largest coin, change included."""
        coin = self.coins()[0]
        self._spent.add(coin.utxo_id)
        staked = sort_outputs(stake, CODEC)
        exported = changes.get("exported_outputs", ())
        given = sum(
            inner_output(item.output).amount for item in (*outputs_made, *staked, *exported)
        )
        change = self.output(inner_output(coin.output).amount - given - burn, EWOQ)
        fields = {
            "outputs": sort_outputs((*outputs_made, change), CODEC),
            "inputs": platform.spend_all(coin),
            **({"stake": staked} if staked else {}),
            **changes,
        }
        unsigned = platform.unsigned(cls, **fields)
        keys = [[EWOQ_KEY]] * platform.credential_count(unsigned)
        return platform.signed(unsigned, keys)

    def stake(self, weight: int) -> tuple[TransferableOutput, ...]:
        """Return the stake outputs for a staker of that weight."""
        return (self.output(weight, EWOQ),)

    def issue(self, *txs: Tx) -> list[ID]:
        """Put transactions into the mempool; all of them must be accepted.

        The chain counts as bootstrapped, also on a node that follows others.
        """
        with patch.object(platform_chain(), "is_synced", lambda: True):
            outcomes = mempool.issue(platform_chain(), txs, now=self.now)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, ID)]

    def build(self) -> list[Block]:
        """Build blocks until nothing is left to include."""
        built = []
        while (made := platform_runtime().consensus.produce(now=self.now)) is not None:
            stored = accepted.block_at(platform_chain(), made.height)
            assert stored is not None
            built.append(parse_block(stored.raw))
        return built

    def do(self, tx: Tx) -> Tx:
        """Issue a transaction and build the block with it."""
        self.issue(tx)
        self.now += 1
        self.build()
        found = accepted.tx(platform_chain(), tx.tx_id)
        assert found is not None
        return tx

    def wait(self, seconds: int) -> list[Block]:
        """Advance the clock, and build the blocks that become due."""
        self.now += seconds
        return self.build()


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Clear the cache of stakers before and after the test: that of another chain would be wrong."""
    restart_node()
    yield
    restart_node()


@pytest.fixture
def pchain(
    db: None, node_settings: Any, settings: Any, data_dir: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PChain]:
    """The local network's P-Chain, with this node as its validator."""
    settings.NODE = updated(node_settings, data_dir=data_dir)
    yield from _running(monkeypatch)


@pytest.fixture
def shared_pchain(
    transactional_db: None,
    node_settings: Any,
    settings: Any,
    data_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[PChain]:
    """The same, committed: other threads see it."""
    settings.NODE = updated(node_settings, data_dir=data_dir)
    monkeypatch.setattr(Wakeup, "request", lambda _wakeup: None)
    yield from _running(monkeypatch)


def _running(monkeypatch: pytest.MonkeyPatch, *, now: int = platform.NOW) -> Iterator[PChain]:
    made = PChain(now)
    monkeypatch.setattr(clock, "now", lambda *_: made.now)
    monkeypatch.setattr(clock, "cchain_now", lambda *_: made.now)
    made.begin()
    yield made


@pytest.fixture
def reference_pchain(
    db: None, node_settings: Any, settings: Any, data_dir: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PChain]:
    """The local network of avalanchego with its parameters, a day old; this node is not one of its validators."""
    settings.NODE = updated(node_settings, data_dir=data_dir, parameters="avalanchego")
    yield from _running(monkeypatch, now=REFERENCE_START + DAY)


@pytest.fixture
def helicon_pchain(
    db: None,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    node_settings: Any,
    data_dir: str,
) -> Iterator[PChain]:
    """The same network, on which Helicon is active from 100 seconds after the genesis on."""
    helicon = datetime.fromtimestamp(REFERENCE_START + 100, UTC).isoformat()
    path = Path(data_dir) / "upgrades.json"
    path.write_text(json.dumps({"heliconTime": helicon}))
    settings.NODE = updated(
        node_settings, data_dir=data_dir, parameters="avalanchego", upgrades=str(path)
    )
    yield from _running(monkeypatch, now=REFERENCE_START + DAY)


@pytest.fixture
def rpc(pchain: PChain) -> Rpc:
    """Call a method of `platform.*`."""
    return asking(this_node().endpoints.platform.dispatcher)


def asking(dispatcher: Dispatcher) -> Rpc:
    """Return a function that calls methods of an API."""

    def ask(method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = dispatcher.answer(json.dumps(body).encode())
        assert answer is not None
        shown = json.loads(answer)
        if "error" in shown:
            raise JsonRpcError(**shown["error"])
        return shown["result"]

    return ask


def refusal(rpc: Rpc, method: str, **params: Any) -> str:
    """Return the error message of a refused call."""
    with pytest.raises(JsonRpcError) as refused:
        rpc(method, **params)
    assert refused.value.code == -32000
    return refused.value.message
