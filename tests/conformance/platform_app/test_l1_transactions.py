"""L1 transactions, the fee of L1 validators and gas fees, against the reference implementation (etna.md 2 to 6)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from platform_app.blocks.block import build_standard
from platform_app.blocks.errors import InvalidPlatformBlock
from platform_app.blocks.executor import execute_block
from platform_app.config import (
    Env,
    GasConfig,
    PlatformConfig,
    ValidatorFeeConfig,
    reference_config,
)
from platform_app.executor.clock import next_staker_change
from platform_app.executor.complexity import complexity_of
from platform_app.executor.fees import (
    charge,
    consume,
    gas_of,
    price_of,
    refill,
    required_fee,
    seconds_left,
)
from platform_app.executor.standard import execute
from platform_app.state.chain import Diff
from platform_app.state.facets import FeeState
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.codec import CODEC, parse
from platform_app.txs.warp import ConversionData, ConversionValidator, initial_validation_id
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID, ShortID
from primitives.upgrades import FUJI, MAINNET, OWN_NETWORK
from tests.builders.l1_vectors import l1s_of
from tests.builders.platform_state import MemoryState, stakers
from utxo.components import UTXO, OutputOwners
from utxo.errors import InvalidTx

VECTORS = Path(__file__).parents[2] / "vectors" / "etna"
CONFIG = reference_config(12345)
ASSET = ID.parse("2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe")


def cases(name: str) -> list[Any]:
    document = json.loads((VECTORS / f"{name}.json").read_text())
    return [pytest.param(case, id=f"{case['id']} {case['name']}") for case in document["cases"]]


def state_of(shown: dict[str, Any]) -> MemoryState:
    state = MemoryState(
        shown["time"], FeeState(shown["gasCapacity"], shown["gasExcess"]), l1s=l1s_of(shown)
    )
    for subnet_id, owner in shown.get("subnetOwners", {}).items():
        state.subnets.owners[ID.parse(subnet_id)] = owners_of(owner)
    for item in shown.get("currentSubnetValidators", ()):
        tx_id = ID.parse(item["txID"]) if "txID" in item else ID(bytes([len(state.stakers)]) * 32)
        state.stakers[tx_id] = Staker(
            tx_id=tx_id,
            node_id=NodeID.parse(item["nodeID"]),
            subnet_id=ID.parse(item["subnetID"]),
            weight=item.get("weight", 1),
            start=shown["time"] - 1,
            end=shown["time"] + 10**6,
            potential_reward=0,
            priority=Priority.PERMISSIONED_VALIDATOR_CURRENT,
        )
    for raw in shown.get("utxos", ()):
        state.fund(CODEC.unmarshal(UTXO, bytes.fromhex(raw)))
    return state


def owners_of(shown: dict[str, Any]) -> OutputOwners:
    addresses = tuple(ShortID(bytes.fromhex(address)) for address in shown["addresses"])
    return OutputOwners(shown["locktime"], shown["threshold"], addresses)


def env_of(case: dict[str, Any], config: PlatformConfig = CONFIG) -> Env:
    return Env(
        config, ASSET, case.get("clock", case.get("blockTime")), ID(bytes(32)), ID(bytes(32))
    )


def assert_state(state: MemoryState, shown: dict[str, Any]) -> None:
    assert state.clock.timestamp() == shown["time"]
    fees = state.clock.fee_state()
    assert (fees.capacity, fees.excess) == (shown["gasCapacity"], shown["gasExcess"])
    expected = l1s_of(shown)
    assert state.l1_validators.validators == expected.validators
    assert state.l1_validators.conversions == expected.conversions
    assert state.l1_validators.expiries == expected.expiries
    assert state.l1_validators.fees() == expected.fees()
    order = [str(item.validation_id) for item in state.l1_validators.active()]
    assert order == shown["activeOrder"]
    for subnet_id, weight in shown.get("l1Weights", {}).items():
        assert state.l1_validators.total_weight(ID.parse(subnet_id)) == weight


@pytest.mark.parametrize("case", cases("tx_cases"))
def test_l1_transactions_are_executed_as_the_reference_does(case: dict[str, Any]) -> None:
    fees = replace(CONFIG.validator_fees, capacity=case["maxActiveL1Validators"])
    upgrades = replace(
        CONFIG.upgrades,
        etna=case["etnaTime"],
        **dict.fromkeys(("fortuna", "granite"), max(case["etnaTime"], CONFIG.upgrades.granite)),
    )
    config = replace(CONFIG, validator_fees=fees, upgrades=upgrades)
    state = state_of(case["before"])
    before = state.copied()
    tx = parse(bytes.fromhex(case["signedBytes"]))
    diff = Diff(state)

    if "error" in case:
        with pytest.raises(InvalidTx) as refused:
            execute(tx, diff, env_of(case, config))
        assert str(refused.value) == case["error"]
        state.accept(diff)
        assert state == before
        return
    complexity = complexity_of(tx.unsigned)
    assert complexity == tuple(
        case["complexity"][name] for name in ("bandwidth", "dbRead", "dbWrite", "compute")
    )
    assert gas_of(complexity, config.gas) == case["gas"]
    assert price_of(config.gas, state.clock.fee_state()) == case["gasPrice"]
    assert required_fee(tx.unsigned, config, state.clock.fee_state()) == case["fee"]
    execute(tx, diff, env_of(case, config))
    state.accept(diff)
    assert_state(state, case["after"])
    made = [
        CODEC.marshal(utxo).hex() for key, utxo in state.utxos.items() if key not in before.utxos
    ]
    assert made == case["after"]["utxosMade"]


def genesis_validators() -> list[Staker]:
    """Return stakers that leave in a year, as the local network's."""
    return [
        Staker(
            tx_id=ID(bytes([number]) * 32),
            node_id=NodeID(bytes([number]) * 20),
            subnet_id=PRIMARY_NETWORK_ID,
            weight=2_000_000_000_000_000,
            start=1721016000,
            end=1721016000 + 365 * 86400,
            potential_reward=1,
            priority=Priority.PRIMARY_VALIDATOR_CURRENT,
        )
        for number in range(5)
    ]


