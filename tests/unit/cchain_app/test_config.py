"""Genesis files: fork schedules, blob schedules, the built-in files, and errors."""

import copy
import json
from typing import Any

import pytest

from cchain_app.config import FORKS, BlobParameters, at_least, parse_config
from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.first_block import first_block
from cchain_app.genesis import BUILT_IN, built_in_text, complete_text, load_genesis
from cchain_app.genesis_fields import (
    GenesisFileError,
)
from cchain_app.rules.ethereum import ETHEREUM_FORMAT
from cchain_app.txs.signing import UnsignedTransaction, signing_digest
from cchain_app.txs.transaction import LEGACY
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.secp256k1 import recover
from tests.builders.bytecode import created
from tests.builders.cchain import SENDERS
from tests.builders.tries import MemoryNodes, state_from_scratch

BLOCK_KEYS = (
    "homesteadBlock", "eip150Block", "eip155Block", "eip158Block", "byzantiumBlock",
    "constantinopleBlock", "petersburgBlock", "istanbulBlock", "berlinBlock", "londonBlock",
)  # fmt: skip


def config(**changes: Any) -> dict[str, Any]:
    """Return a `config` object with every block fork at 0, merged from genesis on."""
    document: dict[str, Any] = {"chainId": 7, "terminalTotalDifficulty": 0}
    return {**document, **dict.fromkeys(BLOCK_KEYS, 0), **changes}


def genesis(**changes: Any) -> str:
    document = {"config": config(), "gasLimit": "0x1c9c380", "alloc": {}}
    return json.dumps({**document, **changes})


def test_fork_activates_at_its_block_or_time() -> None:
    blocks = dict(zip(BLOCK_KEYS, (10, 20, 30, 30, 40, 50, 50, 60, 70, 80), strict=True))
    times = {"shanghaiTime": 1000, "cancunTime": 2000, "pragueTime": 3000, "osakaTime": 4000,
             "bpo1Time": 5000, "bpo2Time": 6000}  # fmt: skip
    chain = parse_config({"chainId": 1, "mergeNetsplitBlock": 90, **blocks, **times})
    begins = [
        (0, 0, "frontier"), (9, 0, "frontier"), (10, 0, "homestead"), (20, 0, "tangerine_whistle"),
        (30, 0, "spurious_dragon"), (40, 0, "byzantium"), (50, 0, "constantinople"),
        (60, 0, "istanbul"), (70, 0, "berlin"), (80, 0, "london"), (89, 999, "london"),
        (90, 0, "paris"), (90, 999, "paris"), (90, 1000, "shanghai"), (90, 2000, "cancun"),
        (90, 3000, "prague"), (90, 4000, "osaka"), (90, 5000, "bpo1"), (90, 6000, "bpo2"),
    ]  # fmt: skip
    assert [chain.fork_at(number, time) for number, time, _ in begins] == [
        fork for _, _, fork in begins
    ]


def test_a_terminal_difficulty_of_zero_is_merged_from_the_start() -> None:
    assert parse_config(config()).fork_at(0, 0) == "paris"


def test_without_terminal_difficulty_london_remains_active() -> None:
    assert parse_config(config(terminalTotalDifficulty=None)).fork_at(5, 0) == "london"


def test_block_without_difficulty_is_merged_after_the_terminal_difficulty() -> None:
    chain = parse_config(config(terminalTotalDifficulty="58750000000000000000000"))
    assert chain.fork_at(5, 0, difficulty=131_072) == "london"
    assert chain.fork_at(6, 0, difficulty=0) == "paris"


def test_numbers_can_be_hexadecimal_or_decimal_text() -> None:
    chain = parse_config(config(chainId="0xa868", shanghaiTime="12", cancunTime="0x10"))
    assert chain.chain_id == 43_112
    assert [chain.fork_at(0, time) for time in (11, 12, 16)] == ["paris", "shanghai", "cancun"]


def test_rules_can_change_while_a_fork_is_scheduled() -> None:
    chain = parse_config(config(shanghaiTime=12, cancunTime=16))
    assert [chain.may_change_after(0, time) for time in (11, 15, 16)] == [True, True, False]
    assert not parse_config(config()).may_change_after(0, 0)


