"""The genesis of custom networks: with one or several validators, at the scale of their parameters."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platform_app.config import UNIT, PlatformConfig, reference_config, specification_config
from platform_app.genesis.building import Founder, build_genesis, own_network, read_genesis_config
from platform_app.genesis.config import format_genesis_config
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.genesis.genesis import GenesisBody, initial_stakers, parse_genesis
from platform_app.txs.codec import GENESIS_CODEC
from primitives.codec_errors import CodecError
from primitives.ids import NodeID, ShortID
from primitives.keys import EWOQ_KEY, address_of
from tests.builders.platform import NOW, proof_of_possession
from tests.builders.reasons import raises

CONFIG = specification_config(12345)
CONFIGS = [CONFIG, specification_config(777), reference_config(777)]


def founders(count: int) -> list[Founder]:
    proof = proof_of_possession()
    return [Founder(NodeID(number.to_bytes(20, "big")), proof) for number in range(1, count + 1)]


def network(count: int, config: PlatformConfig = CONFIG):
    return own_network(config, founders(count), start_time=NOW, c_chain_genesis='{"a":1}')


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.network_id} {config.unit}")
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_genesis_validators_stake_two_million_coins_each(
    config: PlatformConfig, count: int
) -> None:
    genesis = parse_genesis(build_genesis(network(count, config)))

    stakers, supply = initial_stakers(genesis, config)
    assert [item.node_id for item in stakers] == [founder.node_id for founder in founders(count)]
    assert {staker.weight for staker in stakers} == {2_000_000 * config.unit}
    assert config.min_validator_stake <= stakers[0].weight <= config.max_validator_stake
    assert {(other.start, other.end) for other in stakers} == {(NOW, NOW + 365 * 86_400)}
    assert genesis.initial_supply == config.rewards.supply_cap // 2
    assert genesis.initial_supply < supply < config.rewards.supply_cap
    assert (genesis.network_id, genesis.timestamp) == (config.network_id, NOW)


def test_network_of_one_validator_keeps_its_genesis_id() -> None:
    genesis = parse_genesis(build_genesis(network(1)))

    (staker,) = initial_stakers(genesis, CONFIG).stakers
    assert staker.weight == 2_000_000 * UNIT
    assert str(genesis.genesis_id) == "2Dze5GgFiom7E78YCi7Pv3J2y7oQ16TbaQkd772H9F878waV9u"


def test_too_many_genesis_validators_are_refused() -> None:
    config = reference_config(777)
    most = 155
    assert network(most, config).initial_supply == config.rewards.supply_cap // 2

    with raises(PlatformGenesisReason.TOO_MANY_VALIDATORS, kind=GenesisError) as refused:
        network(most + 1, config)

    assert str(refused.value) == f"{most + 1} validators are too many: {most} at most"


def test_a_node_that_is_named_twice_is_refused() -> None:
    twice = founders(2) + founders(1)
    config = own_network(CONFIG, twice, start_time=NOW, c_chain_genesis="{}")

    with raises(PlatformGenesisReason.DUPLICATE_VALIDATOR, kind=GenesisError) as refused:
        build_genesis(config)

    assert str(refused.value) == f"{twice[0].node_id} is named twice"


@pytest.mark.parametrize(
    ("text", "words"),
    [(b"[" * 100_000, "not JSON"), (b"[" + b"[]," * 2_000_000 + b"0]", "more than 4000000 values")],
    ids=["deep", "many"],
)
def test_a_genesis_file_that_would_take_much_memory_is_refused(text: bytes, words: str) -> None:
    with raises(PlatformGenesisReason.MALFORMED_FIELD, kind=GenesisError, match=words):
        read_genesis_config(text)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.network_id} {config.unit}")
def test_a_network_that_was_written_is_read_as_the_same(config: PlatformConfig) -> None:
    made = network(3, config)

    text = format_genesis_config(made)

    assert read_genesis_config(text.encode()) == made
    assert json.loads(text)["networkID"] == config.network_id


def test_validators_without_a_key_are_written_too() -> None:
    made = network(2)
    bare = made.__class__(
        **{
            name: getattr(made, name)
            for name in made.__slots__
            if name not in {"stakers", "stake_duration_offset"}
        },
        stakers=tuple(
            type(staker)(staker.node_id, staker.reward_address, staker.delegation_fee)
            for staker in made.stakers
        ),
        stake_duration_offset=60,
    )

    assert read_genesis_config(format_genesis_config(bare).encode()) == bare


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"validators": "chains"}, "genesis has a CreateChainTx among its validators"),
        ({"chains": "validators"}, "genesis has a AddPermissionlessValidatorTx among its chains"),
    ],
)
def test_transactions_in_the_wrong_place_are_refused(changes: dict[str, str], words: str) -> None:
    body = GENESIS_CODEC.unmarshal(GenesisBody, build_genesis(network(1)))
    fields = {name: getattr(body, name) for name in body.__slots__}
    moved = GenesisBody(**(fields | {name: fields[source] for name, source in changes.items()}))

    with raises(PlatformGenesisReason.UNEXPECTED_TX, kind=GenesisError) as refused:
        parse_genesis(GENESIS_CODEC.marshal(moved))

    assert str(refused.value) == words


@given(place=st.integers(0), bit=st.integers(0, 7))
def test_mutated_genesis_is_parsed_or_refused(place: int, bit: int) -> None:
    raw = bytearray(RAW)
    raw[place % len(raw)] ^= 1 << bit

    try:
        genesis = parse_genesis(bytes(raw))
    except (CodecError, GenesisError):
        return
    assert genesis.raw == raw
    assert genesis.network_id >= 0


RAW = build_genesis(network(2))


def test_further_addresses_get_coins_on_the_x_chain_which_ewoq_has_less() -> None:
    holder, rich = ShortID(b"\x21" * 20), address_of(EWOQ_KEY)
    founding = founders(1)
    plain = own_network(CONFIG, founding, start_time=NOW, c_chain_genesis="{}")
    funded = own_network(
        CONFIG, founding, start_time=NOW, c_chain_genesis="{}", x_holders={holder: 7, rich: 9}
    )
    amounts = [
        {part.address: part.x_chain_amount for part in config.allocations if part.x_chain_amount}
        for config in (plain, funded)
    ]
    assert amounts[1][holder] == 7 * CONFIG.unit
    assert amounts[1][rich] == amounts[0][rich] - 7 * CONFIG.unit
    assert plain.initial_supply == funded.initial_supply
    parse_genesis(build_genesis(funded))