@pytest.mark.parametrize("case", cases("time_advance"))
def test_time_advances_as_in_the_reference(case: dict[str, Any]) -> None:
    given = case["validatorFeeConfig"]
    config = replace(CONFIG, validator_fees=fee_config(given))
    state = state_of(case["before"])
    state.stakers.update(stakers(*genesis_validators()))
    limit = case["before"]["time"] + 86400

    assert next_staker_change(state, config, limit=limit) == case["nextChangeWithinADay"]

    block = build_standard(parent_id=ID(bytes(32)), height=1, time=case["blockTime"], txs=())
    if "error" in case:
        with pytest.raises(InvalidPlatformBlock) as refused:
            execute_block(block, state, env_of(case, config))
        assert str(refused.value) == case["error"]
        return
    diff = execute_block(block, state, env_of(case, config))
    assert isinstance(diff, Diff)
    state.accept(diff)
    assert_state(state, case["after"])


def fee_config(given: dict[str, int]) -> ValidatorFeeConfig:
    return ValidatorFeeConfig(
        given["capacity"], given["target"], given["minPrice"], given["excessConversionConstant"]
    )


@pytest.mark.parametrize("case", cases("validator_fee_steps"))
def test_the_fee_of_l1_validators_is_the_reference_s(case: dict[str, Any]) -> None:
    config, active, excess = fee_config(case["config"]), case["active"], case["excess"]

    charged = charge(config, validators=active, excess=excess, seconds=case["seconds"])

    assert charged == (case["cost"], case["excessAfter"])
    for left in case["secondsLeft"]:
        found = seconds_left(
            config, validators=active, excess=excess, most=left["max"], funds=left["funds"]
        )
        assert found == left["seconds"], left


@pytest.mark.parametrize("case", cases("fee_state"))
def test_gas_fees_are_the_reference_s(case: dict[str, Any]) -> None:
    given = case["config"]
    config = GasConfig(
        max_capacity=given["maxCapacity"],
        max_per_second=given["maxPerSecond"],
        target_per_second=given["targetPerSecond"],
        min_price=given["minPrice"],
        excess_conversion=given["excessConversionConstant"],
    )
    state = FeeState(**case["from"])
    for step in case["steps"]:
        state = refill(state, config, step["seconds"])
        assert state == FeeState(**step["afterSeconds"])
        assert price_of(config, state) == step["price"]
        if "error" in step:
            with pytest.raises(InvalidTx) as refused:
                consume(state, step["gas"], strict=True)
            assert str(refused.value) == step["error"]
        else:
            state = consume(state, step["gas"], strict=True)
            assert state == FeeState(**step["afterGas"])


@pytest.mark.parametrize("case", cases("conversion_ids"))
def test_conversion_ids_are_the_reference_s(case: dict[str, Any]) -> None:
    subnet_id = ID.parse(case["subnetID"])
    data = ConversionData(
        subnet_id,
        ID.parse(case["managerChainID"]),
        bytes.fromhex(case["managerAddress"]),
        tuple(
            ConversionValidator(
                NodeID.parse(item["nodeID"]),
                bytes.fromhex(item["blsPublicKey"]),
                item["weight"],
            )
            for item in case["validators"]
        ),
    )

    assert str(data.conversion_id) == case["conversionID"]
    assert [str(initial_validation_id(subnet_id, place)) for place in range(3)] == case[
        "validationIDs012"
    ]


@pytest.mark.parametrize("case", cases("upgrades"))
def test_upgrade_times_are_the_reference_s(case: dict[str, Any]) -> None:
    networks = {"mainnet": MAINNET, "fuji": FUJI}

    assert networks.get(case["name"], OWN_NETWORK).as_json() == case["infoUpgrades"]
