"""The genesis file of a new local chain: deployed contracts, options, and block 0."""

import json
from typing import Any

import pytest

from cchain_app.blocks.assembly import fresh_prev_randao, next_env
from cchain_app.config import (
    CHOSEN_FORKS,
    ExecutionLimits,
    at_least,
    fork_named,
    parse_config,
    with_fork_from_start,
)
from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.first_block import first_block
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.local_genesis import (
    LocalChoices,
    local_text,
    predeployed,
    without_coins_of_zero,
)
from cchain_app.rules.ethereum import ETHEREUM_FORMAT
from primitives.evm import ZERO_ADDRESS, ZERO_HASH, Address, Hash
from primitives.hashing import keccak256

CODE_HASHES = {
    "4e59b44847b379578588920ca78fbf26c0b4956c": (
        "2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989"
    ),
    "ca11bde05977b3631167028862be2a173976ca11": (
        "d5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891"
    ),
}
"""Code hashes of the contracts on public chains, by address."""


ZERO = "0x" + "00" * 20


def chosen(**choices: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(local_text(LocalChoices(**choices)))
    return document


def hash_of(text: bytes | str) -> Hash:
    genesis = load_genesis(text).with_timestamp(1_700_000_000)
    return first_block(PythonStateTrie(), genesis, ETHEREUM_FORMAT)[0].hash


def test_a_timestamp_is_that_of_the_first_block() -> None:
    assert (
        load_genesis(local_text(LocalChoices(timestamp=1_600_000_000))).timestamp == 1_600_000_000
    )
    assert load_genesis(local_text()).timestamp == 0


def test_local_genesis_without_create2_deployer() -> None:
    addresses = {
        address.hex()
        for address in load_genesis(local_text(LocalChoices(create2_deployer=False))).alloc
    }

    assert set(CODE_HASHES) - addresses == {"4e59b44847b379578588920ca78fbf26c0b4956c"}


def test_predeployed_contracts_have_the_code_of_public_chains() -> None:
    alloc = load_genesis(local_text()).alloc
    for address, code_hash in CODE_HASHES.items():
        account = alloc[Address(bytes.fromhex(address))]
        assert keccak256(account.code).hex() == code_hash
        assert (account.nonce, account.balance, account.storage) == (1, 0, {})
    assert {Address(bytes.fromhex(address[2:])) for address in predeployed()} == {
        Address(bytes.fromhex(address)) for address in CODE_HASHES
    }


def test_prague_genesis_is_that_of_older_versions() -> None:
    old, new = json.loads(built_in_text("local")), chosen(hardfork="prague")
    assert local_text(as_in_0_1_0=True) == local_text(LocalChoices(hardfork="prague"))
    assert new["config"].pop("freshPrevRandao") is True
    for address in (*predeployed(), ZERO):
        del new["alloc"][address]
    assert new | {"extraData": "0x"} == old


def test_the_zero_address_has_coins_but_in_the_files_of_older_versions() -> None:
    new, old = load_genesis(local_text()), load_genesis(without_coins_of_zero(local_text()))
    assert new.alloc[ZERO_ADDRESS] == (10_000 * 10**18, 0, b"", {})
    assert new.alloc == {ZERO_ADDRESS: new.alloc[ZERO_ADDRESS], **old.alloc}
    assert load_genesis(built_in_text("local")).alloc.keys() < old.alloc.keys()


def test_the_file_of_older_versions_makes_their_block() -> None:
    assert hash_of(built_in_text("local")).hex() == (
        "7b58e774431b2fd22db12b240d247a8a1e9d1ded55cbfe3b17eb35010ad49e44"
    )
    assert hash_of(local_text()) != hash_of(built_in_text("local"))


@pytest.mark.parametrize("fork", CHOSEN_FORKS)
def test_a_hard_fork_holds_from_the_first_block_on(fork: str) -> None:
    genesis = load_genesis(local_text(LocalChoices(hardfork=fork)))
    assert genesis.fork == fork
    assert genesis.config.fork_at(10**6, 2**40) == fork
    assert (genesis.base_fee is not None) == at_least(fork, "london")


def test_a_new_chain_has_osakas_rules_without_its_limit_for_transactions() -> None:
    genesis = load_genesis(local_text())
    assert (genesis.fork, genesis.config.limits) == (
        "osaka",
        ExecutionLimits(transaction_gas=False),
    )
    assert local_text(LocalChoices(hardfork="osaka")) == local_text()
    # geth refuses a fork with blobs that has no entry.
    assert json.loads(local_text())["config"]["blobSchedule"]["osaka"] == {
        "target": 6, "max": 9, "baseFeeUpdateFraction": 5007716,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("choices", "limits"),
    [
        ({"transaction_gas_limit": True}, ExecutionLimits()),
        ({"hardfork": "prague"}, ExecutionLimits()),
        ({"block_gas_limit": False}, ExecutionLimits(transaction_gas=False, block_gas=False)),
        ({"code_size_limit": 7}, ExecutionLimits(transaction_gas=False, code_size=7)),
        ({"memory_limit": 64}, ExecutionLimits(transaction_gas=False, memory=64)),
    ],
)
def test_limits_are_the_developers_choice(choices: dict[str, Any], limits: ExecutionLimits) -> None:
    assert load_genesis(local_text(LocalChoices(**choices))).config.limits == limits


def test_the_file_of_the_first_version_had_only_the_limits_of_its_fork() -> None:
    text = local_text(LocalChoices(hardfork="osaka"), as_in_0_1_0=True)
    assert load_genesis(text).config.limits == ExecutionLimits()
    assert "osaka" not in json.loads(text)["config"]["blobSchedule"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("noTransactionGasLimit", 1, "not true or false"),
        ("noBlockGasLimit", "yes", "not true or false"),
        ("codeSizeLimit", -1, "not a whole number"),
        ("codeSizeLimit", 2**62, "wider than 62 bits"),
        ("memoryLimit", 2**36, "wider than 36 bits"),
    ],
)
def test_a_malformed_limit_is_refused(key: str, value: object, words: str) -> None:
    with pytest.raises(GenesisFileError, match=rf"config\.{key}: {words}"):
        parse_config({"chainId": 1, key: value})


