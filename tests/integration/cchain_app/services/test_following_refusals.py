"""Blocks that are rejected: as a whole, with a specific error, and without a trace."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import (
    BlockReason,
    BlockRefused,
    TransactionRefused,
)
from cchain_app.evm.select import select_engine, select_trie
from cchain_app.selectors import blocks
from cchain_app.txs import transaction as tx_errors
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import SET_CODE
from chaindb.events import Message
from chainvm.errors import InvalidBlock, UnknownParent
from primitives.evm import Address, Hash
from primitives.ids import ID
from tests.builders import bytecode
from tests.builders.cchain import JUNK_KEYS, authorization
from tests.builders.node_settings import updated
from tests.builders.reasons import raises, reason_of
from tests.builders.transactions import KEY, SENDER, legacy, signed, unsigned
from tests.integration.cchain_app.followed import dump, follow, forged, genesis_without, rewind
from tests.integration.conftest import Chain
from tests.unit.cchain_app.txs.test_codec import resign

OTHER = Hash(b"\x99" * 32)
LOGGER = bytecode.created(SENDER, 0)
Candidates = list[CandidateBlock]


@pytest.fixture
def candidates(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> Iterator[Candidates]:
    """Three blocks of another node; after the test they must still be accepted."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.LOGGER), gas=500_000, value=0)
    chain.send(chain.make(), chain.make(to=LOGGER, data=b"\x2a", gas=100_000))
    chain.mine()
    chain.mine()
    made = dump()
    candidates = rewind(monkeypatch)
    follow(candidates[0])
    yield candidates
    follow(*candidates[1:])
    assert dump() == made


@pytest.fixture
def refused(
    candidates: Candidates, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., InvalidBlock]:
    """Return a function that offers invalid blocks, and asserts that nothing has changed."""
    chain.send(signed(nonce=7), legacy(key=JUNK_KEYS[1]))

    def offer(reason: BlockReason | type, *offered: CandidateBlock, **given: Any) -> InvalidBlock:
        told: list[Message] = []
        monkeypatch.setattr(
            evm_chain().events, "send", lambda _chain, message: told.append(message)
        )
        before, state = dump(), evm_chain().memory.state.number
        with pytest.raises(InvalidBlock) as caught:
            follow(*offered, **given)
        assert reason_of(caught.value) is reason
        assert dump() == before
        assert (evm_chain().memory.state.number, blocks.head(evm_chain()).number, told) == (
            state,
            1,
            [],
        )
        assert models.PoolTransaction.objects.count() == 2
        return caught.value

    return offer


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"parent_hash": OTHER}, UnknownParent, "unknown parent 0x9999"),
        ({"number": 3}, BlockReason.WRONG_NUMBER, "invalid number: have 3, want 2"),
        ({"timestamp": 5}, BlockReason.BLOCK_BEFORE_PARENT, "timestamp 5 older than parent's "),
        ({"timestamp": 2**33 + 11}, BlockReason.BLOCK_IN_FUTURE,
         "block in the future: timestamp 8589934603, at most 8589934602 now"),
        ({"gas_limit": 29_999_999}, BlockReason.WRONG_GAS_LIMIT,
         "invalid gasLimit: have 29999999, want 30000000"),
        ({"base_fee": 10**9 + 1}, BlockReason.WRONG_BASE_FEE,
         "invalid baseFeePerGas: have 1000000001, want 1000000000"),
        ({"coinbase": Address(bytes(20))}, BlockReason.WRONG_COINBASE, "invalid miner: have 0x00"),
        ({"difficulty": 1}, BlockReason.WRONG_DIFFICULTY, "invalid difficulty: have 1, want 0"),
        ({"mix_hash": OTHER}, BlockReason.WRONG_MIX_HASH, "invalid mixHash: have 0x9999"),
        ({"nonce": b"\1" * 8}, BlockReason.WRONG_NONCE, "invalid nonce: have 0x0101010101010101, want "),
        ({"extra_data": bytes(33)}, BlockReason.EXTRA_DATA_TOO_LONG, "extra-data too long: 33 > 31"),
        ({"ommers_hash": OTHER}, BlockReason.WRONG_UNCLES_HASH, "invalid sha3Uncles: have 0x9999"),
        ({"withdrawals_root": OTHER}, BlockReason.WRONG_WITHDRAWALS_ROOT,
         "invalid withdrawalsRoot: have 0x9999"),
        ({"excess_blob_gas": 1}, BlockReason.WRONG_EXCESS_BLOB_GAS,
         "invalid excessBlobGas: have 1, want 0"),
        ({"parent_beacon_block_root": OTHER}, BlockReason.WRONG_BEACON_ROOT,
         "invalid parentBeaconBlockRoot: have 0x9999"),
        ({"transactions_root": OTHER}, BlockReason.WRONG_TRANSACTIONS_ROOT,
         "invalid transactionsRoot: have 0x9999"),
        ({"gas_used": 42_001}, BlockReason.WRONG_GAS_USED, "invalid gasUsed: have 42001, want "),
        ({"gas_used": 2**64 - 1}, BlockReason.WRONG_GAS_USED, "invalid gasUsed: have 18446744073709551615"),
        ({"blob_gas_used": 1}, BlockReason.WRONG_BLOB_GAS_USED, "invalid blobGasUsed: have 1, want 0"),
        ({"state_root": OTHER}, BlockReason.WRONG_STATE_ROOT, "invalid stateRoot: have 0x9999"),
        ({"receipts_root": OTHER}, BlockReason.WRONG_RECEIPTS_ROOT, "invalid receiptsRoot: have 0x9999"),
        ({"logs_bloom": bytes(256)}, BlockReason.WRONG_BLOOM, "invalid logsBloom: have 0x0000"),
        ({"requests_hash": OTHER}, BlockReason.WRONG_REQUESTS_HASH,
         "invalid requestsHash: have 0x9999"),
        ({"requests_hash": None}, BlockReason.WRONG_REQUESTS_HASH,
         "invalid requestsHash: have none, want 0x"),
        ({"requests_hash": None, "parent_beacon_block_root": None}, BlockReason.WRONG_BEACON_ROOT,
         "invalid parentBeaconBlockRoot: have none, want 0x"),
    ],
)  # fmt: skip
def test_header_with_a_changed_field_is_refused(
    refused: Callable[..., InvalidBlock],
    candidates: Candidates,
    changes: dict[str, Any],
    reason: BlockReason | type,
    words: str,
) -> None:
    other = forged(candidates[1], **changes)

    caught = refused(reason, other)

    assert str(caught).startswith(words)
    assert (caught.height, caught.block_id) == (other.header.number, ID(other.hash))


