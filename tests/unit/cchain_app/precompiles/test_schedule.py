"""When precompiles begin and end, what that changes, and what managers decide for the next block."""

from typing import Any

import pytest

from cchain_app.config import BLACKHOLE
from cchain_app.evm.engine import AccountState
from cchain_app.evm.select import select_engine
from cchain_app.evm.upgrades import (
    CurrentFeeConfig,
    fee_config_after,
    fee_recipient_after,
    role_of,
    upgrade_changes,
)
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.precompiles import addresses
from cchain_app.precompiles.active import DURANGO_WARP_GAS, GRANITE_WARP_GAS, NO_STATEFUL
from cchain_app.precompiles.addresses import CODE, FEE_MANAGER, PrecompileKey, Role
from cchain_app.precompiles.fee_config import DEFAULT_FEE_CONFIG
from cchain_app.precompiles.parsing import parse_precompiles
from cchain_app.precompiles.schedule import (
    NO_PRECOMPILES,
    InitialRewards,
    PrecompileConfig,
    PrecompileSchedule,
)
from primitives.evm import Address
from primitives.hashing import keccak256
from tests.builders.cchain import BASE_FEE, MemoryState, transaction
from tests.builders.stateful import (
    ADMIN,
    ENABLED,
    NETWORK,
    ROLES,
    schedule,
    stateful_env,
    stateful_state,
)

CHAIN = bytes(32)
MINTER = PrecompileKey.NATIVE_MINTER
SOMEBODY = Address(b"\x99" * 20)


def later(
    key: PrecompileKey, begin: int, end: int | None = None, **changes: Any
) -> PrecompileSchedule:
    configs = [PrecompileConfig(key, begin, roles=ROLES, **changes)]
    if end is not None:
        configs.append(PrecompileConfig(key, end, disable=True))
    return PrecompileSchedule(tuple(configs))


def active(one: PrecompileSchedule, timestamp: int) -> Any:
    return one.active_at(timestamp, network_id=NETWORK, blockchain_id=CHAIN)


def test_a_chain_without_precompiles_has_none() -> None:
    assert active(NO_PRECOMPILES, 100) is NO_STATEFUL
    assert list(NO_STATEFUL.addresses()) == []


def test_precompile_is_active_from_its_begin_to_its_end() -> None:
    one = later(MINTER, 10, 20)

    assert [active(one, time).native_minter for time in (9, 10, 19, 20)] == [
        False,
        True,
        True,
        False,
    ]


def test_precompile_without_time_never_begins() -> None:
    one = PrecompileSchedule((PrecompileConfig(MINTER, None),))

    assert not active(one, 2**63).native_minter


def test_warp_has_the_prices_of_its_time() -> None:
    one = PrecompileSchedule((PrecompileConfig(PrecompileKey.WARP, 0),), granite=50)

    assert [active(one, time).warp.gas for time in (49, 50)] == [DURANGO_WARP_GAS, GRANITE_WARP_GAS]


def test_a_begin_makes_an_account_with_roles_and_coins() -> None:
    state, mint = MemoryState(), ((SOMEBODY, 7), (addresses.NATIVE_MINTER, 3))
    state.put(SOMEBODY, balance=2)

    changes = upgrade_changes(
        later(MINTER, 10, initial_mint=mint), state, parent=9, timestamp=10, number=4
    )
    state.apply(changes)

    assert state.account(addresses.NATIVE_MINTER) == AccountState(1, 3, keccak256(CODE))
    assert state.code(keccak256(CODE)) == CODE
    assert state.account(SOMEBODY).balance == 9  # type: ignore[union-attr]
    assert role_of(state, addresses.NATIVE_MINTER, ADMIN) == Role.ADMIN
    assert role_of(state, addresses.NATIVE_MINTER, ENABLED) == Role.ENABLED


@pytest.mark.parametrize(("parent", "timestamp"), [(10, 11), (8, 9)])
def test_other_blocks_change_nothing(parent: int, timestamp: int) -> None:
    changes = upgrade_changes(
        later(MINTER, 10), MemoryState(), parent=parent, timestamp=timestamp, number=4
    )

    assert (changes.accounts, changes.storage) == ({}, {})


def test_an_end_deletes_the_account() -> None:
    one, state = later(MINTER, 10, 20), MemoryState()
    state.apply(upgrade_changes(one, state, parent=9, timestamp=10, number=4))

    state.apply(upgrade_changes(one, state, parent=10, timestamp=20, number=5))

    assert state.account(addresses.NATIVE_MINTER) is None
    assert role_of(state, addresses.NATIVE_MINTER, ADMIN) == Role.NONE


