"""The keystore's staking methods under avalanchego's parameters: the start time is ignored."""

import pytest

from nodeproject.apps import this_node
from platform_app.config import DAY, REFERENCE_UNIT
from platform_app.wallet import sealing
from platform_app.wallet.sealing import Cost
from primitives.keys import EWOQ_KEY, format_private_key
from tests.integration.platform_app.api.conftest import EWOQ_TEXT, USER
from tests.integration.platform_app.conftest import PChain, Rpc, asking, refusal

GENESIS_NODE = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"


@pytest.fixture
def ask(reference_pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> Rpc:
    """Call a method of `platform.*`; a user with ewoq's key exists."""
    monkeypatch.setattr(sealing, "COST", Cost(passes=1, memory=64, lanes=4))
    asking(this_node().endpoints.keystore.dispatcher)("keystore.createUser", **USER)
    made = asking(this_node().endpoints.platform.dispatcher)
    made("platform.importKey", **USER, privateKey=format_private_key(EWOQ_KEY))
    return made


@pytest.mark.parametrize("ahead", [None, -DAY, 1, 100 * DAY])
def test_subnet_validator_starts_with_its_block(
    reference_pchain: PChain, ask: Rpc, ahead: int | None
) -> None:
    subnet = ask("platform.createSubnet", **USER, controlKeys=[EWOQ_TEXT], threshold=1)["txID"]
    reference_pchain.wait(1)
    start = None if ahead is None else reference_pchain.now + ahead

    issued = ask(
        "platform.addSubnetValidator",
        **USER,
        nodeID=GENESIS_NODE,
        subnetID=subnet,
        startTime=start,
        endTime=reference_pchain.now + 30 * DAY,
        weight=5,
    )
    reference_pchain.wait(1)

    (shown,) = ask("platform.getCurrentValidators", subnetID=subnet)["validators"]
    assert shown["txID"] == issued["txID"]
    assert shown["startTime"] == str(reference_pchain.now)


@pytest.mark.parametrize(
    ("method", "kind"), [("addValidator", "Validator"), ("addDelegator", "Delegator")]
)
def test_scheduled_stakers_are_refused(
    reference_pchain: PChain, ask: Rpc, method: str, kind: str
) -> None:
    words = refusal(
        ask,
        f"platform.{method}",
        **USER,
        nodeID=GENESIS_NODE,
        startTime=reference_pchain.now + 60,
        endTime=reference_pchain.now + 30 * DAY,
        stakeAmount=2_000 * REFERENCE_UNIT,
        rewardAddress=EWOQ_TEXT,
        delegationFeeRate=10,
    )
    assert words == f"Add{kind}Tx is not permitted post-Durango"
