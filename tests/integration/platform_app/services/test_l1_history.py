"""A recorded day of an L1 on the reference's local network: the same blocks, states, refusals and validator sets."""

import json
from pathlib import Path
from typing import Any

import pytest

from chainvm.errors import InvalidBlock
from chainvm.port import BlockContext
from jsonrpc.errors import JsonRpcError
from network_app.chains.signing import PlatformSigner
from network_app.ports import SignatureRefused
from nodeproject.apps import this_node
from platform_app.apps import platform_chain, platform_runtime
from platform_app.selectors import stakers
from platform_app.selectors.coins_held import coins_held
from platform_app.services.vm import PlatformVM, parse_block
from platform_app.store.state import DatabaseState
from primitives.ids import ID
from tests.builders.l1_vectors import l1s_of, validator_of
from tests.integration.platform_app.conftest import PChain, asking

VECTORS = Path(__file__).parents[3] / "vectors" / "etna"
HISTORY = VECTORS / "history.json"
REQUESTS = VECTORS / "signature_requests.json"


@pytest.fixture(scope="module")
def history() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(HISTORY.read_text())["cases"][0]
    return found


def assert_state(shown: dict[str, Any]) -> None:
    state = DatabaseState(platform_chain().db)
    l1s = state.l1_validators
    assert state.clock.timestamp() == shown["time"]
    fees = state.clock.fee_state()
    assert (fees.capacity, fees.excess) == (shown["gasCapacity"], shown["gasExcess"])
    expected = l1s_of(shown)
    for record in shown["l1Validators"]:
        validator = validator_of(record)
        assert l1s.get(validator.validation_id) == validator
        assert l1s.of_node(validator.subnet_id, validator.node_id) == validator.validation_id
    assert [str(item.validation_id) for item in l1s.active()] == shown["activeOrder"]
    assert l1s.active_count() == shown["activeL1Validators"]
    assert l1s.fees().excess == expected.fees().excess
    assert l1s.fees().accrued == expected.fees().accrued
    for subnet_id, weight in shown["l1Weights"].items():
        assert l1s.total_weight(ID.parse(subnet_id)) == weight
    for subnet_id, conversion in expected.conversions.items():
        assert l1s.conversion(subnet_id) == conversion
    assert all(map(l1s.has_expiry, expected.expiries))
    assert state.tip.l1s.expiries == len(expected.expiries)


def accept(vm: PlatformVM, raw: bytes, case: dict[str, Any]) -> None:
    block = vm.parse(raw)
    vm.verify(block, BlockContext(case["time"], case["contextPChainHeight"]))
    vm.accept([block.block_id], written=lambda _: None)


def assert_no_coin_is_lost() -> None:
    """Check that balances of L1 validators which were returned came out of what was paid into them."""
    coins = coins_held(platform_chain())
    assert coins is not None
    assert coins.refunds > 0
    assert (
        coins.outputs + coins.stake + coins.burned == coins.genesis + coins.rewards + coins.refunds
    )


def test_the_recorded_history_of_an_l1_is_repeated(
    reference_pchain: PChain, history: dict[str, Any]
) -> None:
    vm = platform_runtime().vm
    for case in history["blocks"]:
        raw = bytes.fromhex(case["bytes"])
        if "refused" in case:
            block = parse_block(raw)
            with pytest.raises(InvalidBlock) as refused:
                vm.verify(block, BlockContext(case["time"], case["contextPChainHeight"]))
            assert str(refused.value) == case["refused"]
            continue
        accept(vm, raw, case)
        if "stateAfter" in case:
            assert_state(case["stateAfter"])

    assert_no_coin_is_lost()

    for at in history["validatorSets"]:
        for subnet_id, expected in at["subnets"].items():
            members = stakers.validators_at(platform_chain(), at["height"], ID.parse(subnet_id))
            assert members is not None
            found = {
                str(node_id): {
                    "publicKey": None if member.public_key is None else member.public_key.hex(),
                    "weight": member.weight,
                }
                for node_id, member in members.items()
            }
            assert found == expected, at["height"]

    ask = asking(this_node().endpoints.platform.dispatcher)
    for exchange in history["replies"]:
        expected = exchange["reply"]
        if "error" in expected:
            with pytest.raises(JsonRpcError) as error:
                ask(exchange["method"], **exchange["params"])
            assert error.value.message == expected["error"]
        else:
            assert ask(exchange["method"], **exchange["params"]) == expected, exchange["method"]

    signer = PlatformSigner(platform_chain(), b"AvalancheLocalNetworkValidator01")
    for case in json.loads(REQUESTS.read_text())["cases"]:
        prefix, payload = case["appRequest"][:2], bytes.fromhex(case["appRequest"][2:])
        assert prefix == "02"
        if "error" in case:
            with pytest.raises(SignatureRefused) as refused:
                signer.sign(payload)
            assert refused.value.code == case["error"]["code"], case["name"]
            # After that come the words of the reference's protobuf library.
            words, _, _ = case["error"]["message"].partition("proto: ")
            assert str(refused.value).startswith(words), case["name"]
        else:
            assert signer.sign(payload).hex() == case["appResponse"], case["name"]
