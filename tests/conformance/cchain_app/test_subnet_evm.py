"""Chains of subnets: geneses, fees and headers of the reference implementation (tests/vectors/etna)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.evm.select import select_trie
from cchain_app.first_block import first_block
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.rules.subnet_evm.config import SubnetEvmConfig, parse_config
from cchain_app.rules.subnet_evm.genesis import load_genesis
from cchain_app.rules.subnet_evm.header import SubnetEvmHeader, decode_header
from cchain_app.rules.subnet_evm.rules import SUBNET_EVM_FORMAT, SubnetEvmRules
from primitives.evm import ZERO_ADDRESS, Hash
from primitives.hashing import EMPTY_ROOT
from primitives.upgrades import OWN_NETWORK

VECTORS = Path(__file__).parents[2] / "vectors" / "etna"


def cases(name: str) -> list[Any]:
    """Return a file's cases as parameters, named by their IDs."""
    found = json.loads((VECTORS / f"{name}.json").read_text())["cases"]
    return [pytest.param(case, id=f"{case['id'][-3:]} {case['name']}") for case in found]


def has(case: Any, key: str) -> bool:
    return key in case.values[0]


USABLE = [case for case in cases("subnet_evm_genesis") if not has(case, "error")]


@pytest.mark.parametrize("case", USABLE)
def test_a_genesis_makes_the_block_of_the_reference(case: dict[str, Any]) -> None:
    genesis = load_genesis(case["genesis"].encode(), OWN_NETWORK)

    block, _ = first_block(select_trie("auto"), genesis, SUBNET_EVM_FORMAT)

    assert block.header.state_root.hex() == case["stateRoot"][2:]
    assert block.header.raw.hex() == case["headerRLP"]
    assert block.hash.hex() == case["hash"][2:]
    assert decode_header(block.header.raw) == block.header


@pytest.mark.parametrize("case", USABLE)
def test_a_configuration_is_shown_as_by_the_reference(case: dict[str, Any]) -> None:
    config = load_genesis(case["genesis"].encode(), OWN_NETWORK).config
    assert isinstance(config, SubnetEvmConfig)
    assert config.shown == case["chainConfig"]


@pytest.mark.parametrize(
    "case", [case for case in cases("subnet_evm_genesis") if has(case, "error")]
)
def test_a_genesis_is_refused_in_the_words_of_the_reference(case: dict[str, Any]) -> None:
    with pytest.raises(GenesisFileError) as refused:
        load_genesis(case["genesis"].encode(), OWN_NETWORK)
    assert str(refused.value) == case["error"]


@pytest.mark.parametrize("case", cases("subnet_evm_base_fee"))
def test_fees_follow_the_gas_of_the_last_seconds(case: dict[str, Any]) -> None:
    config = parse_config({"chainId": 1}, OWN_NETWORK)
    fees = config.fees._replace(
        min_base_fee=case["minBaseFee"],
        target_gas=case["targetGas"],
        base_fee_change_denominator=case["baseFeeChangeDenominator"],
    )
    rules = SubnetEvmRules(replace(config, fees=fees))
    parent = _block(0, 1000, base_fee=case["minBaseFee"])

    for number, expected in enumerate(case["blocks"], 1):
        time = parent.header.timestamp + expected["secondsAfterParent"]
        base_fee = rules.base_fee_after(parent, time)
        extra_data = rules.window_after(parent, time)
        assert (str(base_fee), extra_data.hex()) == (expected["baseFee"], expected["extraData"])
        parent = _block(
            number, time, base_fee=base_fee, extra_data=extra_data, gas_used=expected["gasUsed"]
        )


def _block(
    number: int, time: int, *, base_fee: int, extra_data: bytes = b"", gas_used: int = 0
) -> AcceptedBlock:
    header = SubnetEvmHeader(
        parent_hash=Hash(bytes(32)),
        coinbase=ZERO_ADDRESS,
        state_root=EMPTY_ROOT,
        transactions_root=EMPTY_ROOT,
        receipts_root=EMPTY_ROOT,
        logs_bloom=bytes(256),
        number=number,
        gas_limit=8_000_000,
        gas_used=gas_used,
        timestamp=time,
        extra_data=extra_data,
        base_fee=base_fee,
    )
    return make_block(header, (), ())
