"""platform.getRewardUTXOs."""

from platform_app.apps import platform_chain
from platform_app.config import DAY, UNIT
from platform_app.selectors import stakers
from platform_app.txs.base import inner_output
from platform_app.txs.codec import CODEC
from platform_app.txs.staking import AddDelegatorTx
from primitives.checksummed import decode
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc
from utxo.components import UTXO


def test_reward_utxos_of_a_staker(pchain: PChain, rpc: Rpc) -> None:
    weight = 100_000 * UNIT
    period = platform.validator(
        node_id=pchain.node_id, start=pchain.now + 60, end=pchain.now + 60 + DAY, weight=weight
    )
    tx = pchain.do(pchain.make(AddDelegatorTx, stake=pchain.stake(weight), validator=period))
    pchain.wait(60)
    (delegator,) = stakers.current_delegators(platform_chain(), PRIMARY_NETWORK_ID, pchain.node_id)
    empty = {"numFetched": "0", "utxos": [], "encoding": "hex"}
    assert rpc("platform.getRewardUTXOs", txID=str(tx.tx_id)) == empty
    pchain.wait(DAY)

    answer = rpc("platform.getRewardUTXOs", txID=str(tx.tx_id))
    rewards = [CODEC.unmarshal(UTXO, decode(item)) for item in answer["utxos"]]
    assert answer["numFetched"] == str(len(rewards)) == "1"
    assert rewards[0].tx_id == tx.tx_id
    fee = delegator.potential_reward * 20_000 // 1_000_000
    earned = inner_output(rewards[0].output).amount
    assert abs(earned - (delegator.potential_reward - fee)) <= 1


def test_a_transaction_that_earned_nothing(rpc: Rpc) -> None:
    for params in ({}, {"txID": str(platform.SUBNET_ID)}):
        assert rpc("platform.getRewardUTXOs", **params)["utxos"] == []
