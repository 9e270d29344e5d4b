"""Recorded histories of the reference's local network: their blocks one by one, and the states after them."""

from typing import Any

import pytest

from chainvm.errors import InvalidBlock
from chainvm.port import BlockContext
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from platform_app.selectors.coins_held import coins_held
from platform_app.services.vm import PlatformVM, parse_block
from platform_app.store.state import DatabaseState
from primitives.ids import ID
from tests.builders.l1_vectors import l1s_of, validator_of


def take_block(vm: PlatformVM, case: dict[str, Any]) -> bool:
    """Accept a recorded block and compare the state after it, or check its refusal; return whether it was accepted."""
    context = BlockContext(case["time"], case["contextPChainHeight"])
    if "refused" in case:
        with pytest.raises(InvalidBlock) as refused:
            vm.verify(parse_block(bytes.fromhex(case["bytes"])), context)
        assert str(refused.value) == case["refused"], str(refused.value)
        return False
    block = vm.parse(bytes.fromhex(case["bytes"]))
    vm.verify(block, context)
    vm.accept([block.block_id], written=lambda _: None)
    if "stateAfter" in case:
        assert_state(case["stateAfter"])
    return True


def assert_state(shown: dict[str, Any]) -> None:
    """Compare time, gas and L1s with the recorded ones."""
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


def assert_no_coin_is_lost() -> None:
    """Check that no coin appeared or disappeared, also not in balances of L1 validators that were returned."""
    coins = coins_held(platform_chain())
    assert coins is not None
    assert (
        coins.outputs + coins.stake + coins.burned == coins.genesis + coins.rewards + coins.refunds
    )


def assert_validator_sets(history: dict[str, Any]) -> int:
    """Check the validators of the subnets at each height; return how many sets were compared."""
    compared = 0
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
            compared += 1
    return compared
