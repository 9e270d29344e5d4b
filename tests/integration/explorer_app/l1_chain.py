"""An L1 with three validators on the local network: this node, one that runs out of balance, and one that was removed."""

from typing import Any, NamedTuple

from chaindb import clock
from platform_app.apps import platform_chain
from platform_app.config import UNIT
from platform_app.services import keystore, l1_wallet, wallet
from platform_app.services.l1_wallet import L1ValidatorTerms
from platform_app.services.wallet import Payer
from platform_app.txs.warp import initial_validation_id
from platform_app.wallet import sealing
from platform_app.wallet.sealing import Cost
from primitives.ids import ID, NodeID
from primitives.keys import EWOQ_KEY
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain

PAYER = Payer("alice", "a long and varied passphrase 7")
MANAGER = bytes.fromhex("0feedc0de0000000000000000000000000000000")
POOR, GONE = NodeID(b"p" * 20), NodeID(b"g" * 20)


class L1Chain(NamedTuple):
    """The IDs of an L1, its validations and the transactions that made them."""

    subnet: ID
    own: ID
    poor: ID
    gone: ID
    txs: dict[str, ID]


def make_l1(pchain: PChain, monkeypatch: Any) -> L1Chain:
    """Create a subnet, convert it and change its validators, each step in a block of its own."""
    monkeypatch.setattr(sealing, "COST", Cost(passes=1, memory=64, lanes=4))
    chain = platform_chain()
    keystore.create_user(chain, PAYER.username, PAYER.password)
    keystore.import_key(chain, PAYER.username, PAYER.password, EWOQ_KEY)
    txs: dict[str, ID] = {}

    def do(name: str, step: Any, **terms: Any) -> ID:
        txs[name] = step(chain, PAYER, now=clock.now(), **terms).tx_id
        pchain.wait(1)
        tx_id: ID = txs[name]
        return tx_id

    subnet = do("create", wallet.create_subnet, control_keys=[EWOQ], threshold=1)
    do(
        "convert",
        l1_wallet.convert_subnet,
        subnet_id=subnet,
        manager_chain_id=pchain.network.c_chain_id,
        manager_address=MANAGER,
        validators=[L1ValidatorTerms(pchain.node_id, 100, 30 * UNIT)],
    )
    own = initial_validation_id(subnet, 0)

    def register(name: str, node_id: NodeID, number: int, balance: int) -> ID:
        proof = platform.proof_of_possession(number)
        terms = L1ValidatorTerms(node_id, 20, balance, proof)
        do(name, l1_wallet.register_for_manager, subnet_id=subnet, terms=terms)
        found = chain.state().l1_validators.of_node(subnet, node_id)
        assert found is not None
        return found

    poor = register("register", POOR, 2, 2)
    gone = register("register another", GONE, 3, UNIT)
    do("increase", l1_wallet.increase_balance, validation_id=gone, balance=7)
    do("weight", l1_wallet.set_weight_for_manager, validation_id=own, weight=1_050)
    do("disable", l1_wallet.disable_validator, validation_id=gone)
    do("remove", l1_wallet.set_weight_for_manager, validation_id=gone, weight=0)
    return L1Chain(subnet, own, poor, gone, txs)