def test_begin_and_end_in_one_block_leave_nothing() -> None:
    state = MemoryState()

    changes = upgrade_changes(later(MINTER, 10, 20), state, parent=5, timestamp=30, number=4)
    state.apply(changes)

    assert state.account(addresses.NATIVE_MINTER) is None


def test_the_fee_manager_decides_from_the_next_block_on() -> None:
    state, env = stateful_state(), stateful_env(number=77)
    new = DEFAULT_FEE_CONFIG._replace(min_base_fee=1, target_gas=5)
    data = bytes.fromhex("8f10b586") + b"".join(value.to_bytes(32, "big") for value in new)
    setter = transaction(
        0, to=FEE_MANAGER, data=data, value=0, gas=400_000, nonce=0, max_fee_per_gas=2 * BASE_FEE
    )
    before = fee_config_after(schedule(), state, 0)

    block = select_engine("native").execute_block(env, [setter], state, skip_invalid=False)
    state.apply(block.changes)

    assert before == CurrentFeeConfig(DEFAULT_FEE_CONFIG, 0)
    assert fee_config_after(schedule(), state, 0) == CurrentFeeConfig(new, 77)


def test_fee_config_without_manager_is_the_genesis_files() -> None:
    own = DEFAULT_FEE_CONFIG._replace(min_base_fee=3)

    found = fee_config_after(PrecompileSchedule(fee_config=own), MemoryState(), 0)

    assert found == CurrentFeeConfig(own, 0)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        (InitialRewards(True), None),
        (InitialRewards(), BLACKHOLE),
        (InitialRewards(False, SOMEBODY), SOMEBODY),
        (None, BLACKHOLE),
    ],
)
def test_the_reward_manager_names_the_recipient(
    rewards: InitialRewards | None, expected: Address | None
) -> None:
    one, state = later(PrecompileKey.REWARD_MANAGER, 0, initial_rewards=rewards), MemoryState()
    state.apply(upgrade_changes(one, state, parent=None, timestamp=0, number=0))

    assert fee_recipient_after(one, state, 0) == expected


@pytest.mark.parametrize(("allowed", "expected"), [(True, None), (False, BLACKHOLE)])
def test_fee_recipient_without_manager_follows_the_genesis_file(
    allowed: bool,  # noqa: FBT001  # a parameter
    expected: Address | None,
) -> None:
    one = PrecompileSchedule(allow_fee_recipients=allowed)

    assert fee_recipient_after(one, MemoryState(), 0) == expected


@pytest.mark.parametrize(
    ("upgrades", "words"),
    [
        ([{"txAllowListConfig": {}}], "precompile upgrade block timestamp cannot be nil"),
        (
            [{"txAllowListConfig": {"blockTimestamp": 5, "disable": True}}],
            "precompile upgrade disable value is invalid",
        ),
        (
            [
                {"txAllowListConfig": {"blockTimestamp": 5}},
                {"feeManagerConfig": {"blockTimestamp": 4}},
            ],
            "must be greater than or equal to previous timestamp",
        ),
        (
            [
                {"txAllowListConfig": {"blockTimestamp": 5}},
                {"txAllowListConfig": {"blockTimestamp": 5, "disable": True}},
            ],
            "must be strictly greater than previous timestamp",
        ),
        ([{"noConfig": {}}], "unknown precompile config: noConfig"),
        ([{}], "must have exactly one key, got 0"),
    ],
)
def test_upgrade_files_are_checked(upgrades: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(GenesisFileError, match=words):
        parse_precompiles({}, upgrades=upgrades)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"adminAddresses": "0x00"}, "config.txAllowListConfig.adminAddresses: not a list"),
        ({"adminAddresses": ["0x00"]}, r"config.txAllowListConfig.adminAddresses\[0\]"),
        ({"blockTimestamp": -1}, "config.txAllowListConfig.blockTimestamp: not a whole number"),
        (
            {
                "enabledAddresses": [f"0x{SOMEBODY.hex()}"],
                "managerAddresses": [f"0x{SOMEBODY.hex()}"],
            },
            "cannot set address as both enabled and manager",
        ),
    ],
)
def test_malformed_configs_are_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(GenesisFileError, match=words):
        parse_precompiles({"txAllowListConfig": config})


def test_managers_before_durango_are_refused() -> None:
    config = {"blockTimestamp": 4, "managerAddresses": [f"0x{SOMEBODY.hex()}"]}

    with pytest.raises(GenesisFileError, match="cannot add managers before Durango"):
        parse_precompiles({"txAllowListConfig": config}, durango=5)


def test_a_chain_may_know_fewer_precompiles() -> None:
    document = {"warpConfig": {"blockTimestamp": 3}, "txAllowListConfig": {"blockTimestamp": 3}}

    found = parse_precompiles(document, keys=(PrecompileKey.WARP,))

    assert [config.key for config in found.configs] == [PrecompileKey.WARP]
