"""platform.getTx and getTxStatus."""

from typing import Any

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.config import DAY, UNIT
from platform_app.selectors import accepted, stakers
from platform_app.txs.base import BaseTx
from platform_app.txs.codec import parse
from platform_app.txs.staking import AddDelegatorTx
from platform_app.txs.subnets import CreateSubnetTx
from primitives.checksummed import TextEncoding, decode
from primitives.ids import EMPTY_ID
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, refusal

EWOQ_TEXT = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"


def test_the_status_of_a_committed_transaction(pchain: PChain, rpc: Rpc) -> None:
    tx = pchain.do(pchain.make())

    assert rpc("platform.getTxStatus", txID=str(tx.tx_id)) == {"status": "Committed"}
    assert rpc("platform.getTxStatus", txId=str(tx.tx_id), includeReason=True) == {
        "status": "Committed"
    }


def test_status_of_unknown_transaction(rpc: Rpc) -> None:
    for params in ({"txID": str(platform.SUBNET_ID)}, {}):
        assert rpc("platform.getTxStatus", **params) == {"status": "Unknown"}


@pytest.mark.parametrize("seconds_online", [0, None])
def test_a_reward_that_was_not_earned_is_aborted(
    pchain: PChain, rpc: Rpc, seconds_online: int | None
) -> None:
    period = platform.validator(
        node_id=pchain.node_id, start=pchain.now + 60, end=pchain.now + 60 + DAY, weight=25 * UNIT
    )
    pchain.do(pchain.make(AddDelegatorTx, stake=pchain.stake(25 * UNIT), validator=period))
    pchain.wait(60)
    if seconds_online is not None:
        found = models.ValidatorUptime.objects.filter(staker__node_id=pchain.node_id)
        found.update(up_duration=seconds_online, last_updated=period.end)
    pchain.wait(DAY)

    tip = platform_chain().tip()
    proposal = accepted.block_at(platform_chain(), tip.height - 1)
    assert proposal is not None
    block = rpc("platform.getBlock", blockID=str(proposal.block_id), encoding="json")["block"]
    status = "Committed" if seconds_online is None else "Aborted"
    assert rpc("platform.getTxStatus", txID=block["tx"]["id"]) == {"status": status}
    assert stakers.current_delegators(platform_chain(), EMPTY_ID, pchain.node_id) == ()


@pytest.mark.parametrize("encoding", ["hex", "hexc", "hexnc"])
def test_a_transactions_bytes(pchain: PChain, rpc: Rpc, encoding: str) -> None:
    tx = pchain.do(pchain.make())

    answer = rpc("platform.getTx", txID=str(tx.tx_id), encoding=encoding)
    assert answer["encoding"] == encoding
    assert parse(decode(answer["tx"], TextEncoding(encoding))) == tx
    if encoding == "hex":
        assert rpc("platform.getTx", txID=str(tx.tx_id)) == answer


def test_a_transaction_as_json_has_plain_numbers(pchain: PChain, rpc: Rpc) -> None:
    tx = pchain.do(pchain.make(BaseTx, pchain.output(UNIT, EWOQ), memo=b"hi"))
    unsigned: Any = tx.unsigned

    answer = rpc("platform.getTx", txID=str(tx.tx_id), encoding="json")
    assert answer["encoding"] == "json"
    shown = answer["tx"]
    assert list(shown) == ["unsignedTx", "credentials", "id"]
    assert shown["id"] == str(tx.tx_id)
    body = shown["unsignedTx"]
    assert (body["networkID"], body["blockchainID"], body["memo"]) == (
        12345,
        str(EMPTY_ID),
        "0x6869",
    )
    assert body["outputs"][0] == {
        "assetID": str(pchain.asset_id),
        "fxID": "spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ",
        "output": {"addresses": [EWOQ_TEXT], "amount": UNIT, "locktime": 0, "threshold": 1},
    }
    assert body["inputs"][0]["txID"] == str(unsigned.inputs[0].tx_id)
    assert body["inputs"][0]["input"]["signatureIndices"] == [0]
    assert len(shown["credentials"][0]["signatures"][0]) == 2 + 130


def test_number_above_53_bits_is_a_plain_number(pchain: PChain, rpc: Rpc) -> None:
    largest = 2**64 - 1
    tx = pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ, locktime=largest)))

    shown = rpc("platform.getTx", txID=str(tx.tx_id), encoding="json")["tx"]["unsignedTx"]
    assert shown["owner"] == {"addresses": [EWOQ_TEXT], "locktime": largest, "threshold": 1}


def test_transactions_of_the_genesis_are_there(pchain: PChain, rpc: Rpc) -> None:
    for tx_id in (pchain.network.x_chain_id, pchain.network.c_chain_id):
        for encoding in ("hex", "json"):
            assert rpc("platform.getTx", txID=str(tx_id), encoding=encoding)["tx"]


def test_only_accepted_transactions_are_shown(pchain: PChain, rpc: Rpc) -> None:
    waiting = pchain.make()
    pchain.issue(waiting)
    for params in ({"txID": str(waiting.tx_id)}, {"txID": str(platform.SUBNET_ID)}, {}):
        assert refusal(rpc, "platform.getTx", **params) == "couldn't get tx: not found"
