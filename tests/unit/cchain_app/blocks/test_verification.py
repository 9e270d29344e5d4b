"""Verification of candidate blocks: each field of the header has its own error."""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app.blocks.accepted import AcceptedBlock, encode_block, make_block
from cchain_app.blocks.candidate import CandidateBlock, parse_block
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.blocks.header import Header
from cchain_app.blocks.verification import (
    verify_body,
    verify_environment,
    verify_extra_data,
    verify_outcome,
    verify_place,
)
from cchain_app.evm.engine import BlockEnv
from chainvm.errors import InvalidBlock, UnknownParent
from primitives.evm import ZERO_HASH, Address, Hash
from primitives.hashing import EMPTY_ROOT
from tests.builders.accepted import accepted, header
from tests.builders.cchain import block_env
from tests.builders.reasons import raises, reason_of

PARENT = accepted(4)
GOOD = header(5, parent_hash=PARENT.hash)
NOW = GOOD.timestamp
OTHER = Hash(b"\x99" * 32)
ENV = block_env(
    coinbase=GOOD.coinbase,
    base_fee=GOOD.base_fee,
    prev_randao=ZERO_HASH,
    parent_beacon_block_root=ZERO_HASH,
)
_SINCE_LONDON = {
    "withdrawals_root": None, "blob_gas_used": None, "excess_blob_gas": None,
    "parent_beacon_block_root": None, "requests_hash": None,
}  # fmt: skip


def made(of: Header) -> AcceptedBlock:
    return make_block(of, (), ())


def candidate(**changes: Any) -> CandidateBlock:
    return parse_block(encode_block(replace(GOOD, **changes), ()))


def test_a_block_that_follows_its_parent_is_in_its_place() -> None:
    verify_place(GOOD, PARENT, now=NOW)
    verify_place(replace(GOOD, timestamp=PARENT.header.timestamp), PARENT, now=NOW)
    verify_place(GOOD, PARENT, now=NOW - 10)


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"parent_hash": OTHER}, UnknownParent,
         f"unknown parent 0x{OTHER.hex()}: the head is 0x{PARENT.hash.hex()}"),
        ({"number": 6}, BlockReason.WRONG_NUMBER, "invalid number: have 6, want 5"),
        ({"number": 4}, BlockReason.WRONG_NUMBER, "invalid number: have 4, want 5"),
        ({"timestamp": 1_700_000_003}, BlockReason.BLOCK_BEFORE_PARENT,
         "timestamp 1700000003 older than parent's 1700000004"),
        ({"timestamp": NOW + 11}, BlockReason.BLOCK_IN_FUTURE,
         f"block in the future: timestamp {NOW + 11}, at most {NOW + 10} now"),
    ],
)  # fmt: skip
def test_block_with_wrong_position_is_refused(
    changes: dict[str, Any], reason: BlockReason | type, words: str
) -> None:
    with pytest.raises(InvalidBlock) as caught:
        verify_place(replace(GOOD, **changes), PARENT, now=NOW)
    assert reason_of(caught.value) is reason
    assert str(caught.value) == words


