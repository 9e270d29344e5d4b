"""Precompiles of subnet-evm's genesis files: the state of block 0, and the words of refusals, by the vectors of etna."""

import json
from pathlib import Path
from typing import Any

import pytest

from cchain_app.evm.upgrades import EmptyState, upgrade_changes
from cchain_app.genesis_fields import GenesisFileError, parse_address, parse_bytes, parse_number
from cchain_app.precompiles.fee_config import (
    DEFAULT_FEE_CONFIG,
    FeeConfigError,
    parse_fee_config,
    render_fee_config,
)
from cchain_app.precompiles.parsing import parse_precompiles
from cchain_app.precompiles.schedule import PrecompileSchedule
from tests.builders.cchain import MemoryState
from tests.builders.roots import state_root

VECTORS = Path(__file__).parents[2] / "vectors" / "etna" / "subnet_evm_genesis.json"
CASES = json.loads(VECTORS.read_text())["cases"]
DURANGO = 1607144400
UPGRADES = "failed to verify genesis: invalid precompile upgrades: "
FEES = "failed to verify genesis: invalid fee config: "


def named(cases: list[dict[str, Any]]) -> list[Any]:
    assert cases
    return [pytest.param(case, id=case["name"]) for case in cases]


def precompiles_of(document: dict[str, Any]) -> PrecompileSchedule:
    config = document.get("config") or {}
    fees = config.get("feeConfig")
    return parse_precompiles(
        config,
        durango=DURANGO,
        fee_config=DEFAULT_FEE_CONFIG if fees is None else parse_fee_config(fees),
        allow_fee_recipients=config.get("allowFeeRecipients", False),
    )


@pytest.mark.parametrize("case", named([case for case in CASES if "stateRoot" in case]))
def test_the_state_of_block_0(case: dict[str, Any]) -> None:
    document = json.loads(case["genesis"])
    time = parse_number(document.get("timestamp", 0), "timestamp")
    schedule = precompiles_of(document)
    state = MemoryState()
    state.apply(upgrade_changes(schedule, EmptyState(), parent=None, timestamp=time, number=0))
    for key, entry in document["alloc"].items():
        address = parse_address(key, key)
        kept = dict(state.storages.get(address, {}))
        state.put(
            address,
            balance=parse_number(entry.get("balance", 0), "balance"),
            nonce=parse_number(entry.get("nonce", 0), "nonce"),
            code=parse_bytes(entry.get("code", ""), "code"),
            storage={
                int(slot, 16): int(word, 16) for slot, word in entry.get("storage", {}).items()
            },
        )
        state.storages[address] = kept | state.storages[address]

    assert "0x" + state_root(state).hex() == case["stateRoot"]
    assert render_fee_config(schedule.fee_config) == case["chainConfig"]["feeConfig"]


@pytest.mark.parametrize(
    "case", named([case for case in CASES if case.get("error", "").startswith(UPGRADES)])
)
def test_refused_precompiles(case: dict[str, Any]) -> None:
    with pytest.raises(GenesisFileError) as raised:
        precompiles_of(json.loads(case["genesis"]))
    assert str(raised.value) == case["error"]


@pytest.mark.parametrize(
    "case", named([case for case in CASES if case.get("error", "").startswith(FEES)])
)
def test_refused_fee_configs(case: dict[str, Any]) -> None:
    with pytest.raises(FeeConfigError) as raised:
        parse_fee_config(json.loads(case["genesis"])["config"]["feeConfig"])
    assert f"{FEES}{raised.value}" == case["error"]
