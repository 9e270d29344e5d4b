"""An invalid block stops an import: with an error message, and without a trace of the block."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cchain_app.apps import evm_chain
from cchain_app.blocks.accepted import Withdrawal, encode_block, encode_ommers
from cchain_app.blocks.candidate import CandidateBlock, parse_foreign_block
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.foreign.files import ChainFileError, ChainFileReason
from cchain_app.foreign.headers import ForeignBlockReason
from cchain_app.foreign.replay import MAX_RLP_BLOCK_SIZE
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.selectors import blocks
from cchain_app.services.genesis import StoredGenesisReason, WrongChainInDatabase
from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from chainvm.errors import InvalidBlock
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data
from tests.builders.reasons import raises, reason_of
from tests.builders.spec_history import BYZANTIUM, CANCUN, CHAIN_ID, LAST, LONDON, SHANGHAI, history
from tests.builders.transactions import KEY
from tests.integration.cchain_app.followed import dump
from tests.integration.cchain_app.services.imported import bring, directory, exported

__all__ = ["directory"]

OTHER = Hash(b"\x99" * 32)
PARIS = 17

Change = Callable[[CandidateBlock], dict[str, Any]]


def block(number: int) -> CandidateBlock:
    return parse_foreign_block(history().chain.blocks[number].raw)


def forged(place: int, **changes: Any) -> bytes:
    """Return a block of the history with another header, or with another body that matches its header."""
    found = block(place)
    body = {name: changes.pop(name, getattr(found, name)) for name in ("ommers", "withdrawals")}
    transactions = changes.pop("transactions", found.transactions)
    if body["ommers"] != found.ommers:
        changes.setdefault("ommers_hash", keccak256(encode_ommers(body["ommers"])))
    return encode_block(replace(found.header, **changes), transactions, **body)


def refused(number: int, raw: bytes) -> Any:
    """Import the history up to a block, and then a replacement for that block, which must be rejected."""
    raws = [item.raw for item in history().chain.blocks[1:number]]
    with pytest.raises(InvalidBlock) as caught:
        bring(history().genesis, [*raws, raw])
    assert caught.value.height == number
    assert blocks.head(evm_chain()).number == number - 1
    assert exported(evm_chain()) == b"".join(raws)
    return caught.value


@pytest.mark.parametrize(
    ("number", "changes", "reason"),
    [
        (3, {"state_root": OTHER}, BlockReason.WRONG_STATE_ROOT),
        (3, {"receipts_root": OTHER}, BlockReason.WRONG_RECEIPTS_ROOT),
        (3, {"transactions_root": OTHER}, BlockReason.WRONG_TRANSACTIONS_ROOT),
        (BYZANTIUM, {"logs_bloom": bytes(256)}, BlockReason.WRONG_BLOOM),
        (BYZANTIUM, {"gas_used": 21_000}, BlockReason.WRONG_GAS_USED),
        (BYZANTIUM, {"ommers_hash": OTHER}, BlockReason.WRONG_UNCLES_HASH),
        (BYZANTIUM, {"base_fee": 7}, BlockReason.WRONG_BASE_FEE),
        (LONDON, {"base_fee": 7}, BlockReason.WRONG_BASE_FEE),
        (LONDON, {"base_fee": None}, BlockReason.WRONG_BASE_FEE),
        (PARIS, {"nonce": bytes(7) + b"\x01"}, BlockReason.WRONG_NONCE),
        (PARIS, {"ommers": (block(3).header,)}, BlockReason.WRONG_UNCLES_HASH),
        (SHANGHAI, {"withdrawals_root": OTHER}, BlockReason.WRONG_WITHDRAWALS_ROOT),
        (CANCUN, {"blob_gas_used": 0}, BlockReason.WRONG_BLOB_GAS_USED),
        (CANCUN + 1, {"excess_blob_gas": 1}, BlockReason.WRONG_EXCESS_BLOB_GAS),
        (LAST, {"requests_hash": OTHER}, BlockReason.WRONG_REQUESTS_HASH),
        (LAST, {"requests_hash": None}, BlockReason.WRONG_REQUESTS_HASH),
        (LAST, {"extra_data": bytes(33)}, BlockReason.EXTRA_DATA_TOO_LONG),
        (LAST, {"timestamp": 0}, BlockReason.BLOCK_BEFORE_PARENT),
    ],
)  # fmt: skip
def test_header_with_a_changed_field_is_refused(
    directory: Path, number: int, changes: dict[str, Any], reason: BlockReason
) -> None:
    caught = refused(number, forged(number, **changes))

    assert isinstance(caught, BlockRefused)
    assert caught.reason is reason
    assert str(caught).startswith(reason.value.partition("{")[0])


def _up_to(number: int) -> list[bytes]:
    return [item.raw for item in history().chain.blocks[1:number]]


def test_block_that_skips_a_height_is_refused(directory: Path) -> None:
    with raises(BlockReason.WRONG_NUMBER, kind=BlockRefused) as caught:
        bring(history().genesis, [*_up_to(LAST), forged(LAST, number=LAST + 1)])

    assert caught.value.values == {"have": str(LAST + 1), "want": str(LAST)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gas_limit": 10_009_765}, "have 10009765, want 9990236 to 10009764"),
        ({"gas_limit": 9_990_235}, "have 9990235, want 9990236 to 10009764"),
    ],
)
def test_a_gas_limit_moves_in_small_steps(
    directory: Path, changes: dict[str, Any], words: str
) -> None:
    caught = refused(3, forged(3, **changes))

    assert caught.reason is ForeignBlockReason.GAS_LIMIT
    assert words in str(caught)


def test_no_more_gas_is_used_than_the_limit(directory: Path) -> None:
    caught = refused(3, forged(3, gas_used=10_000_001))

    assert caught.reason is ForeignBlockReason.GAS_USED


@pytest.mark.parametrize(
    ("number", "uncles", "reason"),
    [
        (6, lambda: [block(4).header], ForeignBlockReason.UNCLE_INCLUDED),
        (6, lambda: list(block(4).ommers), ForeignBlockReason.UNCLE_INCLUDED),
        (6, lambda: [sibling(4), sibling(4)], ForeignBlockReason.UNCLE_INCLUDED),
        (6, lambda: [sibling(6)], ForeignBlockReason.UNCLE_NOT_RECENT),
        (LONDON, lambda: [sibling(8)], ForeignBlockReason.UNCLE_NOT_RECENT),
        (
            6,
            lambda: [sibling(3), sibling(4), sibling(5)],
            ForeignBlockReason.TOO_MANY_UNCLES,
        ),
    ],
)
def test_uncles_that_a_block_cannot_have_are_refused(
    directory: Path, number: int, uncles: Callable[[], Any], reason: ForeignBlockReason
) -> None:
    assert refused(number, forged(number, ommers=tuple(uncles()))).reason is reason


def test_an_uncle_has_the_number_after_its_parents(directory: Path) -> None:
    caught = refused(6, forged(6, ommers=(replace(sibling(4), number=3),)))

    assert reason_of(caught) is BlockReason.WRONG_NUMBER


def sibling(number: int) -> Any:
    return replace(block(number).header, extra_data=b"beside")


def test_uncle_of_six_blocks_ago_is_accepted(directory: Path) -> None:
    caught = refused(14, forged(14, ommers=(sibling(8),)))

    # The uncle is rewarded, but the block's own root has no uncle.
    assert reason_of(caught) is BlockReason.WRONG_STATE_ROOT


def test_transactions_that_cannot_run_are_refused(directory: Path) -> None:
    found = block(3)
    twice = (*found.transactions, found.transactions[0])
    root = evm_chain().trie.ordered_root(twice)

    caught = refused(3, forged(3, transactions=twice, transactions_root=root))

    assert reason_of(caught) is BlockReason.EXECUTION_REFUSED
    assert "nonce too low" in str(caught)


def test_more_blobs_than_the_schedule_allows_are_refused(directory: Path) -> None:
    found = block(CANCUN)
    (blobs,) = [raw for raw in found.transactions if raw[0] == 3]
    twice = (*found.transactions, blobs)
    root = evm_chain().trie.ordered_root(twice)

    caught = refused(
        CANCUN,
        forged(CANCUN, transactions=twice, transactions_root=root, blob_gas_used=8 * 2**17),
    )

    assert caught.reason is ForeignBlockReason.TOO_MANY_BLOBS
    assert caught.values == {"have": 8, "limit": 6}


def test_replay_protected_transaction_before_spurious_dragon_is_refused(directory: Path) -> None:
    given = UnsignedTransaction(0, CHAIN_ID, 0, 21_000, Address(bytes(20)), 0, 20 * 10**9)
    raws = (sign_transaction(given, KEY),)
    root = evm_chain().trie.ordered_root(raws)

    caught = refused(2, forged(2, transactions=raws, transactions_root=root))

    assert caught.reason is ForeignBlockReason.TRANSACTION_TOO_EARLY


def test_a_block_has_at_most_eight_mebibytes_since_osaka(directory: Path) -> None:
    data = bytes(MAX_RLP_BLOCK_SIZE)
    given = UnsignedTransaction(0, CHAIN_ID, 0, 21_000, Address(bytes(20)), 0, 1, data=data)
    raws = (sign_transaction(given, KEY),)

    caught = refused(LAST, forged(LAST, transactions=raws))

    assert caught.reason is ForeignBlockReason.SIZE
    assert caught.values["have"] > caught.values["limit"] == MAX_RLP_BLOCK_SIZE


def test_withdrawals_that_the_header_does_not_know_are_refused(directory: Path) -> None:
    other = (Withdrawal(1, 2, Address(bytes(20)), 3),)

    caught = refused(LAST, forged(LAST, withdrawals=other))

    assert reason_of(caught) is BlockReason.WRONG_WITHDRAWALS_ROOT


def test_malformed_block_is_refused(directory: Path) -> None:
    caught = refused(5, b"\xc3\x01\x02\x03")

    assert reason_of(caught) is BlockReason.BLOCK_ENCODING


def test_blocks_before_a_truncation_are_imported(directory: Path) -> None:
    whole = b"".join(_up_to(6))

    with raises(ChainFileReason.INCOMPLETE, kind=ChainFileError) as caught:
        bring(history().genesis, whole + forged(6)[:100])

    assert caught.value.values["position"] == len(whole)
    assert exported(evm_chain()) == whole


def test_blocks_that_are_there_are_passed_over(directory: Path) -> None:
    bring(history().genesis, _up_to(12))
    before = dump()

    done = bring(history().genesis, _up_to(9))
    assert (done.blocks, done.skipped, dump()) == (0, 8, before)

    done = bring(history().genesis, history().file)
    assert (done.blocks, done.skipped) == (LAST - 11, 11)
    assert exported(evm_chain()) == history().file


def test_chain_file_can_start_with_the_genesis(directory: Path) -> None:
    first = encode_block(blocks_header(), ())

    done = bring(history().genesis, [first, *_up_to(4)])

    assert (done.blocks, done.skipped) == (3, 1)


def blocks_header() -> Any:
    bring(history().genesis, [])
    return blocks.head(evm_chain()).header


def test_another_block_at_a_height_that_is_there_stops_the_import(directory: Path) -> None:
    bring(history().genesis, history().file)

    with raises(ChainFileReason.BLOCK_DIFFERS, kind=ChainFileError) as caught:
        bring(history().genesis, [*_up_to(7), forged(7, extra_data=b"other")])

    assert caught.value.values["number"] == 7
    assert caught.value.values["want"] == encode_data(history().chain.blocks[7].hash)
    assert exported(evm_chain()) == history().file


def test_another_genesis_than_the_chains_is_refused(directory: Path) -> None:
    bring(history().genesis, _up_to(3))

    with raises(StoredGenesisReason.GENESIS_FILE_MISMATCH, kind=WrongChainInDatabase):
        bring(history().genesis.replace(b'"timestamp": "0x0"', b'"timestamp": "0x1"'), [])


@pytest.mark.parametrize(
    "config",
    [
        b'"clique": {"period": 0},',
        b'"daoForkSupport": true, "daoForkBlock": 4,',
    ],
)
def test_chains_by_other_rules_are_refused(directory: Path, config: bytes) -> None:
    text = history().genesis.replace(b'{"config": {', b'{"config": {' + config)

    with pytest.raises(GenesisFileError):
        bring(text, [])