def test_a_block_of_the_right_surroundings_is_let_pass() -> None:
    verify_environment(GOOD, ENV)
    verify_environment(replace(GOOD, extra_data=bytes(32)), ENV)


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"gas_limit": 30_000_001}, BlockReason.WRONG_GAS_LIMIT,
         "invalid gasLimit: have 30000001, want 30000000"),
        ({"base_fee": 7}, BlockReason.WRONG_BASE_FEE, "invalid baseFeePerGas: have 7, want 1000000000"),
        ({"coinbase": Address(b"\x01" * 20)}, BlockReason.WRONG_COINBASE,
         f"invalid miner: have 0x{'01' * 20}, want 0x01{'00' * 19}"),
        ({"difficulty": 1}, BlockReason.WRONG_DIFFICULTY, "invalid difficulty: have 1, want 0"),
        ({"mix_hash": OTHER}, BlockReason.WRONG_MIX_HASH,
         f"invalid mixHash: have 0x{OTHER.hex()}, want 0x{'00' * 32}"),
        ({"nonce": b"\0\0\0\0\0\0\0\1"}, BlockReason.WRONG_NONCE,
         "invalid nonce: have 0x0000000000000001, want 0x0000000000000000"),
        ({"ommers_hash": OTHER}, BlockReason.WRONG_UNCLES_HASH,
         f"invalid sha3Uncles: have 0x{OTHER.hex()}, want "
         "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"),
        ({"withdrawals_root": OTHER}, BlockReason.WRONG_WITHDRAWALS_ROOT,
         f"invalid withdrawalsRoot: have 0x{OTHER.hex()}, want 0x{EMPTY_ROOT.hex()}"),
        ({"excess_blob_gas": 131_072}, BlockReason.WRONG_EXCESS_BLOB_GAS,
         "invalid excessBlobGas: have 131072, want 0"),
        ({"parent_beacon_block_root": OTHER}, BlockReason.WRONG_BEACON_ROOT,
         f"invalid parentBeaconBlockRoot: have 0x{OTHER.hex()}, want 0x{'00' * 32}"),
    ],
)  # fmt: skip
def test_a_field_that_is_known_before_execution_is_refused(
    changes: dict[str, Any], reason: BlockReason | type, words: str
) -> None:
    with pytest.raises(InvalidBlock) as caught:
        verify_environment(replace(GOOD, **changes), ENV)
    assert reason_of(caught.value) is reason
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("fork", "missing", "reason", "words"),
    [
        ("berlin", {}, BlockReason.WRONG_BASE_FEE, "have 1000000000, want none"),
        ("paris", {}, BlockReason.WRONG_WITHDRAWALS_ROOT, f"have 0x{EMPTY_ROOT.hex()}, want none"),
        ("shanghai", {}, BlockReason.WRONG_EXCESS_BLOB_GAS, "have 0, want none"),
        ("prague", _SINCE_LONDON, BlockReason.WRONG_WITHDRAWALS_ROOT,
         f"have none, want 0x{EMPTY_ROOT.hex()}"),
        ("prague", {**_SINCE_LONDON, "base_fee": None}, BlockReason.WRONG_BASE_FEE,
         "have none, want 1000000000"),
    ],
)  # fmt: skip
def test_a_header_has_the_fields_of_its_fork(
    fork: str, missing: dict[str, Any], reason: BlockReason, words: str
) -> None:
    env = block_env(
        fork,
        coinbase=GOOD.coinbase,
        prev_randao=ZERO_HASH,
        difficulty=0,
        **({"parent_beacon_block_root": ZERO_HASH} if fork == "prague" else {}),
    )
    with raises(reason, kind=BlockRefused, match=f": {words}$"):
        verify_environment(replace(GOOD, **missing), _with_fee(env, fork))


def _with_fee(env: BlockEnv, fork: str) -> BlockEnv:
    return env if fork == "berlin" else replace(env, base_fee=GOOD.base_fee)


def test_extra_data_has_at_most_32_bytes() -> None:
    verify_extra_data(replace(GOOD, extra_data=bytes(32)))
    with raises(
        BlockReason.EXTRA_DATA_TOO_LONG, kind=BlockRefused, match=r"^extra-data too long: 33 > 32$"
    ):
        verify_extra_data(replace(GOOD, extra_data=bytes(33)))


def test_a_header_belongs_to_its_transactions() -> None:
    verify_body(GOOD, EMPTY_ROOT)
    with raises(BlockReason.WRONG_TRANSACTIONS_ROOT, kind=BlockRefused) as caught:
        verify_body(GOOD, OTHER)
    assert str(caught.value) == (
        f"invalid transactionsRoot: have 0x{EMPTY_ROOT.hex()}, want 0x{OTHER.hex()}"
    )


def test_a_rebuilt_block_is_identical() -> None:
    verify_outcome(candidate(), made(GOOD))


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"gas_used": 21_000}, BlockReason.WRONG_GAS_USED, "invalid gasUsed: have 21000, want 0"),
        ({"blob_gas_used": 131_072}, BlockReason.WRONG_BLOB_GAS_USED,
         "invalid blobGasUsed: have 131072, want 0"),
        ({"state_root": OTHER}, BlockReason.WRONG_STATE_ROOT,
         f"invalid stateRoot: have 0x{OTHER.hex()}, want 0x{'77' * 32}"),
        ({"receipts_root": OTHER}, BlockReason.WRONG_RECEIPTS_ROOT,
         f"invalid receiptsRoot: have 0x{OTHER.hex()}, want 0x{EMPTY_ROOT.hex()}"),
        ({"logs_bloom": b"\xff" * 256}, BlockReason.WRONG_BLOOM,
         f"invalid logsBloom: have 0x{'ff' * 32}…, want 0x{'00' * 32}…"),
        ({"requests_hash": None}, BlockReason.WRONG_REQUESTS_HASH,
         "invalid requestsHash: have none, want "
         "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        # This field is usually compared earlier; the hash is the last check.
        ({"extra_data": b"\1"}, BlockReason.WRONG_HASH, "invalid hash: have 0x"),
    ],
)  # fmt: skip
def test_a_field_that_follows_from_execution_is_refused(
    changes: dict[str, Any], reason: BlockReason | type, words: str
) -> None:
    with pytest.raises(InvalidBlock) as caught:
        verify_outcome(candidate(**changes), made(GOOD))
    assert reason_of(caught.value) is reason
    assert str(caught.value).startswith(words)


def test_refusal_has_expected_and_actual_values() -> None:
    with raises(BlockReason.WRONG_GAS_USED, kind=BlockRefused) as caught:
        verify_outcome(candidate(gas_used=9), made(GOOD))
    assert caught.value.values == {"have": "9", "want": "0"}
