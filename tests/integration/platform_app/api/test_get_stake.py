"""platform.getStake."""

from platform_app.config import DAY, UNIT
from platform_app.txs.codec import CODEC
from platform_app.txs.staking import AddDelegatorTx
from primitives.addresses import format_address
from primitives.checksummed import TextEncoding, decode
from primitives.keys import VMRQ_KEY, address_of
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc, refusal
from utxo.components import TransferableOutput

VMRQ = format_address("P", "local", address_of(VMRQ_KEY))
EWOQ = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"


def test_stake_of_an_address(pchain: PChain, rpc: Rpc) -> None:
    answer = rpc("platform.getStake", addresses=[VMRQ])

    amount = 2_000_000 * UNIT
    assert answer["staked"] == str(amount)
    assert answer["stakeds"] == {str(pchain.asset_id): str(amount)}
    assert answer["encoding"] == "hex"
    outputs = [
        CODEC.unmarshal(TransferableOutput, decode(item)) for item in answer["stakedOutputs"]
    ]
    assert outputs == [pchain.output(amount, address_of(VMRQ_KEY))]


def test_pending_stake_counts_and_delegators_can_be_left_out(pchain: PChain, rpc: Rpc) -> None:
    period = platform.validator(
        node_id=pchain.node_id, start=pchain.now + 60, end=pchain.now + 60 + DAY, weight=30 * UNIT
    )
    pchain.do(pchain.make(AddDelegatorTx, stake=pchain.stake(30 * UNIT), validator=period))

    for _ in range(2):
        assert rpc("platform.getStake", addresses=[EWOQ])["staked"] == "30000000"
        alone = rpc("platform.getStake", addresses=[EWOQ], validatorsOnly=True, encoding="HEXNC")
        assert alone == {"staked": "0", "stakeds": {}, "stakedOutputs": [], "encoding": "hexnc"}
        pchain.wait(60)
    both = rpc("platform.getStake", addresses=[EWOQ, VMRQ, EWOQ], encoding="hexnc")
    assert both["staked"] == str(2_000_030 * UNIT)
    decoded = [
        CODEC.unmarshal(TransferableOutput, decode(item, TextEncoding.HEXNC))
        for item in both["stakedOutputs"]
    ]
    assert len(decoded) == 2


def test_stake_without_addresses_is_zero(rpc: Rpc) -> None:
    nothing = {"staked": "0", "stakeds": {}, "stakedOutputs": [], "encoding": "hex"}
    assert rpc("platform.getStake") == nothing
    assert rpc("platform.getStake", addresses=[EWOQ]) == nothing


def test_too_many_addresses(rpc: Rpc) -> None:
    assert refusal(rpc, "platform.getStake", addresses=["x"] * 257) == (
        "257 addresses provided but this method can take at most 256"
    )