def test_invalid_block_rolls_back_the_valid_ones_of_its_call(
    refused: Callable[..., InvalidBlock], candidates: Candidates
) -> None:
    bad = forged(candidates[2], state_root=OTHER)

    caught = refused(BlockReason.WRONG_STATE_ROOT, candidates[1], bad)

    assert (caught.height, caught.block_id) == (3, ID(bad.hash))


def test_blocks_of_a_call_follow_each_other(
    refused: Callable[..., InvalidBlock], candidates: Candidates
) -> None:
    assert refused(UnknownParent, candidates[2]).height == 3
    assert refused(UnknownParent, candidates[1], candidates[1]).height == 2


def test_block_up_to_ten_seconds_ahead_is_accepted(
    refused: Callable[..., InvalidBlock], candidates: Candidates
) -> None:
    time = candidates[1].header.timestamp

    refused(BlockReason.BLOCK_IN_FUTURE, candidates[1], now=time - 11)
    follow(candidates[1], now=time - 10)

    candidates.pop(1)


BLOB = b"\x03" + legacy().raw
LATE = signed(nonce=2).raw
"""A transaction behind a nonce gap: the next nonce is 1 after the first block."""


@pytest.mark.parametrize(
    ("envelope", "cause", "words"),
    [
        (b"\x05\x80" + bytes(10), tx_errors.TransactionReason.TYPE_NOT_SUPPORTED, "transaction type not supported"),
        (BLOB, tx_errors.TransactionReason.MALFORMED, "rlp: too few elements for types.BlobTx"),
        (b"\x02\xcb\x8a" + bytes([1]) * 10, tx_errors.TransactionReason.MALFORMED,
         "rlp: too few elements for types.DynamicFeeTx"),
        (resign(signed(nonce=1), _11=b"\xff" * 32), tx_errors.TransactionReason.SIGNATURE_VALUES,
         "invalid sender: invalid transaction v, r, s values"),
        (resign(signed(nonce=1), _10=b"\x05", _11=b"\x01"), tx_errors.TransactionReason.SENDER_NOT_RECOVERABLE,
         "invalid sender: recovery failed"),
        (sign_transaction(unsigned(nonce=1, chain_id=1), KEY), tx_errors.TransactionReason.WRONG_CHAIN_ID,
         "invalid sender: invalid chain id for signer: have 1 want 43112"),
    ],
)  # fmt: skip
def test_an_invalid_transaction_of_this_chain_is_refused(
    refused: Callable[..., InvalidBlock],
    candidates: Candidates,
    envelope: bytes,
    cause: tx_errors.TransactionReason,
    words: str,
) -> None:
    envelopes = (signed(nonce=1).raw, envelope)
    root = evm_chain().trie.ordered_root(envelopes)

    caught = refused(TransactionRefused, forged(candidates[1], *envelopes, transactions_root=root))

    assert str(caught) == f"transaction 1: {words}"
    assert caught.__cause__.reason is cause