def test_keys_of_other_chains_are_ignored() -> None:
    chain = parse_config(
        config(apricotPhase1BlockTimestamp=0, etnaTimestamp=253399622400, ethash={}, feeConfig={})
    )
    assert chain.fork_at(0, 0) == "paris"


def test_petersburg_can_activate_after_constantinople() -> None:
    blocks = dict(zip(BLOCK_KEYS, (0, 0, 0, 0, 0, 4, 9, 9, 9, 9), strict=True))
    chain = parse_config(config(**blocks))
    assert [chain.fork_at(number, 0) for number in (3, 4, 8)] == [
        "byzantium", "constantinople", "constantinople",
    ]  # fmt: skip
    assert (chain.schedule.petersburg_block, chain.schedule.has_eip_1283) == (9, True)
    assert not parse_config(config(**{**blocks, "petersburgBlock": 4})).schedule.has_eip_1283
    assert not parse_config(config(**{**blocks, "petersburgBlock": None})).schedule.has_eip_1283


def test_deposits_are_read_from_the_contract_that_the_file_names() -> None:
    assert (
        parse_config(config()).deposit_contract.hex() == "00000000219ab540356cbb839cbe05303d7705fa"
    )
    named = parse_config(config(depositContractAddress="0x" + "42" * 20))
    assert named.deposit_contract == b"\x42" * 20


def test_blob_parameters_follow_the_schedule() -> None:
    blobs = {
        "cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477},
        "prague": {"target": "0x6", "max": 9, "baseFeeUpdateFraction": 1},
    }
    chain = parse_config(
        config(shanghaiTime=0, cancunTime=10, pragueTime=20, osakaTime=30, blobSchedule=blobs)
    )
    assert chain.blob_params_at(0, 9) is None
    assert chain.blob_params_at(0, 10) == BlobParameters(3, 6, 3338477)
    assert chain.blob_params_at(0, 20) == BlobParameters(6, 9, 1)
    assert chain.blob_params_at(0, 30) == BlobParameters(6, 9, 5007716)


def test_settings_are_part_of_the_configuration() -> None:
    chain = parse_config(config(), min_base_fee=25, coinbase=SENDERS[0])
    assert (chain.min_base_fee, chain.coinbase) == (25, SENDERS[0])
    assert parse_config(config()).coinbase.hex() == "01" + "00" * 19


def test_a_files_own_floor_of_the_base_fee_wins() -> None:
    assert parse_config(config(minBaseFee=0), min_base_fee=25).min_base_fee == 0
    assert parse_config(config(minBaseFee="0x7"), min_base_fee=25).min_base_fee == 7


def test_a_completed_file_names_time_chain_id_and_floor_and_keeps_the_rest() -> None:
    text = genesis(nonce="0x5", config=config(shanghaiTime=3))
    rules = parse_config(config(chainId=9), min_base_fee=4)
    completed = load_genesis(complete_text(text, timestamp=1_000, config=rules), min_base_fee=25)
    assert (completed.timestamp, completed.config.chain_id, completed.config.min_base_fee) == (
        1_000, 9, 4,
    )  # fmt: skip
    assert completed.config.schedule == load_genesis(text).config.schedule
    assert (completed.nonce, completed.alloc) == ((5).to_bytes(8), {})


