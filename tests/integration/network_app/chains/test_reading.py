"""How much of a block is decoded, and when: the inner block only after all cheap checks have passed."""

from typing import Any

import pytest
import rlp as library

from cchain_app.blocks.candidate import EvmBlock
from chainvm.errors import UnknownParent
from network_app.chains.chain import NetworkChain
from network_app.ports import BlockRejection
from network_app.proposervm.block import SignedBlock, parse
from network_app.sync.errors import AncestryReason, BadAncestors, InvalidFetchedBlock
from network_app.sync.fetching import read_ancestry
from primitives.hashing import sha256
from primitives.ids import ID
from tests.integration.network_app.world import (
    FOLLOWER,
    MAKER,
    STRANGER,
    Past,
    World,
    follow,
    forged,
    refusal,
)


def bomb(raw: bytes) -> bytes:
    """Return a block's inner block with invalid transactions."""
    header, _, *rest = library.decode(parse(raw).inner)
    return bytes(library.encode([header, [b"\x01"] * 1_000, *rest]))


@pytest.fixture
def begun(world: World, past: Past) -> NetworkChain[Any]:
    """A follower's C-Chain with its first block; its P-Chain is complete."""
    node = world.node(FOLLOWER)
    follow(node.p, past.p)
    follow(node.c, past.c[:1])
    return node.c


@pytest.fixture
def unread(begun: NetworkChain[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if more than headers is decoded."""

    def read(*_given: Any) -> Any:
        raise AssertionError("it is read")

    monkeypatch.setattr(EvmBlock, "candidate", read)


def test_block_with_bad_signature_is_refused(
    begun: NetworkChain[Any], past: Past, unread: None
) -> None:
    second = past.c[1]
    spoilt = forged(
        begun, second, inner=bomb(second), by=STRANGER, certificate=MAKER.certificate_der
    )
    refusal(BlockRejection, begun, spoilt)
    refusal(UnknownParent, begun, past.c[2])


def test_only_a_block_without_signature_counts_as_spoiled(
    begun: NetworkChain[Any], past: Past
) -> None:
    for raw in past.c[:2]:
        block = parse(raw)
        assert isinstance(block, SignedBlock)
        cut = raw[: -4 - len(block.signature)]
        with pytest.raises(BlockRejection, match="the signature's field is cut off") as caught:
            begun.parse(cut)
        assert (caught.value.block_id, caught.value.spoiled) == (block.outer_id, True)
        _, fault = read_ancestry(begun, [cut], block.outer_id, 0, None)
        assert isinstance(fault, BadAncestors)
        assert fault.reason is AncestryReason.UNPARSABLE
    bare = parse(past.c[1]).inner
    wanted = ID(sha256(bare))
    _, fault = read_ancestry(begun, [bare], wanted, 0, 2)
    assert isinstance(fault, InvalidFetchedBlock)
    assert (fault.block_id, fault.height, fault.spoiled) == (wanted, 2, False)


def test_to_know_a_blocks_place_its_header_will_do(
    begun: NetworkChain[Any], past: Past, unread: None
) -> None:
    raw = forged(begun, past.c[1], inner=bomb(past.c[1]))
    known = begun.parse(raw)
    assert (known.height, known.parent_id) == (2, parse(past.c[0]).outer_id)


def test_invalid_inner_block_is_refused_after_accepting_earlier_ones(
    begun: NetworkChain[Any], past: Past
) -> None:
    bad = forged(begun, past.c[2], inner=bomb(past.c[2]))
    why = refusal(BlockRejection, begun, past.c[1], bad)
    assert (why.block_id, why.height) == (parse(bad).outer_id, 3)
    assert why.reason == "transaction 0 has 1 bytes, fewer than any transaction"
    assert begun.last_accepted().height == 2
