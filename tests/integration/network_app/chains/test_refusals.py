"""Invalid blocks of other nodes: each is rejected with its reason, and the blocks before it are accepted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cchain_app.blocks.candidate import parse_block
from chainvm.errors import InvalidBlock, UnknownParent
from network_app.chains.chain import NetworkChain
from network_app.ports import BlockRejection, NotYet
from network_app.proposervm.block import OuterOptionBlock, build_option, parse
from platform_app.apps import platform_chain
from platform_app.blocks import block as codec
from platform_app.blocks.block import BanffProposalBlock, build_options, build_standard
from primitives.hashing import sha256
from primitives.ids import ID
from tests.integration.cchain_app import followed
from tests.integration.network_app import tables
from tests.integration.network_app.world import (
    FOLLOWER,
    MAKER,
    STRANGER,
    Chains,
    Past,
    World,
    follow,
    forged,
    refusal,
    tip,
)
from tests.searching import cases

UNKNOWN = ID(bytes(range(32)))
PROPOSAL = 6
"""The height of the proposal in the history; its option and another block follow."""


@pytest.fixture
def node(world: World, past: Past) -> Chains:
    """A node with none of the blocks of the history."""
    return world.node(FOLLOWER)


def refused(
    chain: NetworkChain[Any],
    good: Sequence[bytes],
    bad: bytes,
    *after: bytes,
) -> str:
    """Return why a block is rejected that follows valid blocks; those are accepted."""
    start = chain.last_accepted().height
    why = refusal(BlockRejection, chain, *good, bad, *after)
    known = chain.parse(bad)
    assert (why.block_id, why.height) == (known.block_id, known.height)
    assert str(why) == f"block {known.block_id} at height {known.height}: {why.reason}"
    assert chain.last_accepted().height == start + len(good) == tip(chain).height
    return str(why.reason)


Forgery = Callable[[NetworkChain[Any], bytes], bytes]


def signed_by_another_key(chain: NetworkChain[Any], raw: bytes) -> bytes:
    return forged(chain, raw, by=STRANGER, certificate=MAKER.certificate_der)


def signed_for_another_chain(chain: NetworkChain[Any], raw: bytes) -> bytes:
    other = type("Other", (), {"chain_id": UNKNOWN})
    return forged(other, raw)  # type: ignore[arg-type]


def of_a_stranger(chain: NetworkChain[Any], raw: bytes) -> bytes:
    return forged(chain, raw, by=STRANGER)


def of_nobody(chain: NetworkChain[Any], raw: bytes) -> bytes:
    return forged(chain, raw, by=None)


def without_epoch(chain: NetworkChain[Any], raw: bytes) -> bytes:
    return forged(chain, raw, epoch=None)


def before_its_parent(chain: NetworkChain[Any], raw: bytes) -> bytes:
    return forged(chain, raw, time=5)


def on_another_block(chain: NetworkChain[Any], raw: bytes) -> bytes:
    return forged(chain, raw, parent_id=UNKNOWN)


BROKEN: list[tuple[Forgery, str]] = [
    (signed_by_another_key, f"invalid signature of {MAKER.node_id}"),
    (signed_for_another_chain, f"invalid signature of {MAKER.node_id}"),
    (before_its_parent, "time must monotonically increase: 5 < "),
    (on_another_block, f"outer parentID {UNKNOWN} didn't match expected parent "),
]


@pytest.mark.parametrize("place", [0, 1], ids=["p", "c"])
@pytest.mark.parametrize(("forge", "words"), BROKEN)
def test_an_outer_block_breaks_a_rule(
    node: Chains, past: Past, place: int, forge: Forgery, words: str
) -> None:
    chain, blocks = node[place], past[place]

    assert refused(chain, blocks[:1], forge(chain, blocks[1]), blocks[2]).startswith(words)
    follow(chain, blocks[1:2])


@pytest.mark.parametrize("place", [0, 1], ids=["p", "c"])
def test_epoch_is_not_checked_while_bootstrapping(node: Chains, past: Past, place: int) -> None:
    chain, blocks = node[place], past[place]
    other = without_epoch(chain, blocks[1])

    follow(chain, [blocks[0], other])

    assert chain.last_accepted().block_id == parse(other).outer_id


@pytest.mark.parametrize("raw", [b"", b"no block", b"\0\0\0\0\0\3" + bytes(99)], ids=repr)
def test_malformed_outer_block_is_refused(node: Chains, past: Past, raw: bytes) -> None:
    for chain, blocks in zip(node, past, strict=True):
        with pytest.raises(BlockRejection) as read:
            chain.parse(raw)
        why = refusal(BlockRejection, chain, blocks[0], raw, blocks[1])

        assert str(why) == str(read.value)
        assert (why.block_id, why.height) == (ID(sha256(raw)), None)
        assert chain.last_accepted().height == 1


def test_genesis_is_bare_and_no_block_to_accept(node: Chains) -> None:
    for chain in node:
        why = refusal(BlockRejection, chain, chain.rows.genesis.raw)
        assert why.height is None
        assert chain.last_accepted().height == 0


def test_an_outer_block_around_something_else(node: Chains, past: Past) -> None:
    for chain, blocks in zip(node, past, strict=True):
        bad = forged(chain, blocks[1], inner=b"no block")
        why = refusal(BlockRejection, chain, blocks[0], bad)

        assert (why.block_id, why.height) == (parse(bad).outer_id, None)
        assert chain.last_accepted().height == 1


def test_heights_end_where_columns_do(node: Chains, past: Past) -> None:
    inner = parse_block(parse(past.c[1]).inner)
    high = forged(node.c, past.c[1], inner=followed.forged(inner, number=1 << 63).raw)
    highest = forged(node.c, past.c[1], inner=followed.forged(inner, number=(1 << 63) - 1).raw)

    with pytest.raises(BlockRejection, match=f"at height {1 << 63}: no chain is so high$"):
        node.c.parse(high)
    node.c.keep_fetched([node.c.parse(highest)])
    refusal(UnknownParent, node.c, highest)


def forged_run(chain: NetworkChain[Any], blocks: Sequence[bytes], **header: Any) -> list[bytes]:
    """Return the first block of the C-Chain with a changed header, and the others rebuilt on top of it."""
    found: list[bytes] = []
    parent: dict[str, Any] = {}
    for raw in blocks:
        inner = followed.forged(parse_block(parse(raw).inner), **header)
        found.append(forged(chain, raw, inner=inner.raw, **parent))
        parent = {"parent_id": parse(found[-1]).outer_id}
        header = {"parent_hash": inner.hash}
    return found


def test_an_inner_block_of_the_c_chain_breaks_a_rule(
    world: World, node: Chains, past: Past
) -> None:
    follow(node.p, past.p)
    follow(node.c, past.c[:2])
    before = tables.everything()
    bad, *after = forged_run(node.c, past.c[2:], state_root=bytes(32))

    words = refused(node.c, [], bad, *after)
    assert words.startswith("invalid stateRoot: have 0x000000")
    assert tables.everything() == before

    world.clear()
    again = world.node(FOLLOWER)
    follow(again.p, past.p)
    words = refused(again.c, past.c[:2], bad, *after)
    assert words.startswith("invalid stateRoot: have 0x000000")
    assert tables.alike() == {name: before[name] for name in tables.alike()}
    follow(again.c, past.c)
    assert tables.alike() == world.made


def test_an_inner_block_of_the_p_chain_breaks_a_rule(
    world: World, node: Chains, past: Past
) -> None:
    third = codec.parse_block(parse(past.p[2]).inner)
    empty = build_standard(parent_id=third.parent_id, height=3, time=third.time or 0, txs=())
    bad = forged(node.p, past.p[2], inner=empty.raw)

    words = refused(node.p, past.p[:2], bad, past.p[3])

    assert words == "BanffStandardBlock performs no state changes"
    follow(node.p, past.p)
    follow(node.c, past.c)
    assert tables.alike() == world.made


def test_rival_of_an_accepted_block_is_refused(node: Chains, past: Past) -> None:
    for chain, blocks in zip(node, past, strict=True):
        follow(chain, blocks[:3])
        rival = forged(chain, blocks[1], time=parse(blocks[1]).time + 1)  # type: ignore[attr-defined]
        words = f"at its height the block {parse(blocks[1]).outer_id} is accepted"

        assert refused(chain, [], rival, blocks[3]) == words
        assert refused(chain, blocks[3:4], rival) == words


def test_block_on_a_rival_of_the_last_block_is_refused(node: Chains, past: Past) -> None:
    for chain, blocks in zip(node, past, strict=True):
        rival = forged(chain, blocks[1], time=parse(blocks[1]).time + 1)  # type: ignore[attr-defined]
        child = forged(chain, blocks[2], parent_id=parse(rival).outer_id)

        assert refused(chain, blocks[:2], child).startswith("outer parentID ")


def test_blocks_are_missing(node: Chains, past: Past) -> None:
    for chain, blocks in zip(node, past, strict=True):
        why = refusal(UnknownParent, chain, blocks[2], blocks[3])
        assert why.parent_id == parse(blocks[1]).outer_id
        assert chain.last_accepted().height == 0

        refusal(UnknownParent, chain, blocks[0], blocks[2], blocks[1])
        assert chain.last_accepted().height == 1


def test_a_proposal_waits_for_its_option(world: World, node: Chains, past: Past) -> None:
    before, proposal, option = past.p[: PROPOSAL - 1], *past.p[PROPOSAL - 1 : PROPOSAL + 1]
    assert [node.p.parse(raw).needs_option for raw in past.p].index(True) == PROPOSAL - 1
    assert isinstance(parse(option), OuterOptionBlock)
    words = "the option of a proposal is missing"

    assert str(refusal(NotYet, node.p, *before, proposal)) == words
    assert node.p.last_accepted().height == PROPOSAL - 1
    assert str(refusal(NotYet, node.p, proposal)) == words
    refusal(UnknownParent, node.p, option)
    assert node.p.last_accepted().height == PROPOSAL - 1
    follow(node.p, [proposal, option])
    assert node.p.last_accepted().block_id == parse(option).outer_id


def test_option_must_belong_to_its_proposal(node: Chains, past: Past) -> None:
    before, proposal = past.p[: PROPOSAL - 1], past.p[PROPOSAL - 1]
    inside = codec.parse_block(parse(proposal).inner)
    assert isinstance(inside, BanffProposalBlock)
    later, _ = build_options(replace(inside, time=inside.time + 1))
    bad = build_option(parse(proposal).outer_id, later.raw)
    option = parse(past.p[PROPOSAL])
    child = forged(node.p, proposal, parent_id=parse(proposal).outer_id, inner=option.inner)

    why = refusal(BlockRejection, node.p, *before, proposal, bad.raw)
    assert (why.block_id, why.reason) == (
        bad.outer_id, "the inner block is no option of the proposal",
    )  # fmt: skip
    assert node.p.last_accepted().height == PROPOSAL - 1
    why = refusal(BlockRejection, node.p, proposal, child)
    assert why.reason == ("unexpected proposer block type: expected an option of the proposal")
    assert node.p.last_accepted().height == PROPOSAL - 1
    follow(node.p, past.p[PROPOSAL - 1 :])


def test_either_option_decides_a_proposal(node: Chains, past: Past) -> None:
    """Without voting, the follower accepts the option that arrives first."""
    before, proposal = past.p[: PROPOSAL - 1], past.p[PROPOSAL - 1]
    inside = codec.parse_block(parse(proposal).inner)
    assert isinstance(inside, BanffProposalBlock)
    _, abort = build_options(inside)
    other = build_option(parse(proposal).outer_id, abort.raw)

    follow(node.p, [*before, proposal, other.raw])

    assert node.p.last_accepted().block_id == other.outer_id
    assert platform_chain().tip().block_id == abort.block_id


@settings(
    max_examples=cases(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_wrong_byte_anywhere_is_noticed(
    world: World, node: Chains, past: Past, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, 1))
    chain, blocks = node[place], past[place]
    if chain.last_accepted().height < 4:
        follow(chain, blocks[:4])
    raw = blocks[4]
    at = data.draw(st.integers(0, len(raw) - 1))
    bad = raw[:at] + bytes([raw[at] ^ data.draw(st.integers(1, 255))]) + raw[at + 1 :]
    before = tip(chain), chain.last_accepted()

    with pytest.raises((InvalidBlock, NotYet)):
        follow(chain, [bad])

    assert (tip(chain), chain.last_accepted()) == before
