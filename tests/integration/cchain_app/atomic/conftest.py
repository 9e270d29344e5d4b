"""Both chains of one node, between which coins move."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cchain_app.atomic.builder import Payment, build_export, build_import
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import CODEC, AtomicTx
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.engine import AccountState
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_at
from cchain_app.services import atomic
from chaindb.wakeup import Wakeup
from nodeproject.apps import this_node
from primitives.evm import Address
from primitives.ids import ID, P_CHAIN_ID, ShortID
from primitives.keys import EWOQ_KEY, address_of
from primitives.secp256k1 import address_of_private_key
from shared_app.selectors import waiting_outputs
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import (
    PChain,
    Rpc,
    asking,
    nothing_remembered,
    pchain,
    shared_pchain,
)
from tests.integration.platform_app.made import export as platform_export
from tests.integration.recomputed import assert_recomputes
from utxo.coins import Keychain
from utxo.components import UTXO

__all__ = ["nothing_remembered", "pchain", "shared_pchain"]

EWOQ_ADDRESS = address_of(EWOQ_KEY)
EWOQ_ACCOUNT = address_of_private_key(EWOQ_KEY)
TO = Address(b"\x77" * 20)
"""An account that has nothing at first."""
GWEI = 10**9


class Both:
    """The P-Chain and the C-Chain of this node."""

    def __init__(self, pchain: PChain) -> None:
        self.p = pchain
        self.c = Chain()

    @property
    def parameters(self) -> AtomicParameters:
        extension = self.c.evm.atomic
        assert extension is not None
        return extension.parameters()

    def exported_to_c(self, amount: int) -> ID:
        """Export an amount to ewoq on the C-Chain, in a block; return the transaction."""
        return self.p.do(platform_export(self.p, self.p.network.c_chain_id, amount)).tx_id

    def waiting(self, destination: ID, source: ID, owner: ShortID = EWOQ_ADDRESS) -> list[UTXO]:
        """Return the outputs that wait between two chains."""
        page = waiting_outputs(
            this_node().database, [owner], destination=destination, source=source
        )
        return [CODEC.unmarshal(UTXO, raw) for raw in page.utxos]

    def to_c(self) -> list[UTXO]:
        """Return the outputs that wait for the C-Chain."""
        return self.waiting(self.p.network.c_chain_id, P_CHAIN_ID)

    def make_import(self, *utxos: UTXO, to: Address = TO, base_fee: int = 100 * GWEI) -> AtomicTx:
        """Return an import of outputs, by default of all that wait for ewoq."""
        return build_import(
            Keychain.of([EWOQ_KEY]),
            utxos or self.to_c(),
            source_chain=P_CHAIN_ID,
            to=to,
            base_fee=base_fee,
            now=self.c.now,
            parameters=self.parameters,
        )

    def make_export(
        self, amount: int, *, nonce: int | None = None, base_fee: int = 100 * GWEI
    ) -> AtomicTx:
        """Return an export of an amount from ewoq's account to ewoq on the P-Chain."""
        account = self.account(EWOQ_ACCOUNT)
        assert account is not None
        used = account.nonce if nonce is None else nonce
        return build_export(
            [EWOQ_KEY],
            {EWOQ_ACCOUNT: account._replace(nonce=used)},
            Payment(amount, EWOQ_ADDRESS, P_CHAIN_ID),
            base_fee=base_fee,
            parameters=self.parameters,
        )

    def account(self, address: Address) -> AccountState | None:
        """Return an account at the C-Chain's head."""
        return state_at(self.c.evm, blocks.head(self.c.evm).number).account(address)

    def balance(self, address: Address) -> int:
        """Return a balance at the C-Chain's head, in wei."""
        account = self.account(address)
        return 0 if account is None else account.balance

    def do(self, *txs: AtomicTx) -> AcceptedBlock:
        """Issue atomic transactions and make a block with them."""
        for tx in txs:
            atomic.issue(self.c.evm, tx)
        block = self.c.mine()
        assert block.payload is not None
        return block


@pytest.fixture
def both(shared_pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """Both chains, committed; every block of the C-Chain is recomputed at the end."""
    monkeypatch.setattr(Wakeup, "request", lambda _wakeup: None)
    made = Both(shared_pchain)
    evm = made.c.evm
    yield made
    assert_recomputes(evm)


@pytest.fixture
def avax(both: Both) -> Rpc:
    """Call a method of `avax.*`."""
    del both
    return asking(this_node().endpoints.avax.dispatcher)


@pytest.fixture
def ethereum(both: Both) -> Callable[..., Any]:
    """Call a method of the C-Chain's Ethereum interface."""
    del both
    ask = this_node().endpoints.cchain.dispatcher

    def call(method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = json.loads(ask.answer(json.dumps(body).encode()) or b"{}")
        assert "error" not in answer, answer
        return answer["result"]

    return call
