"""Genesis and upgrade files of subnet-evm that a node refuses, besides those of the vectors (etna.md 12.3)."""

import json
from typing import Any

import pytest

from cchain_app.genesis_fields import GenesisFileError
from cchain_app.rules.subnet_evm.genesis import load_genesis
from primitives.upgrades import OWN_NETWORK
from tests.builders.subnet_evm import subnet_genesis
from tests.builders.transactions import CHAIN_ID


def changed(**fields: Any) -> bytes:
    """Return a usable file with other fields of its own."""
    document = json.loads(subnet_genesis(CHAIN_ID))
    return json.dumps({**document, **fields}).encode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "parsing genesis: "),
        (b"[]", "parsing genesis: not a JSON object"),
        (b"[" * 100_000, "parsing genesis: "),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "parsing genesis: nested deeper than "),
        (changed(alloc=None), "parsing genesis: missing required field 'alloc' for Genesis"),
        (
            changed(gasLimit="0xb71b01"),
            "failed to verify genesis: gas limit in fee config (12000000) does not match gas limit in "
            "header (12000001)",
        ),
        (
            changed(airdropHash="0x" + "00" * 32),
            "airdropHash: airdrops need a file that this node does not have",
        ),
        (changed(number="0x1"), "number: 1, want 0"),
        (
            subnet_genesis(CHAIN_ID, pragueTime=0),
            "config.pragueTime: subnet EVM chains have no such fork",
        ),
        (
            subnet_genesis(CHAIN_ID, osakaTime=5),
            "config.osakaTime: subnet EVM chains have no such fork",
        ),
        *(
            (
                subnet_genesis(CHAIN_ID, **{key: []}),
                f"config.{key}: it belongs to an upgrade file, not to the genesis",
            )
            for key in ("stateUpgrades", "networkUpgradeOverrides", "precompileUpgrades")
        ),
        *(
            (
                subnet_genesis(CHAIN_ID, **{f"{fork}Timestamp": 5}),
                f"failed to verify genesis: invalid network upgrades: {fork} fork block timestamp is invalid: "
                "provided timestamp must be greater than or equal to the default timestamp: "
                "provided timestamp 5, default timestamp ",
            )
            for fork in ("durango", "etna", "fortuna", "granite", "helicon")
        ),
        (
            subnet_genesis(CHAIN_ID, initialMinDelayMS=-1),
            "config.initialMinDelayMS: ",
        ),
    ],
)  # fmt: skip
def test_a_genesis_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(GenesisFileError) as refused:
        load_genesis(text, OWN_NETWORK)
    assert str(refused.value)[: len(words)] == words


@pytest.mark.parametrize(
    ("upgrades", "words"),
    [
        (b"nonsense", "upgrade file: parsing genesis: "),
        (
            b'{"stateUpgrades": [{"blockTimestamp": 1}]}',
            "upgrade file: stateUpgrades: this kind of upgrade is not supported",
        ),
        (
            b'{"networkUpgradeOverrides": {"fortunaTimestamp": 1}}',
            "upgrade file: networkUpgradeOverrides: this kind of upgrade is not supported",
        ),
        (b'{"precompileUpgrades": {}}', None),
        (
            b'{"precompileUpgrades": [1]}',
            "upgrade file: precompileUpgrades: not a list of objects",
        ),
    ],
)
def test_an_upgrade_file_is_refused(upgrades: bytes, words: str | None) -> None:
    text = subnet_genesis(CHAIN_ID)
    if words is None:
        assert load_genesis(text, OWN_NETWORK, upgrade_file=upgrades)
        return
    with pytest.raises(GenesisFileError) as refused:
        load_genesis(text, OWN_NETWORK, upgrade_file=upgrades)
    assert str(refused.value)[: len(words)] == words


def test_a_precompile_that_subnet_evm_has_not_registered_is_ignored() -> None:
    plain = load_genesis(subnet_genesis(CHAIN_ID), OWN_NETWORK)
    more = load_genesis(
        subnet_genesis(CHAIN_ID, gasPriceManagerConfig={"blockTimestamp": 0}), OWN_NETWORK
    )
    assert more.config.stateful == plain.config.stateful
