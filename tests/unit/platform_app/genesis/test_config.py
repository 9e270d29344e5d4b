"""Parsing of a genesis file: errors name each missing or malformed field."""

from typing import Any

import pytest

from platform_app.genesis.config import (
    Allocation,
    GenesisConfig,
    InitialStaker,
    Unlock,
    parse_genesis_config,
)
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from tests.builders.genesis import (
    HOLDER,
    NODE_IDS,
    REWARDED,
    STAKED,
    YEAR,
    address,
    document,
    staker,
)
from tests.builders.platform import NETWORK_ID, NOW, proof_of_possession
from tests.builders.reasons import raises

MAX = 2**64 - 1
REQUIRED = [
    "networkID",
    "startTime",
    "initialStakeDuration",
    "initialStakeDurationOffset",
    "cChainGenesis",
]


def holder(**changes: Any) -> dict[str, Any]:
    """Return a file with the changes in its only holder."""
    fields = {
        "ethAddr": f"0x{'11' * 20}",
        "avaxAddr": address(HOLDER),
        "initialAmount": 1,
        "unlockSchedule": [],
    }
    return document(allocations=[fields | changes], initialStakedFunds=[], initialStakers=[])


def test_a_file_is_read() -> None:
    config = parse_genesis_config(document())

    assert config == GenesisConfig(
        network_id=NETWORK_ID,
        start_time=NOW,
        allocations=(
            Allocation(
                HOLDER,
                500,
                (Unlock(1_000), Unlock(0), Unlock(2_000, NOW + 5), Unlock(3_000, NOW)),
                b"\x11" * 20,
            ),
            Allocation(STAKED, 0, (Unlock(4_001, NOW + 9),), b"\x22" * 20),
        ),
        staked_funds=(STAKED,),
        stakers=tuple(
            InitialStaker(NODE_IDS[number], REWARDED, 20_000, proof_of_possession(number + 1))
            for number in range(2)
        ),
        stake_duration=YEAR,
        stake_duration_offset=5_400,
        c_chain_genesis='{"config":{}}',
        message="begin",
    )
    assert config.initial_supply == 10_501


def test_optional_members_have_defaults() -> None:
    without_key = staker(0)
    del without_key["signer"]
    config = parse_genesis_config(
        document(message=None, denomination=6, initialStakers=[without_key])
    )

    assert config.message == ""
    assert config.denomination == 6
    assert parse_genesis_config(document()).denomination == 9
    assert config.stakers[0].signer is None


def test_lists_that_are_absent_are_empty() -> None:
    without = holder()
    del without["initialStakers"], without["initialStakedFunds"]

    config = parse_genesis_config(without)

    assert (config.stakers, config.staked_funds) == ((), ())


@pytest.mark.parametrize("name", REQUIRED)
def test_a_field_that_is_missing_is_named(name: str) -> None:
    without = document()
    del without[name]

    with raises(
        PlatformGenesisReason.MISSING_FIELD,
        kind=GenesisError,
        match=f"^genesis field {name} is missing$",
    ):
        parse_genesis_config(without)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (document(networkID="12345"), "networkID: not a number of 32 bits"),
        (document(networkID=2**32), "networkID: not a number of 32 bits"),
        (document(startTime=-1), "startTime: not a number of 64 bits"),
        (document(startTime=True), "startTime: not a number of 64 bits"),
        (document(startTime=1.5), "startTime: not a number of 64 bits"),
        (document(cChainGenesis={}), "cChainGenesis: not a text"),
        (document(allocations={}), "allocations: not a list"),
        (document(allocations=[1]), "allocations[0]: not an object"),
        (document(initialStakedFunds=[7]), "initialStakedFunds[0]: not a text"),
        (
            document(initialStakedFunds=["local1xyz"]),
            "initialStakedFunds[0]: no separator found in address",
        ),
        (holder(ethAddr="0x1234"), "allocations[0].ethAddr: not 20 bytes in hexadecimal"),
        (holder(ethAddr="zz" * 20), "allocations[0].ethAddr: not 20 bytes in hexadecimal"),
        (holder(initialAmount=2**64), "allocations[0].initialAmount: not a number of 64 bits"),
        (
            holder(unlockSchedule=[{"amount": "1"}]),
            "allocations[0].unlockSchedule[0].amount: not a number of 64 bits",
        ),
        (
            document(initialStakers=[staker(0, nodeID="NodeID-")]),
            "initialStakers[0].nodeID: base58 decoding error: zero length string",
        ),
        (
            document(initialStakers=[staker(0, signer="key")]),
            "initialStakers[0].signer: not an object",
        ),
        (
            document(
                initialStakers=[staker(0, signer={"publicKey": "0x", "proofOfPossession": ""})]
            ),
            "initialStakers[0].signer.publicKey: not 48 bytes in hexadecimal",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_field_of_another_form_is_named(changed: dict[str, Any], words: str) -> None:
    with raises(PlatformGenesisReason.MALFORMED_FIELD, kind=GenesisError) as refused:
        parse_genesis_config(changed)

    assert str(refused.value) == f"genesis field {words}"


@pytest.mark.parametrize(
    ("changed", "reason", "words"),
    [
        (holder(initialAmount=0), PlatformGenesisReason.NO_SUPPLY, "initial supply must be > 0"),
        (
            holder(initialAmount=MAX, unlockSchedule=[{"amount": 1}]),
            PlatformGenesisReason.SUPPLY_OVERFLOW,
            "initial supply overflows",
        ),
        (
            document(initialStakedFunds=[address(STAKED)] * 2),
            PlatformGenesisReason.DUPLICATE_STAKED_FUNDS,
            f"duplicate initially staked address: {STAKED}",
        ),
        (
            document(initialStakedFunds=[address(REWARDED)]),
            PlatformGenesisReason.NO_ALLOCATION_TO_STAKE,
            "no allocation to stake",
        ),
        (
            document(initialStakedFunds=[]),
            PlatformGenesisReason.NO_ALLOCATION_TO_STAKE,
            "no allocation to stake",
        ),
        (
            document(initialStakers=[]),
            PlatformGenesisReason.NO_ALLOCATION_TO_STAKE,
            "no allocation to stake",
        ),
        (
            document(initialStakeDuration=5_400),
            PlatformGenesisReason.STAKE_DURATION_TOO_SHORT,
            "initial stake duration is too low",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, PlatformGenesisReason) else "",
)
def test_fields_must_fit_together(
    changed: dict[str, Any], reason: PlatformGenesisReason, words: str
) -> None:
    with raises(reason, kind=GenesisError) as refused:
        parse_genesis_config(changed)

    assert str(refused.value) == words


def test_each_validator_needs_stake() -> None:
    changed = document()
    changed["allocations"][1]["unlockSchedule"] = [{"amount": 1}]

    with raises(
        PlatformGenesisReason.NO_STAKE_PER_VALIDATOR,
        kind=GenesisError,
        match=r"^validator has no weight$",
    ):
        parse_genesis_config(changed)


def test_genesis_config_can_have_another_start_time() -> None:
    config = parse_genesis_config(document())

    assert config.starting_at(NOW + 7).start_time == NOW + 7
    assert config.starting_at(NOW) == config
