"""txpool_status, content, contentFrom and inspect."""

import pytest

from primitives.hexadecimal import checksum_address
from tests.builders.cchain import JUNK_KEYS, SENDERS
from tests.builders.transactions import RECIPIENT, SENDER, signed


@pytest.fixture
def waiting(memory_chain):
    memory_chain.pending += [signed(nonce=0), signed(nonce=1, key=JUNK_KEYS[0], to=None)]
    memory_chain.queued += [signed(nonce=11)]
    return memory_chain


def test_an_empty_pool_has_empty_objects(rpc, memory_chain):
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    assert rpc("txpool_content") == {"pending": {}, "queued": {}}
    assert rpc("txpool_contentFrom", "0x" + SENDER.hex()) == {"pending": {}, "queued": {}}
    assert rpc("txpool_inspect") == {"pending": {}, "queued": {}}


def test_the_status_counts(rpc, waiting):
    assert rpc("txpool_status") == {"pending": "0x2", "queued": "0x1"}


def test_content_is_by_checksummed_sender_and_decimal_nonce(rpc, waiting):
    content = rpc("txpool_content")
    assert set(content["pending"]) == {checksum_address(SENDER), checksum_address(SENDERS[0])}
    queued = content["queued"][checksum_address(SENDER)]
    assert list(queued) == ["11"]
    assert queued["11"]["nonce"] == "0xb"
    assert queued["11"]["blockHash"] is None


def test_content_from_one_sender_is_by_nonce(rpc, waiting):
    content = rpc("txpool_contentFrom", "0x" + SENDER.hex())
    assert (list(content["pending"]), list(content["queued"])) == (["0"], ["11"])


def test_inspect_is_one_line_each(rpc, waiting):
    shown = rpc("txpool_inspect")
    assert shown["pending"][checksum_address(SENDER)]["0"] == (
        f"{checksum_address(RECIPIENT)}: 1 wei + 21000 gas × 50000000000 wei"
    )
    assert shown["pending"][checksum_address(SENDERS[0])]["1"] == (
        "contract creation: 1 wei + 21000 gas × 50000000000 wei"
    )
