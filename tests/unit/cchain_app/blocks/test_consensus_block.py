"""The block that consensus sees: it is the same for every way in which it was made."""

from cchain_app.blocks import accepted as module
from cchain_app.blocks.accepted import encode_block
from cchain_app.blocks.candidate import evm_block, parse_block, parse_header, unparsed_block
from cchain_app.blocks.errors import BlockReason, BlockRefused
from chainvm.port import Block
from tests.builders.accepted import accepted
from tests.builders.reasons import raises
from tests.builders.transactions import legacy, signed

EXECUTED = accepted(7, [signed(), legacy(nonce=1)])
RAW = encode_block(EXECUTED.header, [transaction.raw for transaction in EXECUTED.transactions])


def test_consensus_blocks_of_the_same_block_are_equal():
    blocks = [
        evm_block(EXECUTED),
        unparsed_block(parse_header(RAW), RAW),
        evm_block(parse_block(RAW)),
    ]
    for item in blocks:
        block: Block = item
        assert block.raw == RAW
        assert (block.block_id, block.parent_id) == (EXECUTED.hash, EXECUTED.header.parent_hash)
        assert block.height == 7
        assert item.candidate(parse_block) == parse_block(RAW)
    assert len(set(blocks)) == 1
    assert evm_block(accepted(8)) not in blocks


def test_executed_block_is_encoded_lazily(monkeypatch):
    encoded: list[object] = []
    monkeypatch.setattr(module, "encode_block", lambda *given: encoded.append(given) or RAW)
    block = evm_block(EXECUTED)
    assert (block.height, block.header) == (7, EXECUTED.header)
    assert not encoded
    assert block.raw == RAW
    assert len(encoded) == 1


def test_block_body_is_parsed_on_demand():
    cut = encode_block(EXECUTED.header, [b"\x02" + bytes(11), b"\xff"])
    block = unparsed_block(parse_header(cut), cut)
    assert block.hash == EXECUTED.hash
    with raises(BlockReason.BLOCK_ENCODING, kind=BlockRefused):
        block.candidate(parse_block)
