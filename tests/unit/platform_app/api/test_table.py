"""The tables of methods: those that exist, and a description of each."""

import pytest

from jsonrpc.dispatch.registry import MethodRegistry
from platform_app.api import PlatformRpc, keystore, registry
from platform_app.apps import platform_chain

RPC = PlatformRpc(platform_chain())
REGISTRY, KEYSTORE = registry(RPC), keystore.registry(RPC)

SPECIFIED = [
    "getCurrentValidators", "getPendingValidators", "addValidator", "addDelegator", "getBalance",
    "getUTXOs", "createSubnet", "getSubnets", "addSubnetValidator", "getBlockchains",
    "getStakingAssetID", "issueTx", "getTxStatus",
]  # fmt: skip
NEEDED = [
    "getTx", "getBlock", "getBlockByHeight", "getHeight", "getProposedHeight", "getTimestamp",
    "getMinStake", "getMaxStakeAmount", "getTotalStake", "getStake", "getCurrentSupply",
    "getRewardUTXOs", "getValidatorsAt", "getAllValidatorsAt", "sampleValidators", "validatedBy",
    "validates", "getBlockchainStatus", "getSubnet", "getFeeConfig", "getFeeState",
    "getValidatorFeeConfig", "getValidatorFeeState", "getL1Validator", "importKey", "exportKey",
    "createAddress", "listAddresses", "createBlockchain", "exportAVAX", "importAVAX",
    "convertSubnetToL1", "registerL1Validator", "setL1ValidatorWeight",
    "increaseL1ValidatorBalance", "disableL1Validator", "aggregateSignatures",
]  # fmt: skip


@pytest.mark.parametrize("name", SPECIFIED + NEEDED)
def test_the_method_exists(name: str) -> None:
    assert f"platform.{name}" in REGISTRY


def test_registry_has_only_the_specified_methods() -> None:
    assert len(REGISTRY) == len(SPECIFIED + NEEDED)
    assert [method.name for method in KEYSTORE] == [
        "keystore.createUser", "keystore.deleteUser", "keystore.listUsers",
        "keystore.exportUser", "keystore.importUser",
    ]  # fmt: skip


@pytest.mark.parametrize("table", [REGISTRY, KEYSTORE])
def test_docstrings_start_with_the_method_name(table: MethodRegistry) -> None:
    for description in table.describe():
        assert description.summary.startswith(f"{description.name}:"), description.name


@pytest.mark.parametrize("table", [REGISTRY, KEYSTORE])
def test_nothing_is_required_by_the_form_of_a_call(table: MethodRegistry) -> None:
    assert [item.name for item in table.describe() if item.required] == []


def test_issue_tx_is_vectorized() -> None:
    method = REGISTRY.methods["platform.issueTx"]
    assert method.vectorized is not None
    assert not method.hot