def test_forks_are_ordered_by_name() -> None:
    assert at_least("prague", "london")
    assert at_least("london", "london")
    assert not at_least("berlin", "london")
    assert list(FORKS).index("bpo2") == len(FORKS) - 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chainId": None}, r"^config\.chainId: missing$"),
        ({"chainId": "seven"},
         r"^config\.chainId: not a whole number: 'seven'$"),
        ({"chainId": True}, r"^config\.chainId: not a whole number: True$"),
        ({"chainId": -1}, r"^config\.chainId: not a whole number: -1$"),
        ({"chainId": 1.5}, r"^config\.chainId: not a whole number: 1\.5$"),
        ({"minBaseFee": 2**64}, r"^config\.minBaseFee: wider than 64 bits$"),
        ({"chainId": 2**63}, r"^config\.chainId: wider than 63 bits$"),
        ({"byzantiumBlock": None},
         r"^unsupported fork ordering: byzantiumBlock not enabled, but constantinopleBlock "
         r"enabled at block 0$"),
        ({"berlinBlock": 5},
         r"^unsupported fork ordering: berlinBlock enabled at block 5, but londonBlock enabled "
         r"at block 0$"),
        ({"cancunTime": 5},
         r"^unsupported fork ordering: shanghaiTime not enabled, but cancunTime enabled at "
         r"timestamp 5$"),
        ({"shanghaiTime": 6, "cancunTime": 5},
         r"^unsupported fork ordering: shanghaiTime enabled at timestamp 6, but cancunTime "
         r"enabled at timestamp 5$"),
        ({"londonBlock": None, "shanghaiTime": 5},
         r"^unsupported fork ordering: londonBlock not enabled, but shanghaiTime enabled at "
         r"timestamp 5$"),
        ({"petersburgBlock": 5},
         r"^unsupported fork ordering: petersburgBlock enabled at block 5, but istanbulBlock enabled "
         r"at block 0$"),
        ({"constantinopleBlock": 5, "istanbulBlock": 5, "berlinBlock": 5, "londonBlock": 5},
         r"^unsupported fork ordering: constantinopleBlock enabled at block 5, but petersburgBlock "
         r"enabled at block 0$"),
        ({"depositContractAddress": "0x12"},
         r"^config\.depositContractAddress: not an address: '0x12'$"),
        ({"amsterdamTime": 5},
         r"^config\.amsterdamTime: this fork is not supported$"),
        ({"blobSchedule": 5}, r"^config\.blobSchedule: not an object$"),
        ({"blobSchedule": {"cancun": {"target": 1}}},
         r"^config\.blobSchedule\.cancun\.max: missing$"),
        ({"blobSchedule": {"cancun": {"target": 7, "max": 6, "baseFeeUpdateFraction": 1}}},
         r"^config\.blobSchedule\.cancun\.target: above max$"),
        ({"blobSchedule": {"cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 0}}},
         r"baseFeeUpdateFraction: must be defined and non-zero$"),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GenesisFileError, match=message):
        parse_config(config(**changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"^not a JSON document: "),
        ("[" * 100_000, r"^nested deeper than 64$"),
        ("[" + "[]," * 2_000_000 + "0]", r"^more than 4000000 values$"),
        ("[]", r"^not a JSON object$"),
        (genesis(config=None), r"^config: missing$"),
        (genesis(gasLimit=None), r"^gasLimit: missing$"),
        (genesis(alloc=None), r"^alloc: missing$"),
        (genesis(alloc={"0x12": {}}),
         r"^alloc\.0x12: not an address: '0x12'$"),
        (genesis(alloc={"0x" + "zz" * 20: {}}), r": not an address: '0xzz"),
        (genesis(alloc={"0x" + "11" * 20: {}, "11" * 20: {}}),
         r": allocated twice$"),
        (genesis(alloc={"11" * 20: {"balance": "1e18"}}),
         r"balance: not a whole number: '1e18'$"),
        (genesis(alloc={"11" * 20: {"balance": hex(2**256)}}),
         r"balance: wider than 256 bits$"),
        (genesis(alloc={"11" * 20: {"code": "0x1"}}),
         r"code: not hexadecimal: '0x1'$"),
        (genesis(alloc={"11" * 20: {"storage": {"0x" + "1" * 65: "0x1"}}}),
         r"storage: not a 32-byte word: "),
        (genesis(extraData="0x" + "00" * 33),
         r"^extraData: 33 bytes, want at most 32$"),
        (genesis(mixHash="0x00"), r"^mixHash: 1 bytes, want 32$"),
        (genesis(number="0x5"), r"^number: 5, want 0$"),
        (genesis(config=config(chainId="")),
         r"^config\.chainId: not a whole number: ''$"),
        (genesis(config=config(shanghaiTime="")),
         r"^config\.shanghaiTime: not a whole number: ''$"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(GenesisFileError, match=message):
        load_genesis(text)


def test_header_fields_are_read_and_filled_in_by_fork() -> None:
    before = load_genesis(genesis(config=config(londonBlock=None), baseFeePerGas="0x7"))
    assert (before.base_fee, before.excess_blob_gas) == (None, None)
    paris = load_genesis(genesis(nonce="0x42", extraData="0xabcd", timestamp=5))
    assert (paris.base_fee, paris.nonce.hex()) == (10**9, "0000000000000042")
    assert (paris.extra_data, paris.timestamp, paris.gas_limit) == (b"\xab\xcd", 5, 30_000_000)
    cancun = load_genesis(
        genesis(config=config(shanghaiTime=0, cancunTime=0), excessBlobGas="0x9", baseFeePerGas=7)
    )
    assert (cancun.base_fee, cancun.excess_blob_gas, cancun.blob_gas_used) == (7, 9, 0)
    assert cancun.parent_beacon_block_root == bytes(32)


def test_empty_text_is_zero_in_every_number_outside_of_config() -> None:
    names = (
        "nonce",
        "timestamp",
        "difficulty",
        "number",
        "gasUsed",
        "excessBlobGas",
        "blobGasUsed",
    )
    rules = config(shanghaiTime=0, cancunTime=0)
    account = {"balance": "", "nonce": ""}
    text = genesis(config=rules, alloc={"11" * 20: account}, **dict.fromkeys(names, ""))
    assert load_genesis(text) == load_genesis(genesis(config=rules, alloc={"11" * 20: {}}))
    assert load_genesis(genesis(baseFeePerGas="")).base_fee == 0
    assert load_genesis(genesis(gasLimit="")).gas_limit == 4_712_388


HEADER_FIELDS = (
    "base_fee", "withdrawals_root", "blob_gas_used", "excess_blob_gas", "parent_beacon_block_root",
    "requests_hash",
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "timestamp", "counts"),
    [
        ({}, 0, [1, 2, 5, 6, 6]),
        ({"timestamp": "0x0"}, 0, [1, 2, 5, 6, 6]),
        ({"timestamp": None}, 0, [1, 2, 5, 6, 6]),
        ({"timestamp": 1500}, 1500, [6, 6, 6, 6, 6]),
    ],
)
def test_block_0_has_the_header_fields_of_the_fork_at_its_own_time(
    given: dict[str, Any], timestamp: int, counts: list[int]
) -> None:
    """As in go-ethereum's Genesis.ToBlock: a missing timestamp is 0, and later forks have no effect."""
    forks = ("shanghaiTime", "cancunTime", "pragueTime", "osakaTime")
    headers = []
    for begun in range(len(forks) + 1):
        times = {key: 0 if place < begun else 1000 + place for place, key in enumerate(forks)}
        made, _ = first_block(
            PythonStateTrie(),
            load_genesis(genesis(config=config(**times), **given)),
            ETHEREUM_FORMAT,
        )
        headers.append(made.header)
    assert {header.timestamp for header in headers} == {timestamp}
    assert counts == [
        sum(getattr(header, name) is not None for name in HEADER_FIELDS) for header in headers
    ]


def test_another_time_brings_the_header_fields_of_its_fork() -> None:
    rules = config(shanghaiTime=1, cancunTime=2, pragueTime=3)
    given = load_genesis(genesis(config=rules, excessBlobGas="0x9"))
    assert (given.excess_blob_gas, given.blob_gas_used) == (None, None)
    later = given.with_timestamp(3)
    assert (later.fork, later.excess_blob_gas, later.blob_gas_used) == ("prague", 0, 0)
    assert (
        first_block(PythonStateTrie(), later, ETHEREUM_FORMAT)[0].header.requests_hash is not None
    )


def test_allocations_become_the_first_state() -> None:
    address = Address(b"\x11" * 20)
    entry = {
        "balance": "5", "nonce": "0x2", "code": "0x6000",
        "storage": {"0x01": "0x02", "03": "0x00"},
    }  # fmt: skip
    changes = load_genesis(genesis(alloc={"11" * 20: entry})).state_changes()
    assert changes.codes == {keccak256(b"\x60\x00"): b"\x60\x00"}
    after = changes.accounts[address].after
    assert after == (2, 5, keccak256(b"\x60\x00"))
    assert [(slot[-1], change.after[-1]) for (_, slot), change in changes.storage.items()] == [
        (1, 2)
    ]


def test_local_genesis_has_the_start_time() -> None:
    local = load_genesis(built_in_text("local"))
    assert (local.timestamp, local.with_timestamp(1_700_000_000).timestamp) == (0, 1_700_000_000)


def test_the_local_network_runs_prague_and_funds_the_well_known_accounts() -> None:
    local = load_genesis(built_in_text("local"))
    assert (local.config.chain_id, local.fork) == (43_112, "prague")
    assert (local.gas_limit, local.difficulty, local.base_fee) == (30_000_000, 0, 10**9)
    assert local.config.blob_params_at(0, 0) == BlobParameters(6, 9, 5007716)
    ewoq = Address(bytes.fromhex("8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"))
    assert local.alloc[ewoq].balance == 50_000_000 * 10**18
    assert all(local.alloc[sender].balance == 10_000 * 10**18 for sender in SENDERS)
    assert len(local.alloc) == 15


DEPLOYMENTS = {
    "000f3df6d732807ef1319fb7b8bb8522d0beac02": ("60618060095f395ff3", 0x1B9B6EB1F0),
    "0000f90827f1c53a10cb7a02335b175320002935": (
        "60538060095f395ff3",
        0xAA12693182426612186309F02CFE8A80A0000,
    ),
    "00000961ef480eb55e80d19ad83579a64c007002": (
        "7f" + "ff" * 32 + "5f556101f880602d5f395ff3",
        0x5FEEB084551E4E03A3581E269BC2EA2F8D0008,
    ),
    "0000bbddc7ce488642fb579f8b00f3a590007251": (
        "7f" + "ff" * 32 + "5f5561019e80602d5f395ff3",
        0xC0730F92DC275B663D377A7CBB141B6600052,
    ),
}
"""Per contract, the constructor and signature value s of its deployment transaction in the EIP."""


@pytest.mark.parametrize("address", DEPLOYMENTS)
def test_the_address_of_a_system_contract_follows_from_its_code(address: str) -> None:
    """The deployments have no known signer, so any change of the code changes the address."""
    account = load_genesis(built_in_text("local")).alloc[Address(bytes.fromhex(address))]
    constructor, s = DEPLOYMENTS[address]
    deployment = UnsignedTransaction(
        type=LEGACY,
        chain_id=None,
        nonce=0,
        gas=250_000,
        to=None,
        value=0,
        max_fee_per_gas=10**12,
        data=bytes.fromhex(constructor) + account.code,
    )
    sender = recover(signing_digest(deployment), 0x539, s, 0)
    assert created(sender, 0).hex() == address
    assert account.nonce == 1


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_root_of_every_built_in_state_is_that_of_the_specification(name: str) -> None:
    changes = load_genesis(built_in_text(name)).state_changes()
    accounts = {address: change.after for address, change in changes.accounts.items()}
    nodes = MemoryNodes()
    update = PythonStateTrie().update(state_from_scratch({}, {})[0], changes, nodes)
    nodes.apply(update)
    assert (update.root, nodes.stored) == state_from_scratch(copy.copy(accounts), {})


@pytest.mark.parametrize(("name", "chain_id"), [("mainnet", 96_369), ("testnet", 96_368)])
def test_public_networks_have_their_chain_ids(name: str, chain_id: int) -> None:
    public = load_genesis(built_in_text(name))
    assert (public.config.chain_id, public.fork) == (chain_id, "cancun")
    assert (public.timestamp, public.gas_limit) == (0x672485C2, 12_000_000)


def test_unknown_built_in_genesis_is_refused() -> None:
    with pytest.raises(GenesisFileError, match=r"^no built-in genesis named devnet$"):
        load_genesis(built_in_text("devnet"))
