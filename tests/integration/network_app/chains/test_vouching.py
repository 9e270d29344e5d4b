"""What nobody signs, the first block and a proposal's option, is accepted when somebody vouches for it."""

from typing import Any

from network_app.chains.chain import NetworkChain
from network_app.ports import InvalidBlock, Unvouched
from network_app.proposervm.block import OptionBlock, build_option, parse
from platform_app.blocks import block as codec
from platform_app.blocks.block import CommitBlock, ProposalBlock
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


def height(chain: NetworkChain[Any]) -> int:
    return chain.last_accepted().height


def test_a_strangers_first_block_waits(world: World, past: Past) -> None:
    for chain, blocks in zip(world.node(FOLLOWER), past, strict=True):
        words = f"nobody vouches for {parse(blocks[0]).outer_id}"
        for bootstrapping in (False, True):
            why = refusal(Unvouched, chain, blocks[0], bootstrapping=bootstrapping, by=STRANGER)
            assert str(why) == words
        assert height(chain) == 0


def test_a_first_block_is_accepted_below_one_that_is_signed(world: World, past: Past) -> None:
    for chain, blocks in zip(world.node(FOLLOWER), past, strict=True):
        bad = forged(chain, blocks[1], by=STRANGER)
        refusal(InvalidBlock, chain, blocks[0], bad, by=STRANGER)
        assert height(chain) == 0
        follow(chain, blocks[:2], by=STRANGER)
        assert height(chain) == 2


def test_a_first_block_is_accepted_from_who_makes_blocks(world: World, past: Past) -> None:
    for chain, blocks in zip(world.node(FOLLOWER), past, strict=True):
        follow(chain, blocks[:1], by=MAKER)
        assert height(chain) == 1


def test_what_is_agreed_on_needs_nobody_else(world: World, past: Past) -> None:
    for chain, blocks in zip(world.node(FOLLOWER), past, strict=True):
        follow(chain, blocks[:1], bootstrapping=True, agreed=True, by=STRANGER)
        assert height(chain) == 1


def proposal_of(past: Past) -> int:
    """Return the place of the proposal."""
    (place,) = [
        at
        for at, raw in enumerate(past.p)
        if isinstance(codec.parse_block(parse(raw).inner), ProposalBlock)
    ]
    return place


def other_option(proposal: bytes, option: bytes) -> bytes:
    """Return the option that was not taken: everybody can build it."""
    inside = codec.parse_block(parse(proposal).inner)
    assert isinstance(inside, ProposalBlock)
    commit, abort = codec.build_options(inside)
    taken = codec.parse_block(parse(option).inner)
    other = abort if isinstance(taken, CommitBlock) else commit
    return build_option(parse(proposal).outer_id, other.raw).raw


def test_a_strangers_option_waits_and_the_right_one_is_accepted(world: World, past: Past) -> None:
    chain, at = world.node(FOLLOWER).p, proposal_of(past)
    follow(chain, past.p[:at])
    other = other_option(past.p[at], past.p[at + 1])

    for option in (other, past.p[at + 1]):
        why = refusal(Unvouched, chain, past.p[at], option, by=STRANGER)
        assert str(why) == f"nobody vouches for {parse(option).outer_id}"
        refusal(Unvouched, chain, past.p[at], option, by=STRANGER, bootstrapping=True)
    assert height(chain) == at

    follow(chain, past.p[at : at + 2], by=MAKER)
    assert height(chain) == at + 2
    assert isinstance(parse(past.p[at + 1]), OptionBlock)


def test_an_option_is_accepted_below_a_signed_block(world: World, past: Past) -> None:
    chain, at = world.node(FOLLOWER).p, proposal_of(past)
    follow(chain, past.p[:at])
    other = other_option(past.p[at], past.p[at + 1])

    refusal(InvalidBlock, chain, past.p[at], other, past.p[at + 2], by=STRANGER)
    assert height(chain) == at
    follow(chain, past.p[at : at + 3], by=STRANGER)
    assert height(chain) == at + 3


def test_only_who_made_the_proposal_decides_it_by_word(world: World, past: Past) -> None:
    makers = {MAKER.node_id: 1}
    chain, at = world.node(FOLLOWER, lambda _height: makers).p, proposal_of(past)
    follow(chain, past.p[:at])
    makers[STRANGER.node_id] = 1
    trust = {"bootstrapping": True}  # whose slot it is does not matter here

    refusal(Unvouched, chain, *past.p[at : at + 2], by=STRANGER, **trust)
    follow(chain, past.p[at : at + 2], by=MAKER, **trust)
    assert height(chain) == at + 2


def test_who_signed_is_known_without_reading_what_is_inside(world: World, past: Past) -> None:
    chain = world.node(FOLLOWER).c
    bomb = forged(chain, past.c[1], inner=b"\xc0")
    known = frozenset({MAKER.node_id})

    assert chain.producers() == known
    assert chain.signer(bomb, known) == MAKER.node_id
    assert chain.signer(bomb, frozenset()) is None
    assert chain.signer(past.c[0], known) is None
    assert chain.signer(forged(chain, past.c[1], by=STRANGER), known) is None
    stolen = forged(chain, past.c[1], by=STRANGER, certificate=MAKER.certificate_der)
    for raw in (stolen, b"no block"):
        try:
            chain.signer(raw, known)
        except InvalidBlock:
            continue
        raise AssertionError(raw)