@pytest.fixture(params=["native", "reference"])
def each_engine(
    candidates: Candidates, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the test with each of the engines."""
    chosen = select_engine(request.param), select_trie(request.param, cache_bytes=1 << 20)
    monkeypatch.setattr(evm_chain(), "engine", chosen[0])
    monkeypatch.setattr(evm_chain(), "trie", chosen[1])


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nonce": 2}, "nonce too high"),
        ({"nonce": 0}, "nonce too low"),
        ({"nonce": 1, "value": 10**30}, "insufficient funds"),
        ({"nonce": 1, "gas": 20_999}, "intrinsic gas too low"),
        ({"nonce": 1, "gas": 30_000_001}, "gas limit reached"),
        ({"nonce": 1, "max_fee_per_gas": 10**8, "max_priority_fee_per_gas": 1},
         "max fee per gas less than block base fee"),
        ({"nonce": 1, "max_fee_per_gas": 10**10, "max_priority_fee_per_gas": 10**11},
         "max priority fee per gas higher than max fee per gas"),
    ],
)  # fmt: skip
def test_block_with_unexecutable_transaction_is_refused(
    refused: Callable[..., InvalidBlock],
    candidates: Candidates,
    changes: dict[str, Any],
    words: str,
) -> None:
    envelopes = (signed(**changes).raw,)
    root = evm_chain().trie.ordered_root(envelopes)

    caught = refused(
        BlockReason.EXECUTION_REFUSED, forged(candidates[1], *envelopes, transactions_root=root)
    )

    assert words in str(caught)
    assert str(caught).startswith("could not apply tx 0 [0x")


def test_more_gas_than_a_block_has_is_refused(
    refused: Callable[..., InvalidBlock], candidates: Candidates
) -> None:
    glutton = signed(nonce=1, to=None, data=bytecode.LOOP, gas=29_990_000, value=0)
    envelopes = (glutton.raw, signed(nonce=2).raw)
    root = evm_chain().trie.ordered_root(envelopes)

    caught = refused(
        BlockReason.EXECUTION_REFUSED, forged(candidates[1], *envelopes, transactions_root=root)
    )

    assert str(caught).startswith("could not apply tx 1 [0x")
    assert "gas limit reached" in str(caught)


@pytest.fixture
def before_prague(tmp_path: Path, settings: Any, node_settings: Any) -> None:
    """A genesis file with Cancun's rules."""
    path = tmp_path / "genesis.json"
    path.write_text(genesis_without("pragueTime"))
    settings.NODE = updated(settings.NODE, genesis=str(path))


def test_a_type_of_a_later_fork_is_refused(
    before_prague: None, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.do()
    envelope = signed(
        nonce=0, type=SET_CODE, gas=100_000, authorizations=(authorization(1, SENDER, 0),)
    ).raw
    (block,) = rewind(monkeypatch)
    root = evm_chain().trie.ordered_root([envelope])

    with raises(BlockReason.EXECUTION_REFUSED, kind=BlockRefused, match="could not apply tx 0"):
        follow(forged(block, envelope, transactions_root=root))