def test_fork_schedule_is_replaced_and_other_members_are_kept() -> None:
    config = {"chainId": 7, "londonBlock": 5, "shanghaiTime": 9, "bpo1Time": 3, "other": 1}
    assert with_fork_from_start(config, "homestead") == {
        "chainId": 7, "other": 1, "homesteadBlock": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fork"),
    [
        ("prague", "prague"), ("Prague", "prague"), ("spuriousDragon", "spurious_dragon"),
        ("spurious-dragon", "spurious_dragon"), ("tangerine", "tangerine_whistle"), ("merge", "paris"),
        ("petersburg", "constantinople"), ("bpo1", None), ("amsterdam", None), ("", None),
    ],
)  # fmt: skip
def test_forks_are_known_by_the_names_that_tools_have_for_them(name: str, fork: str | None) -> None:
    assert fork_named(name) == fork


def test_gas_limit_and_base_fee() -> None:
    genesis = load_genesis(local_text(LocalChoices(gas_limit=12_345_678, base_fee=7)))
    assert (genesis.gas_limit, genesis.base_fee) == (12_345_678, 7)


@pytest.mark.parametrize(
    ("base_fee", "floor", "kept"),
    [(0, 10**9, 0), (7, 10**9, 7), (10**9, 10**9, None), (-1, 5, None)],
)
def test_a_base_fee_below_the_floor_is_the_floor(
    base_fee: int, floor: int, kept: int | None
) -> None:
    config = chosen(base_fee=base_fee, min_base_fee=floor)["config"]
    assert config.get("minBaseFee") == kept


def test_genesis_hash_depends_on_the_rules() -> None:
    texts = [
        local_text(LocalChoices(**choices))
        for choices in (
            {}, {"hardfork": "prague"}, {"hardfork": "cancun"}, {"gas_limit": 10**7}, {"base_fee": 3},
            {"transaction_gas_limit": True}, {"block_gas_limit": False}, {"code_size_limit": 50_000}, {"warp": True},
            {"memory_limit": 50_000}, {"base_fee": 3, "min_base_fee": 5},
        )
    ]  # fmt: skip
    assert len({hash_of(text) for text in texts}) == len(texts)
    other_id = json.loads(local_text()) | {}
    other_id["config"]["chainId"] = 31337
    assert hash_of(json.dumps(other_id)) == hash_of(local_text())


@pytest.mark.parametrize("value", [1, "true", []])
def test_whether_prev_randao_is_fresh_is_true_or_false(value: object) -> None:
    with pytest.raises(GenesisFileError, match=r"config\.freshPrevRandao: not true or false"):
        parse_config({"chainId": 1, "freshPrevRandao": value})


@pytest.mark.parametrize("name", ["local", "mainnet", "testnet"])
def test_no_other_file_wants_it_fresh(name: str) -> None:
    assert not load_genesis(built_in_text(name)).config.fresh_prev_randao


def randao_after_genesis(text: bytes) -> tuple[Hash, Hash]:
    """Return the PREVRANDAO of block 1, and the value by the rule."""
    genesis = load_genesis(text).with_timestamp(1_700_000_000)
    block, _ = first_block(PythonStateTrie(), genesis, ETHEREUM_FORMAT)
    env = next_env(block, genesis.config, timestamp=1_700_000_001, gas_limit=10**7, base_fee=1)
    return env.prev_randao, fresh_prev_randao(block.hash, 1)


def test_prev_randao_is_the_hash_of_parent_and_number() -> None:
    have, want = randao_after_genesis(local_text())
    assert have == want
    parent = Hash(bytes(range(32)))
    assert fresh_prev_randao(parent, 258) == keccak256(parent + bytes.fromhex("0000000000000102"))


@pytest.mark.parametrize(
    "text", [built_in_text("local"), local_text(LocalChoices(hardfork="london"))]
)
def test_prev_randao_is_zero_on_older_chains_and_by_older_rules(text: bytes) -> None:
    assert randao_after_genesis(text)[0] == ZERO_HASH
